/** Where gaps begin and end: after a leader that was cut off, and where the store did not answer before. */
import { expect, it } from 'vitest'
import { CandleCounter } from '../../../src/streaming/candles/candle-counter.ts'
import type { CandlePosition } from '../../../src/streaming/candles/candle-table.ts'
import { mergedGaps } from '../../../src/streaming/candles/candles.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { CandleMarket } from './candle-market.ts'

const START = Date.UTC(2026, 4, 3, 12)
const MINUTE = 60_000
const at = (minutes: number) => ({ price: 500, amount: 1, executedAtMilliseconds: START + minutes * MINUTE })

/** What a process with a lease stores once its store has answered, with a position or the first time. */
function batchOf({ replica, executions }: CandleMarket, position?: CandlePosition, completeMinute = 0) {
  const counter = new CandleCounter({ replica, leaseEpoch: 1, ...executions })
  const completeMilliseconds = position && START + completeMinute * MINUTE
  counter.claimed({ leaseEpoch: 1, position, completeMilliseconds })
  const batch = counter.batch()
  counter.end()
  return batch
}

function gapsOf(...given: Parameters<typeof batchOf>) {
  return mergedGaps(batchOf(...given)?.gaps ?? [])
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

it('everything before a market’s first start is a gap, which ends when it was live, however late the store answers', () => {
  const market = new CandleMarket(new VirtualClock(START + MINUTE - 100))
  market.clock.advance(MINUTE)
  market.execute(at(-24 * 60), at(1.5))
  expect(gapsOf(market)).toEqual([{ ...gap(0, 0), fromMilliseconds: 0 }])
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

it('a miss ends with the executions that prove it, also where the clock of their venue is ahead', () => {
  const market = new CandleMarket(new VirtualClock(START))
  market.execute(at(0))
  const position = positionOf(market)
  market.clock.advance(MINUTE - 1_000)
  market.offer({ type: 'missed', reason: 'the test says so' })
  market.execute(at(1.01))
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

/** The next leader has heard one execution, and then nothing for ten minutes, in which its source executed others. */
function afterCut(continues: boolean): [market: CandleMarket, heard: CandlePosition] {
  const market = new CandleMarket(new VirtualClock(START))
  market.execute(at(0))
  const heard = positionOf(market)
  market.clock.advance(10 * MINUTE)
  market.sequencer.stop()
  market.sequencer = market.newSequencer(market.bus, market.replica)
  market.sequencer.announce()
  if (!continues) market.miss()
  market.snapshot()
  market.execute(at(3), at(8))
  return [market, heard]
}

it.each([true, false])(
  'executions stored by a leader that was cut off from the bus, and passed on again, are in a gap (continued: %s)',
  (continues) => {
    const [market, heard] = afterCut(continues)
    const { countedMilliseconds } = heard
    const stored = { ...heard, executionNumber: 3, countedMilliseconds: countedMilliseconds + 9 * MINUTE }
    expect(gapsOf(market, stored, 8)).toEqual([gap(0, 10)])
    const unheard = { ...stored, epoch: `${heard.epoch} later` }
    expect(gapsOf(market, unheard, 8)).toEqual([gap(0, 10)])
  },
)

it('an added source that does not begin takes nothing back of what was complete before', () => {
  const market = new CandleMarket(new VirtualClock(START))
  const { replica, source, executions } = market
  const counter = new CandleCounter({ replica, leaseEpoch: 1, ...executions })
  counter.claimed({ leaseEpoch: 1, position: undefined, completeMilliseconds: undefined })
  const completeAfter = (minute: number) => {
    market.clock.advance(MINUTE)
    market.execute(at(minute))
    const batch = counter.batch()
    if (batch !== undefined) counter.stored(batch)
    return batch?.completeMilliseconds
  }
  expect(completeAfter(1)).toBe(START + MINUTE)
  executions.progress.add({ ...source })
  expect(completeAfter(2)).toBe(START + MINUTE)
  counter.end()
})

it('executions after the last one that was stored and heard are in no gap', () => {
  const [market, heard] = afterCut(true)
  expect(gapsOf(market, heard)).toEqual([])
})

it('executions are counted although a leader that was cut off, and whose clock was ahead, has stored later ones', () => {
  const [market, heard] = afterCut(true)
  const countedMilliseconds = START + 30 * MINUTE
  const bars = batchOf(market, { ...heard, executionNumber: 3, countedMilliseconds }, 8)?.bars.of(MINUTE)
  expect([...(bars?.keys() ?? [])]).toEqual([START + 3 * MINUTE, START + 8 * MINUTE])
})
