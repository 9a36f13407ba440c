/**
 * Seeded random integers for the simulated market. A stream depends only on its seed and its name. It returns only
 * integers, so they can become prices and amounts. Not for secrets.
 */
import { assert } from '../../../platform/base/assert.ts'

const TWO_TO_31 = 0x8000_0000
const TWO_TO_32 = 0x1_0000_0000

export interface RandomStream {
  /** An integer from 0 to `limit` - 1. `limit` is a safe integer and at least 1. */
  below(limit: number): number
  /** True in `numerator` out of `denominator` cases. */
  chance(numerator: number, denominator: number): boolean
}

/** A separate stream for every (seed, name). */
export function createRandomStream(seed: number, name: string): RandomStream {
  const next = createSfc32(`${seed}/${name}`)
  const below = (limit: number): number => {
    assert(Number.isSafeInteger(limit) && limit >= 1, `a random limit must be a positive integer, not ${limit}`)
    // 31 bits divide as machine integers. 32 would use slower floating point.
    if (limit <= TWO_TO_31) return (next() >>> 1) % limit
    // 53 bits: the upper 21 from one word, the lower 32 from another. Every product and sum stays a safe integer.
    return ((next() >>> 11) * TWO_TO_32 + next()) % limit
  }
  return { below, chance: (numerator, denominator) => below(denominator) < numerator }
}

/**
 * 32-bit words from sfc32, Chris Doty-Humphrey's small fast counting generator (PractRand, public domain). Its state
 * has 128 bits, and 32 are a counter, so no seed leads into a short cycle.
 */
function createSfc32(text: string): () => number {
  let a = hash(text, 1)
  let b = hash(text, 2)
  let c = hash(text, 3)
  let counter = 1
  const next = () => {
    const word = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + word) | 0
    return word >>> 0
  }
  // Similar seeds give similar first words.
  for (let round = 0; round < 16; round++) next()
  return next
}

/** FNV-1a with a final avalanche, started from `salt`. */
function hash(text: string, salt: number): number {
  let value = 0x811c9dc5 ^ salt
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return value ^ (value >>> 16)
}
