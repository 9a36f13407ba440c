import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TokenBucket } from '../../../src/platform/base/token-bucket.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

test('a token bucket allows a burst at once, then one at a time, with the wait named', () => {
  const clock = new VirtualClock()
  const bucket = new TokenBucket(clock, 4, 2)
  expect([bucket.left, bucket.fullInMilliseconds]).toEqual([2, 0])
  expect([bucket.take(), bucket.take(), bucket.take()]).toEqual([0, 0, 250])
  expect([bucket.left, bucket.fullInMilliseconds]).toEqual([0, 500])
  clock.advance(100)
  expect(bucket.take()).toBe(150)
  clock.advance(150)
  // What is left is what the last take left, not what has come since.
  expect([bucket.left, bucket.take(), bucket.take(), bucket.left]).toEqual([0, 0, 250, 0])
})

test('a charged cost has to come back to the bucket before the next take, and no more than a burst is owed', () => {
  const clock = new VirtualClock()
  const bucket = new TokenBucket(clock, 10, 5)
  bucket.charge(4.5)
  expect(bucket.take()).toBe(50)
  clock.advance(50)
  expect(bucket.take()).toBe(0)
  bucket.charge(1_000)
  expect(bucket.take()).toBe(600)
  clock.advance(599)
  expect(bucket.take()).toBeGreaterThan(0)
  clock.advance(1)
  expect(bucket.take()).toBe(0)
})

test("a token bucket never gives more in any time than the burst and the rate's share of that time", () => {
  const steps = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 })
  fc.assert(
    fc.property(steps, (waits) => {
      const clock = new VirtualClock()
      const bucket = new TokenBucket(clock, 8, 5)
      const taken: number[] = []
      for (const wait of waits) {
        clock.advance(wait)
        if (bucket.take() === 0) taken.push(clock.monotonicMilliseconds())
      }
      for (const [first, from] of taken.entries()) {
        for (const [index, to] of taken.entries()) {
          if (index >= first) expect(index - first + 1).toBeLessThanOrEqual(5 + ((to - from) / 1000) * 8 + 1e-9)
        }
      }
    }),
    { seed: 20_261_120, numRuns: 50 },
  )
})

test('a token bucket gets back a token that does not count, up to its burst', () => {
  const clock = new VirtualClock()
  const bucket = new TokenBucket(clock, 1, 2)
  expect([bucket.take(), bucket.take(), bucket.take() > 0]).toEqual([0, 0, true])
  bucket.giveBack()
  expect([bucket.take(), bucket.take() > 0]).toEqual([0, true])
  for (let count = 0; count < 5; count++) bucket.giveBack()
  expect([bucket.take(), bucket.take(), bucket.take() > 0]).toEqual([0, 0, true])
})
