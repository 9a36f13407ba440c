import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../../src/platform/base/clock.ts'
import {
  ASK,
  BID,
  type Execution,
  type MarketDefinition,
  type MarketEvent,
} from '../../../../src/streaming/market/event.ts'
import { createRandomStream } from '../../../../src/streaming/sources/simulator/random.ts'
import { createSimulator, type SimulatedTrade } from '../../../../src/streaming/sources/simulator/simulator.ts'
import type { Source, SourceMarket } from '../../../../src/streaming/sources/source.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

const RATE = 40

function marketOf(baseAsset: string): MarketDefinition {
  return { symbol: `${baseAsset}USD`, baseAsset, quoteAsset: 'USD', priceDecimals: 2, amountDecimals: 8, depth: 1000 }
}

interface Run {
  readonly source: Source
  /** What the source feeds, by symbol. */
  readonly markets: ReadonlyMap<string, SourceMarket>
  /** The events that each market's listener received, by symbol. */
  readonly events: Map<string, MarketEvent[]>
  readonly trades: SimulatedTrade[]
}

function simulate(clock: Clock, { assets = ['BTC'], seed = 1, rate = RATE, start = true } = {}): Run {
  const events = new Map<string, MarketEvent[]>()
  const trades: SimulatedTrade[] = []
  const markets = assets.map((asset): SourceMarket => {
    const market = marketOf(asset)
    const received: MarketEvent[] = []
    events.set(market.symbol, received)
    return { market, venueSymbol: '', listener: (event) => received.push(event) }
  })
  const onTrade = (trade: SimulatedTrade) => trades.push(trade)
  const source = createSimulator({ markets, seed, updatesPerSecond: rate, clock, onTrade })
  if (start) source.start()
  return { source, markets: new Map(markets.map((one) => [one.market.symbol, one])), events, trades }
}

/** The first events as text, without the wall clock's part in them. */
function bytesOf(events: readonly MarketEvent[], count: number): string {
  expect(events.length).toBeGreaterThanOrEqual(count)
  return JSON.stringify(events.slice(0, count), (key, value) => (key === 'executedAtMilliseconds' ? undefined : value))
}

function executionsOf(events: readonly MarketEvent[]): Execution[] {
  return events.flatMap((event) => (event.type === 'update' ? event.executions : []))
}

/** A clock whose timers come late by up to `latenessMilliseconds`, and which can stall. */
class UnsteadyClock extends VirtualClock {
  readonly #random = createRandomStream(99, 'lateness')
  readonly #latenessMilliseconds: number
  #stalledMilliseconds = 0

  constructor(latenessMilliseconds: number, startWallMilliseconds?: number) {
    super(startWallMilliseconds)
    this.#latenessMilliseconds = latenessMilliseconds
  }

