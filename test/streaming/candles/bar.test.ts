/** Bars, and gaps between them. */
import { expect, it } from 'vitest'
import { Bars, HOUR_MILLISECONDS, MINUTE_MILLISECONDS } from '../../../src/streaming/candles/bar.ts'
import { mergedGaps } from '../../../src/streaming/candles/candles.ts'

it.each([
  { commitMilliseconds: 119_999, minute: 0, hour: 0 },
  { commitMilliseconds: 120_000, minute: 1, hour: 0 },
  { commitMilliseconds: 3_600_000, minute: 1, hour: 1 },
])('an execution committed at $commitMilliseconds ms raises the revision of bars that have ended', (each) => {
  const bars = new Bars()
  const { commitMilliseconds, minute, hour } = each
  bars.add({ execution: { price: 1, amount: 1, executedAtMilliseconds: 60_000 }, id: 'a', commitMilliseconds })
  expect(bars.of(MINUTE_MILLISECONDS).get(60_000)?.revision).toBe(minute)
  expect(bars.of(HOUR_MILLISECONDS).get(0)?.revision).toBe(hour)
})

it('gaps are merged that leave no whole minute between them', () => {
  const gap = ([from, until]: readonly number[]) => ({
    fromMilliseconds: (from as number) * MINUTE_MILLISECONDS,
    untilMilliseconds: (until as number) * MINUTE_MILLISECONDS,
  })
  const gaps = [
    [20, 20.5],
    [2, 10],
    [3, 4],
    [11, 11.2],
    [13, 13],
  ].map(gap)
  expect(mergedGaps(gaps)).toEqual(
    [
      [2, 11.2],
      [13, 13],
      [20, 20.5],
    ].map(gap),
  )
})
