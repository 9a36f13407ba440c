/** Where gaps end that are counted late, because the store did not answer before. */
import { expect, it } from 'vitest'
import { CandleCounter } from '../../../src/streaming/candles/candle-counter.ts'
import type { CandlePosition } from '../../../src/streaming/candles/candle-table.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { CandleMarket } from './candle-market.ts'

const START = Date.UTC(2026, 4, 3, 12)
const MINUTE = 60_000
const at = (minutes: number) => ({ price: 500, amount: 1, executedAtMilliseconds: START + minutes * MINUTE })

/** The gaps that are stored by a process whose store has just answered with a position. */
function gapsOf({ replica, executions }: CandleMarket, position?: CandlePosition) {
  const counter = new CandleCounter({ replica, leaseEpoch: 0, ...executions })
  counter.claimed({ leaseEpoch: 0, position, completeMilliseconds: START })
  const gaps = counter.batch()?.gaps
  counter.end()
  return gaps
}

function positionOf({ replica }: CandleMarket): CandlePosition {
  const { followed, instant } = replica
  if (followed === undefined) throw new Error('the market has no commit')
  return { ...followed, countedMilliseconds: instant.milliseconds }
}

const gap = (fromMinute: number, untilMinute: number) => ({
  fromMilliseconds: START + fromMinute * MINUTE,
  untilMilliseconds: START + (untilMinute + 1) * MINUTE - 1,
})

it('the gap before a start ends when the market was live, however late the store answers', () => {
  const market = new CandleMarket(new VirtualClock(START + MINUTE - 100))
  market.clock.advance(MINUTE)
  market.execute(at(1.5))
  expect(gapsOf(market)).toEqual([gap(0, 0)])
})

it('a miss ends with its commit, however late the store answers', () => {
  const market = new CandleMarket(new VirtualClock(START))
  market.execute(at(0))
  const position = positionOf(market)
  market.clock.advance(MINUTE)
  market.miss()
  market.clock.advance(2 * MINUTE)
  market.execute(at(3))
  expect(gapsOf(market, position)).toEqual([gap(0, 1)])
})

it('a gap ends with the last execution that the log has dropped, however late the store answers', () => {
  const market = new CandleMarket(new VirtualClock(START), 2)
  market.execute(at(0))
  const position = positionOf(market)
  for (let minute = 1; minute <= 5; minute++) {
    market.clock.advance(MINUTE)
    market.execute(at(minute))
  }
  expect(gapsOf(market, position)).toEqual([gap(0, 3)])
})

it('a gap does not end before a market is live again that lost executions while it was not', () => {
  const market = new CandleMarket(new VirtualClock(START))
  market.execute(at(0))
  const position = positionOf(market)
  market.offer({ type: 'lost', reason: 'the test says so' })
  market.clock.advance(MINUTE)
  market.miss()
  market.clock.advance(MINUTE)
  market.snapshot()
  market.clock.advance(2 * MINUTE)
  market.execute(at(4))
  expect(gapsOf(market, position)).toEqual([gap(0, 2)])
})
