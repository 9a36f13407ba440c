/** Candles on an operator's bad day: clocks that move back, misses without end, venues that lag, deleted minutes. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { HOUR_MILLISECONDS } from '../../../src/streaming/candles/bar.ts'
import { startCandleRetention } from '../../../src/streaming/candles/retention.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { captureLog } from '../../support/captured-log.ts'
import { naiveCandles } from '../../support/naive-candles.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { levels } from '../gateway/live-stream.ts'
import { CandleMarket, candlesOf, written } from './candle-market.ts'

const { log } = captureLog()
const db = await openTestStore({ log })
afterAll(() => db.close())

beforeEach(async () => {
  await sql`truncate candle_markets, candles, candle_gaps`.execute(db.tables())
})

const START = Date.UTC(2026, 4, 3, 12)
const MINUTE = 60_000
const at = (minutes: number, price = 500) => ({ price, amount: 1, executedAtMilliseconds: START + minutes * MINUTE })

/** The store, with a call just before its next read. */
function watchedStore() {
  let onRead: (() => void) | undefined
  const store = new Proxy(db, {
    get(target, name, receiver) {
      if (name === 'tables') {
        const work = onRead
        onRead = undefined
        work?.()
      }
      return Reflect.get(target, name, receiver)
    },
  })
  const onNextRead = (work: () => void) => {
    onRead = work
  }
  return { store, onNextRead }
}

/** Times of the incomplete minutes, in minutes after the start. */
async function incompleteMinutes(market: CandleMarket, reader = market.reader(db)): Promise<readonly number[]> {
  const items = (await candlesOf(reader, market.replica, { interval: '1m', fromMilliseconds: START })) ?? []
  reader.stop()
  return items.filter(({ incomplete }) => incomplete).map(({ time }) => (Date.parse(time) - START) / MINUTE)
}

