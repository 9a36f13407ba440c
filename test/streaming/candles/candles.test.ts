/** Candles from the store and from executions, compared with a model that sees every execution. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { Bars } from '../../../src/streaming/candles/bar.ts'
import { WAITING_BARS_MAX } from '../../../src/streaming/candles/candle-counter.ts'
import { claimCandles, writeCandles } from '../../../src/streaming/candles/candle-table.ts'
import type { Execution } from '../../../src/streaming/market/event.ts'
import type { MarketState } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { captureLog } from '../../support/captured-log.ts'
import { receivedFrames } from '../../support/captures.ts'
import { LENGTHS, naiveCandles, type SeenTrade } from '../../support/naive-candles.ts'
import { Random } from '../../support/random.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { CandleMarket, candlesOf, written } from './candle-market.ts'
import { FaultyStore } from './faulty-store.ts'
import { RECORDED } from './recorded-trades.ts'

const db = await openTestStore({ log: captureLog().log })
afterAll(() => db.close())

beforeEach(async () => {
  await sql`truncate candle_markets, candles, candle_gaps`.execute(db.tables())
})

const START = Date.UTC(2026, 4, 3, 22, 58)
const INTERVALS = Object.keys(LENGTHS) as (keyof typeof LENGTHS)[]
const later = (milliseconds: number) => new VirtualClock(milliseconds)

/** Executions around now: some late, some at the borders of candles, large and small amounts. */
function randomExecution(random: Random, now: number): Execution {
  const lateness = random.chance(0.7) ? 0 : random.integer(random.chance(0.5) ? 90_000 : 4_000_000)
  const border = random.chance(0.1) ? now % 60_000 : 0
  const amount = random.chance(0.05) ? 2n ** 70n + BigInt(random.integer(9)) : 1 + random.integer(50_000)
  return {
    price: 100 + random.integer(9_000_000_000),
    amount,
    ...(random.chance(0.5) ? { id: `t${random.integer(1_000_000)}` } : {}),
    ...(random.chance(0.6) ? { executedAtMilliseconds: now - lateness - border } : {}),
    // Equal times, also in different writes.
    ...(random.chance(0.2) ? { executedAtMilliseconds: now - (now % 20_000) } : {}),
  }
}

async function expectModel(market: CandleMarket, replica: Replica, trades: readonly SeenTrade[]): Promise<void> {
  const reader = market.reader(db)
  for (const interval of INTERVALS) {
    const items = await candlesOf(reader, replica, { interval })
    const plain = items?.map(({ incomplete, ...rest }) => rest)
    expect(plain, interval).toEqual(naiveCandles(trades, interval, market.now, market.definition).slice(-1_000))
  }
  reader.stop()
}

