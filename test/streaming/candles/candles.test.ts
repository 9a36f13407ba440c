/** Candles from the store and from executions, compared with a model that sees every execution. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { parseDecimal } from '../../../src/platform/base/decimal.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import type { Execution } from '../../../src/streaming/market/event.ts'
import type { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { captureLog } from '../../support/captured-log.ts'
import { receivedFrames } from '../../support/captures.ts'
import { LENGTHS, naiveCandles, type SeenTrade } from '../../support/naive-candles.ts'
import { Random } from '../../support/random.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { CandleMarket, candlesOf, written } from './candle-market.ts'

const db = await openTestStore({ log: captureLog().log })
afterAll(() => db.close())

beforeEach(async () => {
  await sql`truncate candle_markets, candles, candle_gaps`.execute(db.tables())
})

const START = Date.UTC(2026, 4, 3, 22, 58)
const INTERVALS = Object.keys(LENGTHS) as (keyof typeof LENGTHS)[]
const later = (milliseconds: number) => new VirtualClock(milliseconds)

/** A venue's trades, at the scale of the market's integers. */
const RECORDED = [
  {
    venue: 'OKX',
    file: 'OKX.ws.1.0.gz',
    // biome-ignore lint/suspicious/noExplicitAny: a venue's frame
    tradesOf: ({ arg, data }: any): Execution[] =>
      arg?.channel === 'trades' && data !== undefined
        ? // biome-ignore lint/suspicious/noExplicitAny: a venue's frame
          data.map(({ px, sz, ts, tradeId: id }: any) => recordedTrade(px, sz, Number(ts), `${arg.instId} ${id}`))
        : [],
  },
  {
    venue: 'Coinbase',
    file: 'COINBASE.ws.28.0.gz',
    // biome-ignore lint/suspicious/noExplicitAny: a venue's frame
    tradesOf: ({ type, price, size, time, trade_id: id, product_id: pair }: any): Execution[] =>
      type === 'match' || type === 'last_match' ? [recordedTrade(price, size, Date.parse(time), `${pair} ${id}`)] : [],
  },
]

function recordedTrade(price: string, amount: string, executedAtMilliseconds: number, id: string): Execution {
  return {
    price: parseDecimal(price, 8) as number,
    amount: parseDecimal(amount, 8) as number,
    executedAtMilliseconds,
    id,
  }
}

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
  it('equal a model over random executions, late ones, stopped writers, later sequencers and lost answers', async () => {
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
    }
    faulty.isFaulty = false
    await written(market.clock, writer)
    await expectModel(market, market.replica, market.seen)
    const followed = await candlesOf(reader, market.replica, { interval: '5m' })
    const other = market.reader(db)
    expect(followed).toEqual(await candlesOf(other, market.replica, { interval: '5m' }))
    expect(faulty.lost).toBeGreaterThan(3)
    await writer.stop()
    reader.stop()
    other.stop()
  })

  it.each(RECORDED)('of the trades that $venue was recorded with equal a model', async ({ file, tradesOf }) => {
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

  it('are complete after a continued restart of the leader, and name a gap after another one', async () => {
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

  it('name a gap where the tape has a miss, and every reader has it', async () => {
    const market = new CandleMarket(later(START))
    const writer = market.writer(db)
    const reader = market.reader(db)
    market.clock.advance(120_000)
    market.execute({ price: 500, amount: 1 })
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

  it('pages older than the memory come from the store and equal the model', async () => {
    const market = new CandleMarket(later(START))
    const writer = market.writer(db)
    for (let day = 0; day < 4; day++) {
      market.execute({ price: 500 + day, amount: 1 }, { price: 400 + day, amount: 2 })
      await written(market.clock, writer)
      market.clock.advance(50_000_000)
    }
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

/** A store whose transactions fail before or after they are stored. */
class FaultyStore {
  readonly db: Db
  isFaulty = true
  isDown = false
  lost = 0

  constructor(store: Db, random: Random) {
    const transaction: Db['transaction'] = async (work, options) => {
      if (this.isDown) throw new StoreUnavailable('down')
      const isLost = this.isFaulty && random.chance(0.3)
      if (isLost && random.chance(0.5)) throw new StoreUnavailable('not stored')
      const result = await store.transaction(work, options)
      if (!isLost) return result
      this.lost++
      throw new StoreUnavailable('the answer was lost')
    }
    this.db = new Proxy(store, {
      get: (target, name, receiver) => (name === 'transaction' ? transaction : Reflect.get(target, name, receiver)),
    })
  }
}
