/**
 * A property test's settings: a fixed seed and a small count in every ordinary run, so that it is reproducible. With
 * TIDEGATE_LONG=1 fifty times the count from a fresh seed, which is printed. fast-check prints a failure's seed and
 * path. TIDEGATE_SEED repeats a seed.
 */
import type { Parameters } from 'fast-check'
import { note } from './note.ts'

const ORDINARY_SEED = 20_260_101
const LONG_FACTOR = 50

const long = process.env.TIDEGATE_LONG === '1'
const seed = seedOf(ORDINARY_SEED)
note(`property tests: seed ${seed}`)

export function propertySettings(runs: number): Parameters<unknown> {
  return { seed, numRuns: long ? runs * LONG_FACTOR : runs }
}

/** `TIDEGATE_SEED`, else the ordinary run's seed, or a fresh one in the long run. */
export function seedOf(ordinary: number): number {
  const given = process.env.TIDEGATE_SEED
  if (given !== undefined) return Number(given)
  return long ? Math.floor(Math.random() * 2 ** 31) : ordinary
}