  override schedule(delayMilliseconds: number, callback: () => void) {
    return super.schedule(delayMilliseconds + this.#random.below(this.#latenessMilliseconds + 1), callback)
  }

  override monotonicMilliseconds(): number {
    return super.monotonicMilliseconds() + this.#stalledMilliseconds
  }

  /** The process did nothing for so long; no timer ran. */
  stall(milliseconds: number): void {
    this.#stalledMilliseconds += milliseconds
  }
}

describe('markets of the simulator that come and go', () => {
  it('simulated markets that come and go trade as they would have alone, and so do the others', () => {
    const [alone, clock] = [new VirtualClock(), new VirtualClock()]
    const { events: expected } = simulate(alone, { assets: ['BTC', 'ETH'] })
    alone.advance(20_000)
    const { source, markets, events } = simulate(clock, { assets: ['BTC', 'SOL'] })
    clock.advance(10_000)
    const received: MarketEvent[] = []
    const ether: SourceMarket = { market: marketOf('ETH'), venueSymbol: '', listener: (event) => received.push(event) }
    source.add(ether)
    source.remove(markets.get('SOLUSD')!)
    const gone = events.get('SOLUSD')!.length
    clock.advance(10_000)
    source.remove(ether)
    const stopped = received.length
    clock.advance(10_000)
    expect(bytesOf(events.get('BTCUSD')!, 500)).toBe(bytesOf(expected.get('BTCUSD')!, 500))
    expect(bytesOf(received, 300)).toBe(bytesOf(expected.get('ETHUSD')!, 300))
    expect(events.get('SOLUSD')).toHaveLength(gone)
    expect(received).toHaveLength(stopped)
  })

  it('simulated markets may be added again, and start over', () => {
    const clock = new VirtualClock()
    const { source, markets, events } = simulate(clock)
    clock.advance(10_000)
    source.remove(markets.get('BTCUSD')!)
    source.remove(markets.get('BTCUSD')!)
    const again: MarketEvent[] = []
    source.add({ market: marketOf('BTC'), venueSymbol: '', listener: (event) => again.push(event) })
    clock.advance(10_000)
    expect(bytesOf(again, 300)).toBe(bytesOf(events.get('BTCUSD')!, 300))
  })
})

describe('the simulator', () => {
  it('the simulator emits a full snapshot first and then updates that agree with it', () => {
    const clock = new VirtualClock()
    const events = simulate(clock).events.get('BTCUSD')!
    expect(events).toEqual([])
    clock.advance(60_000)
    const [first, ...updates] = events
    expect(first!.type).toBe('snapshot')
    expect(updates.length).toBeGreaterThan(1000)
    const book = [new Map<number, number>(), new Map<number, number>()]
    for (const event of events) {
      if (event.type !== 'snapshot' && event.type !== 'update') throw new Error(`the simulator said ${event.type}`)
      const changes = event.type === 'snapshot' ? event.levels : event.changes
      expect(changes.length).toBeGreaterThan(0)
      for (const { side, price, amount } of changes) {
        if (amount === 0) expect(book[side]!.delete(price)).toBe(true)
        else book[side]!.set(price, Number(amount))
      }
      expect(Math.max(...book[BID]!.keys())).toBeLessThan(Math.min(...book[ASK]!.keys()))
    }
  })

  it('the simulator emits an order’s executions in the update that shows what they did to the book', () => {
    const clock = new VirtualClock()
    const { events, trades } = simulate(clock)
    clock.advance(120_000)
    const executing = events.get('BTCUSD')!.filter((event) => event.type === 'update' && event.executions.length > 0)
    expect(executing.length).toBeGreaterThan(100)
    for (const event of executing) {
      if (event.type !== 'update') continue
      const changed = event.changes.map((change) => change.price)
      for (const execution of event.executions) expect(changed).toContain(execution.price)
    }
    expect(executionsOf(events.get('BTCUSD')!)).toEqual(
      trades.map(({ price, amount, takerSide, executedAtMilliseconds }) => {
        return { price, amount, side: takerSide === BID ? 'buy' : 'sell', executedAtMilliseconds }
      }),
    )
  })

  it('the simulator numbers the trades of each market from 1 and never lets their time go back', () => {
    const clock = new VirtualClock()
    const { trades } = simulate(clock, { assets: ['BTC', 'ETH'] })
    clock.advance(30_000)
    const early = trades.length
    clock.stepWall(-10_000)
    clock.advance(30_000)
    expect(early).toBeGreaterThan(10)
    expect(trades.length).toBeGreaterThan(early + 10)
    for (const symbol of ['BTCUSD', 'ETHUSD']) {
      const own = trades.filter((trade) => trade.market === symbol)
      expect(own.map((trade) => trade.tradeNumber)).toEqual(own.map((_, index) => index + 1))
      const times = own.map((trade) => trade.executedAtMilliseconds)
      expect(times).toEqual([...times].sort((left, right) => left - right))
    }
  })
})

describe('the same seed', () => {
  const COUNT = 3000
  const steady = () => {
    const clock = new VirtualClock()
    const run = simulate(clock)
    clock.advance(120_000)
    return bytesOf(run.events.get('BTCUSD')!, COUNT)
  }

  it.each([0, 3, 40, 700])('the same seed gives the same bytes when timers come up to %d ms late', (lateness) => {
    const clock = new UnsteadyClock(lateness, Date.UTC(2027, 5, 1))
    const run = simulate(clock)
    clock.advance(240_000)
    expect(bytesOf(run.events.get('BTCUSD')!, COUNT)).toBe(steady())
  })

  it('the same seed gives the same bytes whatever other markets there are', () => {
    const clock = new VirtualClock()
    const run = simulate(clock, { assets: ['ETH', 'BTC', 'SOL'] })
    clock.advance(120_000)
    expect(bytesOf(run.events.get('BTCUSD')!, COUNT)).toBe(steady())
  })

  it('another seed gives other bytes', () => {
    const clock = new VirtualClock()
    const run = simulate(clock, { seed: 2 })
    clock.advance(120_000)
    expect(bytesOf(run.events.get('BTCUSD')!, COUNT)).not.toBe(steady())
  })
})

describe('a process that stalls', () => {
  it('a process that stalls emits a bounded part of the overdue updates, moves the rest back and skips nothing', () => {
    const undisturbed = new VirtualClock()
    const expected = simulate(undisturbed).events.get('BTCUSD')!
    const clock = new UnsteadyClock(0)
    const events = simulate(clock).events.get('BTCUSD')!
    undisturbed.advance(600_000)
    clock.advance(60_000)
    const before = events.length
    clock.stall(300_000)
    // Until the one pending timer has run: what it finds is about 12,000 events late.
    for (let waited = 0; events.length === before && waited < 10_000; waited++) clock.advance(1)
    const atOnce = events.length - before
    clock.advance(120_000)
    const later = events.length - before - atOnce
    expect(atOnce).toBeGreaterThan(10)
    expect(atOnce).toBeLessThan(64 + 200)
    expect(later).toBeGreaterThan(120 * RATE * 0.5)
    expect(later).toBeLessThan(120 * RATE * 2)
    expect(bytesOf(events, events.length)).toBe(bytesOf(expected, events.length))
  })
})

describe('rebuild and stop', () => {
  it('a rebuild emits the current book once, in a tick of its own', () => {
    const clock = new VirtualClock()
    const { source, markets, events } = simulate(clock, { assets: ['BTC', 'ETH'] })
    clock.advance(30_000)
    const btc = events.get('BTCUSD')!
    const etherBefore = events.get('ETHUSD')!.length
    const before = btc.length
    source.rebuild(markets.get('BTCUSD')!, 'crossed')
    source.rebuild(markets.get('BTCUSD')!, 'crossed again')
    source.rebuild({ ...markets.get('BTCUSD')! }, 'no such market')
    expect(btc.length).toBe(before)
    clock.advance(0)
    expect(btc.slice(before).map((event) => event.type)).toEqual(['snapshot'])
    expect(events.get('ETHUSD')!.length).toBe(etherBefore)
    const book = new Map<string, unknown>()
    for (const event of btc.slice(0, before)) {
      if (event.type !== 'snapshot' && event.type !== 'update') continue
      for (const level of event.type === 'snapshot' ? event.levels : event.changes) {
        if (level.amount === 0) book.delete(`${level.side}@${level.price}`)
        else book.set(`${level.side}@${level.price}`, level.amount)
      }
    }
    const snapshot = btc[before]!
    const levels = snapshot.type === 'snapshot' ? snapshot.levels : []
    expect(new Map(levels.map((level) => [`${level.side}@${level.price}`, level.amount]))).toEqual(book)
    clock.advance(10_000)
    expect(btc.slice(before + 1).some((event) => event.type === 'snapshot')).toBe(false)
    source.rebuild(markets.get('BTCUSD')!, 'once more')
    clock.advance(0)
    expect(btc.at(-1)!.type).toBe('snapshot')
  })

  it('a stopped simulator calls no listener, not even when stopped from inside one', async () => {
    // Timers come so late that many events are due in the tick in which it is stopped.
    const clock = new UnsteadyClock(1_000)
    const received: MarketEvent[] = []
    const listener = (event: MarketEvent) => {
      received.push(event)
      if (received.length === 50) void source.stop()
    }
    const source = createSimulator({
      markets: [{ market: marketOf('BTC'), venueSymbol: '', listener }],
      seed: 1,
      updatesPerSecond: 1_000,
      clock,
    })
    source.start()
    clock.advance(60_000)
    expect(received.length).toBe(50)

    const other = simulate(clock)
    clock.advance(1_000)
    other.source.rebuild(other.markets.get('BTCUSD')!, 'then stopped')
    const before = other.events.get('BTCUSD')!.length
    await other.source.stop()
    clock.advance(60_000)
    other.source.rebuild(other.markets.get('BTCUSD')!, 'too late')
    clock.advance(60_000)
    expect(other.events.get('BTCUSD')!.length).toBe(before)
  })

  it('a simulator ignores rebuild and stop before its start', () => {
    const clock = new VirtualClock()
    const { source, markets, events } = simulate(clock, { start: false })
    source.rebuild(markets.get('BTCUSD')!, 'early')
    clock.advance(1_000)
    expect(events.get('BTCUSD')).toEqual([])
  })
})