describe('candles', () => {
  it('candles equal a model over random executions, late ones, stopped writers, later sequencers and lost answers', async () => {
    const random = new Random(11)
    const market = new CandleMarket(later(START))
    const reader = market.reader(db)
    const faulty = new FaultyStore(db, random)
    let writer = market.writer(faulty.db)
    for (let round = 0; round < 60; round++) {
      const count = random.integer(6)
      market.execute(...Array.from({ length: count }, () => randomExecution(random, market.now)))
      market.clock.advance(random.integer(random.chance(0.1) ? 2_000_000 : 30_000))
      await writer.settled()
      if (random.chance(0.1)) market.replaceSequencer(true)
      if (random.chance(0.1)) {
        await writer.stop()
        writer = market.writer(faulty.db)
      }
      // This reader follows all along. Its answers come from memory.
      if (random.chance(0.3)) await candlesOf(reader, market.replica, { interval: '1m' })
      if (random.chance(0.5)) await reader.lastDay(market.replica)
    }
    faulty.isFaulty = false
    await written(market.clock, writer)
    await expectModel(market, market.replica, market.seen)
    const followed = await candlesOf(reader, market.replica, { interval: '5m' })
    const other = market.reader(db)
    expect(followed).toEqual(await candlesOf(other, market.replica, { interval: '5m' }))
    const day = await reader.lastDay(market.replica)
    const from = Math.floor(market.now / 60_000) * 60_000 - 86_400_000
    const within = market.seen.filter(({ at }) => at >= from)
    expect(day?.bar?.trades).toBe(within.length)
    expect(BigInt(day?.bar?.volume ?? 0)).toBe(within.reduce((sum, { amount }) => sum + amount, 0n))
    expect(day).toEqual(await other.lastDay(market.replica))
    expect(faulty.lost).toBeGreaterThan(3)
    await writer.stop()
    reader.stop()
    other.stop()
  })

  it.each(RECORDED)('candles of the trades in a recording of $venue equal a model', async ({ file, tradesOf }) => {
    const frames = receivedFrames(file)
    const market = new CandleMarket(later(Math.floor(frames[0]?.milliseconds ?? 0)))
    const writer = market.writer(db)
    for (const { milliseconds, text } of frames) {
      const trades = tradesOf(JSON.parse(text))
      market.clock.advance(Math.max(0, milliseconds - market.now))
      await writer.settled()
      if (trades.length > 0) market.execute(...trades)
    }
    await written(market.clock, writer)
    expect(market.seen.length).toBeGreaterThan(10)
    await expectModel(market, market.replica, market.seen)
    await writer.stop()
  })

  it('candles are complete after a continued restart of the leader, and name a gap after another one', async () => {
    const market = new CandleMarket(later(START))
    let writer = market.writer(db)
    await written(market.clock, writer)
    market.clock.advance(120_000)
    market.execute({ price: 500, amount: 1 })
    await written(market.clock, writer)
    market.clock.advance(120_000)
    market.execute({ price: 600, amount: 2 })
    await writer.stop()
    const closed = await candlesOf(market.reader(db), market.replica, { interval: '1m' })
    // A process that was killed loses what it had not written.
    market.clock.advance(60_000)
    market.execute({ price: 700, amount: 3 })
    const restarted = new CandleMarket(later(market.now + 300_000))
    writer = restarted.writer(db)
    await written(restarted.clock, writer)
    restarted.execute({ price: 800, amount: 1 })
    await written(restarted.clock, writer)
    const items = (await candlesOf(restarted.reader(db), restarted.replica, { interval: '1m' })) ?? []
    expect(items.slice(0, closed?.length ?? 0).map(({ close, trades }) => [close, trades])).toEqual([
      ['5.00', 1],
      ['5.00', 0],
      ['6.00', 1],
    ])
    expect(items.map(({ incomplete }) => incomplete)).toEqual([
      ...[false, false, true],
      ...Array.from({ length: items.length - 3 }, () => true),
    ])
    restarted.clock.advance(120_000)
    const [last] = (await candlesOf(restarted.reader(db), restarted.replica, { interval: '1m', limit: 1 })) ?? []
    expect(last).toMatchObject({ open: '8.00', trades: 0, volume: '0.0000', closed: false, incomplete: false })
    const [day] = (await candlesOf(restarted.reader(db), restarted.replica, { interval: '1d', limit: 1 })) ?? []
    expect(day).toMatchObject({ incomplete: true })
    await writer.stop()
  })

  it('candles name a gap where the tape has a miss, and every reader has it', async () => {
    const market = new CandleMarket(later(START))
    const writer = market.writer(db)
    const reader = market.reader(db)
    market.clock.advance(120_000)
    market.execute({ price: 500, amount: 1 })
    await written(market.clock, writer)
    // The stored position is later than the first gap.
    market.execute({ price: 550, amount: 1 })
    await written(market.clock, writer)
    expect(await candlesOf(reader, market.replica, { interval: '1m' })).toHaveLength(1)
    market.clock.advance(120_000)
    market.miss()
    market.execute({ price: 600, amount: 1 })
    await written(market.clock, writer)
    market.clock.advance(60_000)
    for (const each of [reader, market.reader(db)]) {
      const items = await candlesOf(each, market.replica, { interval: '1m' })
      expect(items?.map(({ incomplete }) => incomplete)).toEqual([true, true, true, false])
    }
    await writer.stop()
  })

  it('a deposed leader’s write is refused, and no execution is counted twice', async () => {
    const market = new CandleMarket(later(START))
    const deposed = market.writer(db, 1)
    await written(market.clock, deposed)
    market.execute({ price: 500, amount: 1 })
    const next = market.writer(db, 2)
    // Both count this execution. The later lease has claimed the market first.
    market.clock.advance(1)
    await next.settled()
    await written(market.clock, deposed, next)
    expect(market.captured.lines.join()).toContain('another process has written the market’s candles')
    market.execute({ price: 600, amount: 1 })
    await written(market.clock, deposed, next)
    await expectModel(market, market.replica, market.seen)
    await deposed.stop()
    await next.stop()
  })

  it('a claim with a later lease makes every write and claim with an earlier one fail', async () => {
    const market = new CandleMarket(later(START))
    const claim = async (leaseEpoch: number) =>
      (await claimCandles(db, [{ market: 'AAAUSD', leaseEpoch }])).get('AAAUSD')?.leaseEpoch
    const write = (leaseEpoch: number) => {
      const to = { epoch: 'e', executionNumber: 0, countedMilliseconds: START }
      const rest = { from: undefined, completeMilliseconds: 0, bars: new Bars(), gaps: [], executed: undefined }
      return writeCandles(db, [{ market: market.definition, leaseEpoch, to, ...rest }])
    }
    expect(await claim(1)).toBe(1)
    expect(await claim(2)).toBe(2)
    expect([...(await write(1))]).toEqual([])
    expect(await claim(1)).toBeUndefined()
    // A process that has no lease any more, because it is the only one.
    expect(await claim(0)).toBe(2)
    expect([...(await write(2))]).toEqual(['AAAUSD'])
  })

  it('a leader that missed stored executions counts only later ones, and records a gap', async () => {
    const market = new CandleMarket(later(START))
    const writer = market.writer(db, 1)
    // The next leader hears the market over its own bus, and only from now on.
    const heard = createMemoryBus()
    const replica = new Replica({ market: market.definition, bus: heard, executionsKept: 100 })
    heard.publish(market.replica.state('', 0) as MarketState)
    await written(market.clock, writer)
    market.clock.advance(180_000)
    const cut = market.bus.subscribe('AAAUSD', (message) => heard.publish(message))
    market.execute({ price: 500, amount: 1 }, { price: 510, amount: 1 })
    await written(market.clock, writer)
    cut()
    const reader = market.reader(db)
    expect(await candlesOf(reader, replica, { interval: '1m' })).toMatchObject([{ trades: 2 }])
    market.execute({ price: 600, amount: 1 })
    await written(market.clock, writer)
    const next = market.writer(db, 2, replica)
    await written(market.clock, next)
    const before = await candlesOf(market.reader(db), market.replica, { interval: '1m' })
    expect(before).toMatchObject([{ trades: 3 }])
    const sequencer = market.newSequencer(heard, replica)
    sequencer.offer({ type: 'snapshot', levels: [] })
    sequencer.offer({ type: 'update', changes: [], executions: [{ price: 700, amount: 1 }] })
    await written(market.clock, next)
    // One that has read before hears of the executions by the new leader's write.
    for (const each of [reader, market.reader(db)]) {
      const after = await candlesOf(each, replica, { interval: '1m' })
      expect(after).toMatchObject([{ trades: 4, incomplete: true }])
    }
    for (const each of [writer, next]) await each.stop()
  })

  it('a write whose answer was lost before an outage is not repeated, and nothing is missing', async () => {
    const market = new CandleMarket(later(START), 4)
    const faulty = new FaultyStore(db, new Random(1))
    faulty.isFaulty = false
    const writer = market.writer(faulty.db)
    await written(market.clock, writer)
    market.execute({ price: 500, amount: 1 })
    faulty.losesNext = true
    await written(market.clock, writer)
    faulty.isDown = true
    for (let count = 0; count < 10; count++) market.execute({ price: 500 + count, amount: 1 })
    await written(market.clock, writer)
    faulty.isDown = false
    await written(market.clock, writer)
    expect(faulty.lost).toBe(1)
    await expectModel(market, market.replica, market.seen)
    await writer.stop()
  })

  it('executions of one time keep their commit order over several writes', async () => {
    const market = new CandleMarket(later(START))
    const writer = market.writer(db)
    for (const price of [500, 600, 550]) {
      market.execute({ price, amount: 1, executedAtMilliseconds: START })
      await written(market.clock, writer)
    }
    const [candle] = (await candlesOf(market.reader(db), market.replica, { interval: '1m' })) ?? []
    expect(candle).toMatchObject({ open: '5.00', high: '6.00', close: '5.50', trades: 3 })
    await writer.stop()
  })

  it('a store that does not answer costs nothing while the changes are kept', async () => {
    const market = new CandleMarket(later(START))
    const faulty = new FaultyStore(db, new Random(1))
    const writer = market.writer(faulty.db)
    await written(market.clock, writer)
    faulty.isDown = true
    for (let minute = 0; minute < 30; minute++) {
      market.execute({ price: 500 + minute, amount: 1 })
      market.clock.advance(60_000)
      await writer.settled()
    }
    faulty.isDown = false
    await written(market.clock, writer)
    await expectModel(market, market.replica, market.seen)
    await writer.stop()
  })

  it('a store that does not answer for too long leaves a gap, and nothing is counted twice', async () => {
    const market = new CandleMarket(later(START), 100)
    const faulty = new FaultyStore(db, new Random(1))
    faulty.isFaulty = false
    const writer = market.writer(faulty.db)
    market.execute({ price: 400, amount: 1 })
    await written(market.clock, writer)
    faulty.isDown = true
    const minutes = Array.from({ length: WAITING_BARS_MAX }, (_, minute) => START - minute * 60_000)
    for (let first = 0; first < minutes.length; first += 50) {
      const some = minutes.slice(first, first + 50)
      market.execute(...some.map((executedAtMilliseconds) => ({ price: 500, amount: 1, executedAtMilliseconds })))
    }
    await written(market.clock, writer)
    market.clock.advance(60_000)
    faulty.isDown = false
    market.execute({ price: 600, amount: 1 })
    await written(market.clock, writer)
    expect(market.captured.lines.join()).toContain('candles were dropped')
    const items = (await candlesOf(market.reader(db), market.replica, { interval: '1m', limit: 3 })) ?? []
    // The log kept the earliest minutes of what was dropped. The rest is a gap, which ends where counting began again.
    expect(items.map(({ close, trades, incomplete }) => [close, trades, incomplete])).toEqual([
      ['5.00', 0, true],
      ['4.00', 1, true],
      ['6.00', 1, false],
    ])
    await writer.stop()
  })

  it('pages older than the memory come from the store and equal the model', async () => {
    const market = new CandleMarket(later(START))
    const writer = market.writer(db)
    const followed = market.reader(db)
    for (let day = 0; day < 4; day++) {
      market.execute({ price: 500 + day, amount: 1 }, { price: 400 + day, amount: 2 })
      await written(market.clock, writer)
      await candlesOf(followed, market.replica, { interval: '1m' })
      // Asked for often enough to be kept.
      for (let step = 0; step < 100; step++) {
        market.clock.advance(500_000)
        await candlesOf(followed, market.replica, { interval: '1m', limit: 1 })
      }
    }
    const first = { interval: '1m', fromMilliseconds: START, limit: 2_000 } as const
    const dropped = await followed.candles(market.replica, first)
    expect(dropped?.key).toBeUndefined()
    expect(await candlesOf(followed, market.replica, first)).toEqual(
      await candlesOf(market.reader(db), market.replica, first),
    )
    followed.stop()
    const reader = market.reader(db)
    for (const interval of INTERVALS) {
      const all = naiveCandles(market.seen, interval, market.now, market.definition)
      for (const at of [0, 1, Math.floor(all.length / 2)]) {
        const { time } = all[at] as { time: string }
        const items = await candlesOf(reader, market.replica, {
          interval,
          fromMilliseconds: Date.parse(time),
          limit: 50,
        })
        expect(items?.map(({ incomplete, ...rest }) => rest)).toEqual(all.slice(at, at + 50))
      }
      const toMilliseconds = market.now - 80_000_000
      const items = await candlesOf(reader, market.replica, { interval, toMilliseconds, limit: 7 })
      const before = all.filter((each) => Date.parse((each as { time: string }).time) < toMilliseconds)
      expect(items?.map(({ incomplete, ...rest }) => rest)).toEqual(before.slice(-7))
    }
    await writer.stop()
    reader.stop()
  })
})
