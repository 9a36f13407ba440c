import { describe, expect, it } from 'vitest'
import { backoff, jitteredBackoff } from '../../../src/platform/base/backoff.ts'

const LIMITS = { first: 500, longest: 30_000 }

describe('backoff', () => {
  it('backoff doubles with each failure up to the longest delay', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 1e9].map((failures) => backoff(LIMITS, failures))).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ])
  })

  it('backoff is multiplied by a random factor from the range of the jitter', () => {
    const delays = [0, 0.5, 0.75].map((random) => jitteredBackoff(LIMITS, [0.5, 1.5], 2, () => random))
    expect(delays).toEqual([500, 1_000, 1_250])
  })
})
