/** Markets from a source to a replica: who is fed by whom, who asks whom to rebuild, what stopping ends. */
import { describe, expect, it } from 'vitest'
import { type CreateSource, MarketData } from '../../src/app/market-data.ts'
import { createLog } from '../../src/base/log.ts'
import { createMetricsRegistry } from '../../src/base/metrics.ts'
import { createMemoryBus } from '../../src/channel/bus-memory.ts'
import { createSequencerMetrics } from '../../src/channel/sequencer.ts'
import type { ConfiguredMarket } from '../../src/config/markets.ts'
import type { Source, SourceMarket } from '../../src/feed/source.ts'
import { ASK, BID, type Instrument, type MarketEvent } from '../../src/market/event.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

class ManualSource implements Source {
  readonly calls: string[] = []
  readonly markets: SourceMarket[]
  notes: readonly string[] = []
  trading: Instrument | undefined
  constructor(markets: readonly SourceMarket[]) {
    this.markets = [...markets]
  }
  add(market: SourceMarket): void {
    this.calls.push(`add ${market.market.symbol}`)
    this.markets.push(market)
  }
  remove({ market }: SourceMarket): void {
    this.calls.push(`remove ${market.symbol}`)
  }
  instrument(): Instrument | undefined {
    return this.trading
  }
  notices(): readonly string[] {
    return this.notes
  }
  start(): void {
    this.calls.push('start')
  }
  stop(): Promise<void> {
    this.calls.push('stop')
    return Promise.resolve()
  }
  rebuild({ market }: SourceMarket): void {
    this.calls.push(`rebuild ${market.symbol}`)
  }
}

function market(symbol: string, feed: 'simulator' | 'kraken', venueSymbol: string): ConfiguredMarket {
  const definition = { symbol, baseAsset: symbol, quoteAsset: '', priceDecimals: 2, amountDecimals: 2, depth: 10 }
  return { definition, sources: [{ feed, symbol: venueSymbol }], aggregation: { policy: 'recency' } }
}

const A = market('AUSD', 'kraken', 'A/USD')
const B = market('BUSD', 'simulator', '')
const C = market('CUSD', 'kraken', 'C/USD')
const D = market('DUSD', 'kraken', 'D/USD')

/** A day after the clock's beginning. */
const FLOOR = Date.UTC(2026, 0, 2)

function setUp(markets: readonly ConfiguredMarket[] = [A, B, C]) {
  const clock = new VirtualClock()
  const registry = createMetricsRegistry()
  const made = new Map<string, ManualSource>()
  const createSource: CreateSource = (name, markets) => {
    const source = new ManualSource(markets)
    made.set(name, source)
    return source
  }
  const data = new MarketData({
    markets,
    executionsKept: 10,
    bus: createMemoryBus(),
    clock,
    log: createLog('silent'),
    metrics: createSequencerMetrics(registry),
    createSource,
  })
  const started = data.start(new Map([['CUSD', FLOOR]]))
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
  const symbols = () => data.replicas.map((replica) => replica.market.symbol)
  return { clock, registry, made, data, started, kraken, snapshot, symbols }
}

it('makes one source a venue, with all of its markets', () => {
  const { made, kraken, data } = setUp()
  expect([...made.keys()]).toEqual(['kraken', 'simulator'])
  expect(kraken.markets.map(({ venueSymbol }) => venueSymbol)).toEqual(['A/USD', 'C/USD'])
  expect(data.replicas.map((replica) => replica.market.symbol)).toEqual(['AUSD', 'BUSD', 'CUSD'])
  expect(kraken.calls).toEqual(['start'])
})

it('knows which of its markets are simulated', () => {
  const { data } = setUp()
  expect(['AUSD', 'BUSD', 'CUSD', 'DUSD'].map((symbol) => data.isSimulated(symbol))).toEqual([
    false,
    true,
    false,
    false,
  ])
})

