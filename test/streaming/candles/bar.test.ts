/** Bars. */
import { expect, it } from 'vitest'
import { Bars, HOUR_MILLISECONDS, MINUTE_MILLISECONDS } from '../../../src/streaming/candles/bar.ts'

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
