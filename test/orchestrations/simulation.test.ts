/**
 * Random interleavings of everything that happens to money: reports by several sources, rules, holds, reversals, pauses,
 * depegs, executors that lose answers, rows that no step can deal with, two workers of which one has a wrong clock, and
 * processes that die between any two statements. What must hold then is in `money-oracles`.
 */
import { expect, inject, it } from 'vitest'
import { propertySettings } from '../support/property.ts'
import { Random } from '../support/random.ts'
import { coverage } from './world/coverage.ts'
import { runWorld } from './world/run.ts'
import { World } from './world/world.ts'

const { seed = 1, numRuns = 1 } = propertySettings(1)
/** What every world reaches; a simulation in which nothing happens proves nothing. */
const REACHED = ['deposit ORCHESTRATED', 'conversion par', 'orchestration COMPLETED', 'delivery SETTLED']
// The embedded store has one session and waits for the disk.
const ROUNDS = inject('engine') === 'embedded' ? 40 : 150

it.each(Array.from({ length: numRuns }, (_, index) => seed + index))(
  'keeps every amount where it belongs, seed %i',
  async (worldSeed) => {
    const world = await World.open(new Random(worldSeed))
    try {
      expect(await runWorld(world, ROUNDS)).toEqual([])
      expect(world.crashes).toBeGreaterThan(3)
      expect(Object.keys(await coverage(world))).toEqual(expect.arrayContaining(REACHED))
    } finally {
      await world.close()
    }
  },
)