it('has started when every market has heard something from its source', async () => {
  const { made, started: start } = setUp()
  let started = false
  void start.then(() => {
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

it('commits later than what was committed before the start', () => {
  const { clock, data, snapshot } = setUp()
  snapshot(100, 101)
  clock.advance(5)
  expect(data.replicas[2]?.instant.milliseconds).toBe(FLOOR + 1)
})

it('asks the source of a market to rebuild a book that broke an invariant', () => {
  const { clock, kraken, snapshot } = setUp()
  snapshot(101, 100)
  clock.advance(5)
  expect(kraken.calls).toEqual(['start', 'rebuild CUSD'])
})

it('stops sources and writers; the last book stays', async () => {
  const { clock, data, kraken, snapshot } = setUp()
  snapshot(100, 101)
  clock.advance(5)
  await data.stopSources()
  expect(kraken.calls).toEqual(['start', 'stop'])
  snapshot(200, 201)
  clock.advance(5)
  expect(data.replicas[2]?.top.bid?.price).toBe(100)
  data.stopReplicas()
})

describe('a changed configuration', () => {
  it('lets markets come and go; those that stay are not touched', () => {
    const { data, kraken, symbols, made, snapshot, clock } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    const staying = data.replicas[2]
    const { added, removed } = data.change([D, C, B])
    expect(added.map((replica) => replica.market.symbol)).toEqual(['DUSD'])
    expect(removed).toEqual(['AUSD'])
    expect(symbols()).toEqual(['DUSD', 'CUSD', 'BUSD'])
    expect(data.replicas[1]).toBe(staying)
    expect(kraken.calls).toEqual(['start', 'remove AUSD', 'add DUSD'])
    expect(made.get('simulator')?.calls).toEqual(['start'])
  })

  it('that is the same changes nothing, whatever its order', () => {
    const { data, kraken, symbols } = setUp()
    expect(data.change([structuredClone(C), A, B])).toEqual({ added: [], removed: [], refed: [] })
    expect(kraken.calls).toEqual(['start'])
    expect(symbols()).toEqual(['CUSD', 'AUSD', 'BUSD'])
  })

  it('takes a market that differs away and brings it anew', () => {
    const { data, kraken } = setUp()
    const deeper = { ...A, definition: { ...A.definition, depth: 20 } }
    const { added, removed } = data.change([deeper, B, C])
    expect([added.map((replica) => replica.market.depth), removed]).toEqual([[20], ['AUSD']])
    expect(kraken.calls).toEqual(['start', 'remove AUSD', 'add AUSD'])
  })

  it('of sources alone keeps writer and reader: the book is not trusted until one of them has given another', () => {
    const { clock, data, kraken, made, snapshot } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    const replica = data.replicas[2]!
    const { epoch } = replica
    const elsewhere: ConfiguredMarket = { ...C, sources: [{ feed: 'okx', symbol: 'C-USD' }] }
    expect(data.change([A, B, elsewhere])).toEqual({ added: [], removed: [], refed: ['CUSD'] })
    expect(data.replicas[2]).toBe(replica)
    expect(kraken.calls).toEqual(['start', 'remove CUSD'])
    expect([replica.live, replica.top.bid?.price]).toEqual([false, 100])
    // What the source of before still says is not taken.
    snapshot(200, 201)
    const okx = made.get('okx') as ManualSource
    okx.markets[0]?.listener({ type: 'snapshot', levels: [{ side: BID, price: 150, amount: 1 }] })
    clock.advance(5)
    expect([replica.live, replica.top.bid?.price, replica.epoch]).toEqual([true, 150, epoch])
    expect(data.sourcesOf('CUSD')).toMatchObject([{ source: 'okx:C-USD', state: 'live' }])
  })

  it('begins a source with its first market, and ends it with its last', async () => {
    const { data, made } = setUp()
    data.change([A, C])
    const first = made.get('simulator')
    expect(first?.calls).toEqual(['start', 'remove BUSD', 'stop'])
    data.change([A, B, C])
    expect(made.get('simulator')).not.toBe(first)
    expect(made.get('simulator')?.calls).toEqual(['start'])
    await data.stopSources()
    expect(first?.calls).toHaveLength(3)
  })

  it('leads a market that came to its reader, which goes on later than it was when it went', () => {
    const { clock, data, kraken, snapshot } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    data.change([A, B])
    snapshot(200, 201)
    clock.stepWall(-60_000)
    const [replica] = data.change([A, B, C]).added
    kraken.markets.at(-1)?.listener({ type: 'snapshot', levels: [{ side: BID, price: 7, amount: 1 }] })
    clock.advance(5)
    expect(replica?.top.bid?.price).toBe(7)
    expect(replica?.instant.milliseconds).toBe(FLOOR + 2)
  })

  it('keeps the time of a market that has gone, for the next start', () => {
    const { clock, data, snapshot } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    data.change([A])
    expect([...data.commitTimes()]).toEqual([
      ['AUSD', 0],
      ['CUSD', FLOOR + 1],
    ])
    data.change([A, C])
    expect([...data.commitTimes()]).toEqual([
      ['AUSD', 0],
      ['CUSD', 0],
    ])
  })

  it('takes the numbers of a market that has gone out of the metrics', async () => {
    const { clock, data, registry, snapshot } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    expect(await registry.metrics()).toContain('market="CUSD"')
    data.change([A])
    expect(await registry.metrics()).not.toContain('market="CUSD"')
    expect(await registry.metrics()).toContain('market="AUSD"')
  })

  it('does not let a start wait for a market that has gone, nor for one that came', async () => {
    const { data, made, started } = setUp()
    for (const source of made.values()) source.markets[0]?.listener({ type: 'lost', reason: 'not there' })
    expect([...data.starting]).toEqual(['CUSD'])
    data.change([A, B, D])
    await started
    expect(data.starting.size).toBe(0)
  })
})

describe('a market with several sources', () => {
  const definition = A.definition
  const both: ConfiguredMarket = {
    definition,
    sources: [
      { feed: 'kraken', symbol: 'A/USD' },
      { feed: 'okx', symbol: 'A-USD' },
    ],
    aggregation: { policy: 'recency' },
  }

  function setUpBoth() {
    const parts = setUp([both, C])
    const [kraken, okx] = ['kraken', 'okx'].map((venue) => parts.made.get(venue) as ManualSource) as [
      ManualSource,
      ManualSource,
    ]
    const say = (source: ManualSource, event: MarketEvent) => {
      source.markets[0]?.listener(event)
      parts.clock.advance(5)
    }
    const book = (bid: number, ask: number): MarketEvent => ({
      type: 'snapshot',
      levels: [
        { side: BID, price: bid, amount: 1 },
        { side: ASK, price: ask, amount: 1 },
      ],
    })
    const replica = parts.data.replicas[0] as (typeof parts.data.replicas)[number]
    const top = () => [replica.top.bid?.price, replica.top.ask?.price]
    const states = () => parts.data.sourcesOf('AUSD').map(({ source, state, reason }) => [source, state, reason])
    return { ...parts, kraken, okx, say, book, replica, top, states }
  }

  it('keeps the listener of a source that stays, which goes on with its executions', () => {
    const { kraken, okx, say, book, data, replica, top, states } = setUpBoth()
    say(kraken, book(100, 103))
    say(okx, book(99, 102))
    const [listener] = kraken.markets
    expect(data.change([A, C])).toMatchObject({ refed: ['AUSD'] })
    expect([kraken.calls, okx.calls]).toEqual([
      ['start', 'rebuild AUSD'],
      ['start', 'remove AUSD', 'stop'],
    ])
    expect([kraken.markets[0], replica.live]).toEqual([listener, false])
    say(kraken, { type: 'update', changes: [], executions: [{ price: 100, amount: 1 }] })
    expect(replica.executions.lastNumber).toBe(1)
    say(kraken, book(98, 104))
    expect([...top(), replica.live]).toEqual([98, 104, true])
    expect(data.change([both, C])).toMatchObject({ refed: ['AUSD'] })
    expect(states()).toEqual([
      ['kraken:A/USD', 'live', ''],
      ['okx:A-USD', 'starting', 'it has said nothing yet'],
    ])
    say(kraken, book(97, 105))
    expect([...top(), replica.live]).toEqual([97, 105, true])
  })

  it('is fed by each of them, as one book', () => {
    const { kraken, okx, say, book, top, replica } = setUpBoth()
    expect(kraken.markets.map(({ venueSymbol }) => venueSymbol)).toEqual(['A/USD', 'C/USD'])
    expect(okx.markets.map(({ venueSymbol }) => venueSymbol)).toEqual(['A-USD'])
    say(kraken, book(100, 103))
    say(okx, book(99, 102))
    expect(top()).toEqual([100, 102])
    say(kraken, { type: 'lost', reason: 'gap' })
    expect([...top(), replica.live]).toEqual([99, 102, true])
    say(okx, { type: 'lost', reason: 'cut' })
    expect([...top(), replica.live, replica.reason]).toEqual([99, 102, false, 'okx:A-USD: cut'])
    say(kraken, book(50, 51))
    expect([...top(), replica.live]).toEqual([50, 51, true])
  })

  it('knows each of its sources, and since when it is so', () => {
    const { clock, kraken, okx, say, book, states, data } = setUpBoth()
    const silent = 'it has said nothing yet'
    expect(states()).toEqual([
      ['kraken:A/USD', 'starting', silent],
      ['okx:A-USD', 'starting', silent],
    ])
    say(kraken, book(100, 101))
    clock.advance(1_000)
    const since = clock.wallInstant().milliseconds
    say(okx, { type: 'lost', reason: 'not listed' })
    clock.advance(1_000)
    say(okx, { type: 'lost', reason: 'still not listed' })
    okx.notes = ['suspended']
    expect(states()).toEqual([
      ['kraken:A/USD', 'live', ''],
      ['okx:A-USD', 'lost', 'still not listed'],
    ])
    expect(data.sourcesOf('AUSD')[1]).toMatchObject({ sinceMilliseconds: since, notices: ['suspended'] })
    expect(data.sourcesOf('NOUSD')).toEqual([])
  })

  it('trades where any of them trades, and names the source that says why it does not as usual', () => {
    const { kraken, okx, data } = setUpBoth()
    const instrument = () => data.instrumentOf('AUSD')
    expect(instrument()).toBeUndefined()
    okx.trading = { state: 'CLOSED', reason: 'not listed' }
    expect(instrument()).toEqual({ state: 'CLOSED', reason: 'okx:A-USD: not listed' })
    kraken.trading = { state: 'HALTED', reason: 'cancel_only' }
    expect(instrument()).toEqual({ state: 'HALTED', reason: 'kraken:A/USD: cancel_only' })
    okx.trading = { state: 'AUCTION', reason: 'auction' }
    expect(instrument()).toEqual({ state: 'AUCTION', reason: 'okx:A-USD: auction' })
    kraken.trading = { state: 'OPEN', reason: '' }
    expect(instrument()).toEqual({ state: 'OPEN', reason: '' })
    expect(data.instrumentOf('NOUSD')).toBeUndefined()
  })

  it('has started with its first book, or when all of them have spoken', () => {
    const first = setUpBoth()
    first.say(first.kraken, { type: 'lost', reason: 'not listed' })
    expect([...first.data.starting]).toContain('AUSD')
    first.say(first.okx, { type: 'lost', reason: 'not listed' })
    expect([...first.data.starting]).toEqual(['CUSD'])
    const second = setUpBoth()
    second.say(second.okx, second.book(1, 2))
    expect([...second.data.starting]).toEqual(['CUSD'])
  })

  it('throws out a source whose book is crossed, counts it, and asks that one alone to begin anew', async () => {
    const { kraken, okx, say, book, top, states, registry } = setUpBoth()
    say(kraken, book(100, 103))
    say(okx, book(99, 98))
    expect(top()).toEqual([100, 103])
    expect(states()[1]).toEqual(['okx:A-USD', 'lost', 'the book is crossed'])
    expect([kraken.calls, okx.calls]).toEqual([['start'], ['start', 'rebuild AUSD']])
    expect(await registry.metrics()).toContain('tidegate_invariant_violations_total{market="AUSD"} 1')
    say(okx, book(99, 102))
    expect(top()).toEqual([100, 102])
  })

  it('asks all of them when its writer starts over, and gives it the whole book with the next word', () => {
    const { data, kraken, okx, say, book, top } = setUpBoth()
    say(kraken, book(100, 103))
    say(okx, book(99, 102))
    data.written[0]?.sequencer.startOver('the test says so')
    expect([kraken.calls, okx.calls]).toEqual([
      ['start', 'rebuild AUSD'],
      ['start', 'rebuild AUSD'],
    ])
    say(kraken, book(101, 103))
    expect(top()).toEqual([101, 102])
  })

  it('comes and goes with all of its sources', async () => {
    const { data, kraken, okx, made } = setUpBoth()
    data.change([C])
    expect([kraken.calls, okx.calls]).toEqual([
      ['start', 'remove AUSD'],
      ['start', 'remove AUSD', 'stop'],
    ])
    data.change([both, C])
    expect(kraken.calls.at(-1)).toBe('add AUSD')
    expect(made.get('okx')).not.toBe(okx)
    data.change([{ ...both, sources: both.sources.slice(0, 1) }, C])
    expect(kraken.calls.slice(-2)).toEqual(['add AUSD', 'rebuild AUSD'])
    await data.stopSources()
  })
})
