/**
 * Random interleavings of everything that happens to money: reports by several sources, rules, holds, reversals, pauses,
 * depegs, blocked accounts, payments that loop, executors that lose answers, rows that no step can deal with, workers that
 * stand still or have a wrong clock, and processes that die between any two statements. What must hold then is in
 * `money-oracles` and `delivery-oracles`.
 */
import { expect, inject, it } from 'vitest'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { coverage } from './world/coverage.ts'
import { runWorld } from './world/run.ts'
import { World } from './world/world.ts'

const { seed = 1, numRuns = 1 } = propertySettings(1)
const isEmbedded = inject('engine') === 'embedded'
// The embedded store has one session and waits for the disk.
const ROUNDS = isEmbedded ? 40 : 150
const WORLDS = isEmbedded ? Math.ceil(numRuns / 2) : numRuns
/** What is reached however few worlds there are; a simulation in which nothing happens proves nothing. */
const REACHED = ['deposit ORCHESTRATED', 'conversion par', 'orchestration COMPLETED', 'delivery SETTLED']
/** What some world of many on PostgreSQL reaches. */
const REACHED_BY_MANY = [
  ...['PAUSED', 'RECEIVABLE', 'ACCOUNT_BLOCKED', 'UNATTRIBUTED', 'REVERSED', 'RETURNED', 'HELD'].map(
    (name) => `deposit ${name}`,
  ),
  ...['OWN_ADDRESS', 'REFUSED', 'OPERATOR_FAILED', 'EXPIRED', 'REVERSED', 'REJECTED', 'DESK_LIMIT'].map(
    (name) => `orchestration ${name}`,
  ),
  ...['REFUSED', 'SETTLED', 'UNKNOWN'].map((name) => `attempt ${name}`),
  // Its attempt is SETTLED or FAILED in the end.
  'delivery.accept',
  'delivery late',
  'delivery.give_up',
  'orchestration.retry',
  'orchestration.release',
  'orchestration at once',
  'conversion market',
]
const reached = new Set<string>()
let crashes = 0

it.each(Array.from({ length: WORLDS }, (_, index) => seed + index))(
  'the simulation keeps every amount where it belongs, seed %i',
  async (worldSeed) => {
    const world = await World.open(new Random(worldSeed))
    try {
      expect(await runWorld(world, ROUNDS)).toEqual([])
      crashes += world.crashes
      for (const name of Object.keys(await coverage(world))) reached.add(name)
    } finally {
      await world.close()
    }
  },
)

it('the simulation reaches the cases it is made for, and processes die in it', () => {
  // One world may be without what most have, and short ones too.
  const wanted = numRuns >= 50 && !isEmbedded ? [...REACHED, ...REACHED_BY_MANY] : REACHED
  expect(wanted.filter((name) => !reached.has(name))).toEqual([])
  expect(crashes).toBeGreaterThan(3 * WORLDS)
})
