/**
 * The embedded store after a loss of power: it opens, no acknowledged transaction is lost, and none is partly stored.
 */
import { describe, expect, it } from 'vitest'
import { hasCompiler, simulate } from './simulation.ts'

describe.skipIf(!hasCompiler)('a loss of power (needs a C compiler)', () => {
  it('a loss of power leaves the embedded store consistent, with every acknowledged transaction: eight disks', async () => {
    expect(await simulate({ seed: 20_260_101, disks: 8, transactions: 60 })).toEqual([])
  })
})