describe('candles', () => {
  it('candles equal the executions when the clock moves back an hour, before and after a restart', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    let writer = market.writer(db)
    market.execute(at(0), { price: 510, amount: 1 })
    await written(market.clock, writer)
    market.clock.stepWall(-HOUR_MILLISECONDS)
    for (const minutes of [-59, -58, 1]) {
      market.execute(at(minutes), { price: 520 + minutes, amount: 2 })
      await written(market.clock, writer)
      market.clock.advance(MINUTE)
      await writer.settled()
    }
    const expected = naiveCandles(market.seen, '1m', market.replica.instant.milliseconds, market.definition)
    const read = async () => await candlesOf(market.reader(db), market.replica, { interval: '1m' })
    const plain = (await read())?.map(({ incomplete, ...rest }) => rest)
    expect(plain).toEqual(expected)
    await writer.stop()
    market.replaceSequencer(true)
    writer = market.writer(db)
    market.execute(at(2))
    await written(market.clock, writer)
    const [last] = (await candlesOf(market.reader(db), market.replica, { interval: '1d', limit: 1 })) ?? []
    expect(last).toMatchObject({ trades: market.seen.length })
    await writer.stop()
  })

  it('a candle closes when every commit before its end has arrived from another process', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    market.execute(at(0))
    await written(market.clock, writer)
    const reader = market.reader(db, 2_000)
    const closed = async () => {
      const items = await candlesOf(reader, market.replica, { interval: '1m', fromMilliseconds: START })
      return items?.map((each) => each.closed)
    }
    market.clock.advance(START + MINUTE + 1_999 - market.now)
    expect(await closed()).toEqual([false, false])
    market.clock.advance(1)
    expect(await closed()).toEqual([true, false])
    market.clock.advance(MINUTE - 1_999)
    market.execute({ price: 510, amount: 1 })
    expect(await closed()).toEqual([true, true, false])
    reader.stop()
    await writer.stop()
  })

  it('a miss after a change of leader begins at the last execution of the venue that lags', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const first = market.writer(db, 1)
    await written(market.clock, first)
    market.clock.advance(10 * MINUTE)
    market.execute({ ...at(2), venue: 'a' }, { ...at(10), venue: 'b' })
    await written(market.clock, first)
    const next = market.writer(db, 2)
    await written(market.clock, next)
    market.execute({ ...at(10.5), venue: 'b' })
    market.miss()
    await written(market.clock, next)
    expect(await incompleteMinutes(market)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10])
    for (const each of [first, next]) await each.stop()
  })

  it('executions that a leader lost before it wrote them make the minute of the last stored one incomplete', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    await written(market.clock, writer)
    market.clock.advance(5 * MINUTE)
    market.execute(at(4.9))
    await written(market.clock, writer)
    await writer.stop()
    // Executed in the fourth minute too, and lost with the process.
    market.execute(at(4.99))
    const restarted = new CandleMarket(new VirtualClock(START + 6 * MINUTE))
    const again = restarted.writer(db)
    await written(restarted.clock, again)
    expect((await incompleteMinutes(restarted)).slice(-3)).toEqual([4, 5, 6])
    await again.stop()
  })

  it('published executions before a miss are counted by the next leader, and none twice', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db, 1)
    await written(market.clock, writer)
    market.clock.advance(2 * MINUTE)
    market.execute(at(1))
    await written(market.clock, writer)
    await writer.stop()
    market.clock.advance(3 * MINUTE)
    market.execute(at(4))
    market.replaceSequencer(false)
    market.execute(at(5))
    const next = market.writer(db, 2)
    await written(market.clock, next)
    const items = await candlesOf(market.reader(db), market.replica, { interval: '1m', fromMilliseconds: START })
    expect(items?.map(({ trades, incomplete }) => [trades, incomplete])).toEqual([
      ...[1, 0, 0].map((trades) => [trades, false]),
      [1, true],
      [1, true],
    ])
    await next.stop()
  })

  it('a gap that is open until the market is live reaches every reader, also one that read it before its end', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const first = market.writer(db, 1)
    await written(market.clock, first)
    market.execute(at(0))
    await written(market.clock, first)
    await first.stop()
    market.sequencer.stop()
    market.clock.advance(2 * MINUTE)
    market.sequencer = market.newSequencer(market.bus)
    market.sequencer.announce()
    // Trades arrive before the book does.
    market.execute(at(2))
    const next = market.writer(db, 2)
    await written(market.clock, next)
    const reader = market.reader(db)
    await candlesOf(reader, market.replica, { interval: '1m' })
    market.clock.advance(3 * MINUTE)
    market.snapshot()
    await written(market.clock, next)
    market.snapshot()
    market.clock.advance(MINUTE)
    market.offer({ type: 'update', changes: levels([[101, 5]], []), executions: [] })
    await written(market.clock, next)
    // Readers read the store again until the position is later than the gap.
    const { rows } = await sql`select counted_at::text from candle_markets`.execute(db.tables())
    expect(rows).toEqual([{ counted_at: String(market.replica.instant.milliseconds) }])
    market.clock.advance(MINUTE)
    expect(await incompleteMinutes(market)).toEqual([0, 1, 2, 3, 4, 5])
    expect(await incompleteMinutes(market, reader)).toEqual([0, 1, 2, 3, 4, 5])
    await next.stop()
  })

  it('a source that misses executions all the time has one gap a minute', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    await written(market.clock, writer)
    for (let miss = 0; miss < 12; miss++) {
      market.clock.advance(10_000)
      market.execute({ price: 500, amount: 1 })
      market.miss()
      await writer.settled()
    }
    await written(market.clock, writer)
    const { rows } = await sql<{ count: string }>`select count(*) as count from candle_gaps`.execute(db.tables())
    expect(Number(rows[0]?.count)).toBeLessThanOrEqual(3)
    const reader = market.reader(db)
    await candlesOf(reader, market.replica, { interval: '1m' })
    expect(await incompleteMinutes(market, reader)).toEqual([0, 1, 2])
    await writer.stop()
  })

  it('a miss begins at the commit of the last execution when the clock of the venue is a day ahead', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    await written(market.clock, writer)
    market.execute(at(0))
    market.clock.advance(5 * MINUTE)
    market.execute(at(24 * 60))
    market.clock.advance(2 * MINUTE)
    market.miss()
    await written(market.clock, writer)
    const [day] = (await candlesOf(market.reader(db), market.replica, { interval: '1d', limit: 1 })) ?? []
    expect(day).toMatchObject({ trades: 1, incomplete: true })
    expect((await incompleteMinutes(market)).slice(-3)).toEqual([5, 6, 7])
    await writer.stop()
  })

  it('candles with more decimals than the market has now are incomplete', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    market.execute(at(-3 * 1440, 500), at(-3 * 1440 + 2, 511), at(-300, 500), at(-2, 500), at(-1, 512))
    await written(market.clock, writer)
    await sql`truncate candle_gaps`.execute(db.tables())
    await writer.stop()
    const definition = { ...market.definition, priceDecimals: 1 }
    const replica = new Replica({ market: definition, bus: createMemoryBus(), executionsKept: 1 })
    for (const toMilliseconds of [START - 3 * 1440 * MINUTE + 3 * MINUTE, START]) {
      const items = await candlesOf(market.reader(db), replica, { interval: '1m', toMilliseconds, limit: 2 })
      expect(items?.at(-1)).toMatchObject({ trades: 0, incomplete: true })
    }
    const hours = await candlesOf(market.reader(db), replica, { interval: '1h', limit: 48 })
    expect(hours?.filter(({ incomplete }) => incomplete)).toHaveLength(1)
  })

  it('candles with more decimals than the market has now are not read again with each request', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    market.execute(at(0), at(0.01))
    await written(market.clock, writer)
    await sql`truncate candle_gaps`.execute(db.tables())
    await sql`update candles set high = high + 0.001`.execute(db.tables())
    let reads = 0
    const counted = new Proxy(db, {
      get: (target, name, receiver) => {
        if (name === 'tables' || name === 'transaction') reads++
        return Reflect.get(target, name, receiver)
      },
    })
    const reader = market.reader(counted)
    const read = async () => {
      market.execute(at(0.05))
      market.clock.advance(2_000)
      return await candlesOf(reader, market.replica, { interval: '1m', fromMilliseconds: START })
    }
    expect(await read()).toMatchObject([{ incomplete: true }])
    const before = reads
    expect(before).toBeGreaterThan(0)
    expect(await read()).toMatchObject([{ incomplete: true }])
    expect(reads).toBe(before)
    reader.stop()
    await writer.stop()
  })

  it('candles are counted again from the log when the store has lost them', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    market.execute(at(0))
    await written(market.clock, writer)
    await sql`truncate candle_markets, candles, candle_gaps`.execute(db.tables())
    market.execute(at(0.01))
    await written(market.clock, writer)
    const items = await candlesOf(market.reader(db), market.replica, { interval: '1m', fromMilliseconds: START })
    expect(items).toMatchObject([{ trades: 2, incomplete: true }])
    await writer.stop()
  })

  it('the last close stays when the minutes before it are deleted', async () => {
    const market = new CandleMarket(new VirtualClock(START + 10 * MINUTE))
    const writer = market.writer(db)
    market.execute(at(-3_000, 400), at(-20, 410), at(5, 420))
    await written(market.clock, writer)
    await writer.stop()
    // Fresh readers, so that nothing comes from an earlier memory.
    const closes = async () => {
      const items = await candlesOf(market.reader(db), market.replica, { interval: '1m', limit: 3 })
      const { lastClose } = (await market.reader(db).lastDay(market.replica)) ?? {}
      return [...(items ?? []).map(({ close }) => close), lastClose]
    }
    const upkeep = async () => {
      const retention = startCandleRetention({ db, clock: market.clock, log, retentionDays: () => 400 })
      await retention.settled()
      await retention.stop()
    }
    for (const days of [29, 11]) {
      market.clock.standStill(days * 24 * HOUR_MILLISECONDS)
      await upkeep()
      expect(await closes()).toEqual(['4.20', '4.20', '4.20', 420])
    }
  })

  it('the oldest minute has the close before it, also after the upkeep', async () => {
    const market = new CandleMarket(new VirtualClock(START + 10 * MINUTE))
    const writer = market.writer(db)
    market.execute(at(-90, 400), at(5, 410))
    market.clock.advance(8 * 24 * HOUR_MILLISECONDS)
    market.execute({ price: 450, amount: 1 })
    await written(market.clock, writer)
    await writer.stop()
    market.clock.standStill(22 * 24 * HOUR_MILLISECONDS)
    const retention = startCandleRetention({ db, clock: market.clock, log, retentionDays: () => 400 })
    await retention.settled()
    await retention.stop()
    const query = { interval: '1m', fromMilliseconds: START, limit: 1 } as const
    expect(await candlesOf(market.reader(db), market.replica, query)).toMatchObject([{ close: '4.10', trades: 0 }])
  })

  it('a candle is not closed by executions that came while the store was read', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    market.execute(at(-30 * 60, 400), at(0, 420))
    await written(market.clock, writer)
    const { store, onNextRead } = watchedStore()
    const reader = market.reader(store)
    const query = { interval: '1m', fromMilliseconds: START - 30 * HOUR_MILLISECONDS, limit: 2_000 } as const
    await candlesOf(reader, market.replica, query)
    onNextRead(() => {
      market.execute(at(0.5, 430))
      market.clock.stepWall(MINUTE)
    })
    expect((await candlesOf(reader, market.replica, query))?.at(-1)).toMatchObject({ trades: 1, closed: false })
    const after = await candlesOf(reader, market.replica, query)
    expect(after?.slice(-2)).toMatchObject([
      { trades: 2, closed: true },
      { trades: 0, closed: false },
    ])
    reader.stop()
    await writer.stop()
  })

  it('bars dropped from memory while the store is read are read from the store', async () => {
    const market = new CandleMarket(new VirtualClock(START))
    const writer = market.writer(db)
    const hour = 60
    market.execute(at(-30 * hour, 400), at(-20 * hour, 410), at(0, 420))
    await written(market.clock, writer)
    const { store, onNextRead } = watchedStore()
    const reader = market.reader(store)
    const query = { interval: '1m', fromMilliseconds: START - 30 * HOUR_MILLISECONDS, limit: 1_000 } as const
    market.clock.standStill(26 * HOUR_MILLISECONDS)
    await writer.settled()
    const before = await candlesOf(reader, market.replica, query)
    onNextRead(() => {
      market.execute({ price: 430, amount: 1 })
      market.clock.advance(1_001)
    })
    expect(await candlesOf(reader, market.replica, query)).toEqual(before)
    expect(before?.filter(({ trades }) => trades > 0)).toHaveLength(2)
    reader.stop()
    await writer.stop()
  })
})
