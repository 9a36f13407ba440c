/** The embedded store after a loss of power: nothing that was answered is lost, nothing is there by half, it opens. */
import { describe, expect, it } from 'vitest'
import { hasCompiler, simulate } from './simulation.ts'

describe.skipIf(!hasCompiler)('a loss of power (needs a C compiler)', () => {
  it('leaves the embedded store whole, with every transaction that was answered: eight disks', async () => {
    expect(await simulate({ seed: 20_260_101, disks: 8, transactions: 60 })).toEqual([])
  })
})
