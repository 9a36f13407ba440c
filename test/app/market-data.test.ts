/** Markets from a source to a replica: who is fed by whom, who asks whom to rebuild, what stopping ends. */
import { expect, it } from 'vitest'
import { createMarketData } from '../../src/app/market-data.ts'
import type { ConfiguredMarket } from '../../src/app/markets-config.ts'
import { createLog } from '../../src/base/log.ts'
import { createMetricsRegistry } from '../../src/base/metrics.ts'
import { createMemoryBus } from '../../src/channel/bus-memory.ts'
import { createSequencerMetrics } from '../../src/channel/sequencer.ts'
import type { Source, SourceMarket } from '../../src/feed/source.ts'
import { ASK, BID } from '../../src/market/event.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

class ManualSource implements Source {
  readonly calls: string[] = []
  readonly markets: readonly SourceMarket[]
  constructor(markets: readonly SourceMarket[]) {
    this.markets = markets
  }
  start(): void {
    this.calls.push('start')
  }
  stop(): Promise<void> {
    this.calls.push('stop')
    return Promise.resolve()
  }
  rebuild(symbol: string): void {
    this.calls.push(`rebuild ${symbol}`)
  }
}

function market(symbol: string, venue: 'simulator' | 'kraken', venueSymbol: string): ConfiguredMarket {
  const definition = { symbol, baseAsset: symbol, quoteAsset: '', priceDecimals: 2, amountDecimals: 2, depth: 10 }
  return { definition, source: { venue, symbol: venueSymbol } }
}

function setUp() {
  const clock = new VirtualClock()
  const made = new Map<string, ManualSource>()
  const create = (venue: string) => (markets: readonly SourceMarket[]) => {
    const source = new ManualSource(markets)
    made.set(venue, source)
    return source
  }
  const data = createMarketData({
    markets: [market('AUSD', 'kraken', 'A/USD'), market('BUSD', 'simulator', ''), market('CUSD', 'kraken', 'C/USD')],
    executionsKept: 10,
    bus: createMemoryBus(),
    clock,
    log: createLog('silent'),
    metrics: createSequencerMetrics(createMetricsRegistry()),
    floors: new Map(),
    createSource: { simulator: create('simulator'), kraken: create('kraken') },
  })
  const kraken = made.get('kraken') as ManualSource
  const feed = kraken.markets[1] as SourceMarket
  const snapshot = (bid: number, ask: number) =>
    feed.listener({
      type: 'snapshot',
      levels: [
        { side: BID, price: bid, amount: 1 },
        { side: ASK, price: ask, amount: 1 },
      ],
    })
  return { clock, made, data, kraken, snapshot }
}

it('makes one source a venue, with all of its markets', () => {
  const { made, kraken, data } = setUp()
  expect([...made.keys()]).toEqual(['kraken', 'simulator'])
  expect(kraken.markets.map(({ venueSymbol }) => venueSymbol)).toEqual(['A/USD', 'C/USD'])
  expect(data.replicas.map((replica) => replica.market.symbol)).toEqual(['AUSD', 'BUSD', 'CUSD'])
  void data.start()
  expect(kraken.calls).toEqual(['start'])
})

it('has started when every market has heard something from its source', async () => {
  const { made, data } = setUp()
  let started = false
  const start = data.start().then(() => {
    started = true
  })
  const [first, ...others] = [...made.values()].flatMap(({ markets }) => markets)
  for (const { listener } of others) listener({ type: 'lost', reason: 'not there' })
  await Promise.resolve()
  expect(started).toBe(false)
  first?.listener({ type: 'lost', reason: 'not there' })
  await start
})

it('leads what a source says to the replica of its market, and to no other', () => {
  const { clock, data, snapshot } = setUp()
  expect([...data.starting]).toEqual(['AUSD', 'BUSD', 'CUSD'])
  snapshot(100, 101)
  clock.advance(5)
  expect([...data.starting]).toEqual(['AUSD', 'BUSD'])
  expect(data.replicas.map((replica) => replica.live)).toEqual([false, false, true])
  expect(data.replicas[2]?.top.bid?.price).toBe(100)
})

it('asks the source of a market to rebuild a book that broke an invariant', () => {
  const { clock, kraken, snapshot } = setUp()
  snapshot(101, 100)
  clock.advance(5)
  expect(kraken.calls).toEqual(['rebuild CUSD'])
})

it('stops sources and writers; the last book stays', async () => {
  const { clock, data, kraken, snapshot } = setUp()
  void data.start()
  snapshot(100, 101)
  clock.advance(5)
  await data.stopSources()
  expect(kraken.calls).toEqual(['start', 'stop'])
  snapshot(200, 201)
  clock.advance(5)
  expect(data.replicas[2]?.top.bid?.price).toBe(100)
  data.stopReplicas()
})
