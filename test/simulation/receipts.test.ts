/** Receipts in the simulation of the streaming service: whatever links, processes and clients do, none accuses a client. */
import { expect, it } from 'vitest'
import { note } from '../support/note.ts'
import { seedOf } from '../support/property.ts'
import { newReceiptIssuer, proofOf, signerOf } from '../support/receipts.ts'
import { plan } from './plan.ts'
import { World } from './world.ts'

/** Seeds that once showed a defect. */
const CORPUS: readonly number[] = [783_148_122, 1_231_550_039]
const long = process.env.TIDEGATE_LONG === '1'
const first = seedOf(1)
const issuer = newReceiptIssuer()
const seeds = [...CORPUS, ...Array.from({ length: long ? 50 : 2 }, (_, index) => first + index)]

it('messages received over lossy links, failovers, restarts and reloads agree with every receipt, whichever process signed it', () => {
  const sum = { receipts: 0, books: 0, windows: 0, executions: 0, updates: 0, unreached: 0 }
  for (const seed of seeds) {
    for (const lines of receivedIn(seed)) {
      const list = proofOf(lines, issuer)
      expect(list.findings, `seed ${seed}`).toEqual([])
      sum.receipts += list.count
      sum.books += list.books.covered
      sum.windows += list.executionWindows.covered
      sum.executions += list.executions.covered
      sum.updates += list.updates.covered
      sum.unreached += list.countOf('unreached')
    }
  }
  note(`seeds ${first} to ${first + seeds.length - 1}: ${JSON.stringify(sum)}`)
  // Few are unreached: a process signs no book that it withdrew itself.
  const { unreached, ...reached } = sum
  expect(unreached).toBeGreaterThan(seeds.length)
  for (const [name, count] of Object.entries(reached)) expect(count, name).toBeGreaterThan(seeds.length * 5)
})

/** The messages of each client with the extended protocol. */
function receivedIn(seed: number): readonly (readonly string[])[] {
  const world = new World(seed, signerOf(issuer))
  try {
    for (const event of plan(seed, 3_000)) world.run(event)
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
  }
  return world.lines
}
