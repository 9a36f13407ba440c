/** Markets from source to replica: which source feeds which market, who is asked for a snapshot, what stopping ends. */
import { describe, expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { ConfiguredMarket } from '../../../src/streaming/market/configured-market.ts'
import { ASK, BID, type Instrument, type MarketEvent } from '../../../src/streaming/market/event.ts'
import { changeMarkets } from '../../../src/streaming/markets/market-changes.ts'
import { MarketReplicas } from '../../../src/streaming/markets/market-replicas.ts'
import { MarketWriters } from '../../../src/streaming/markets/market-writers.ts'
import type { CreateSource } from '../../../src/streaming/markets/sources.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import type { SourceMarket } from '../../../src/streaming/sources/source.ts'
import { ManualSource } from '../../support/manual-source.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

function market(symbol: string, feed: 'simulator' | 'kraken', venueSymbol: string): ConfiguredMarket {
  const definition = { symbol, baseAsset: symbol, quoteAsset: '', priceDecimals: 2, amountDecimals: 2, depth: 10 }
  return {
    definition,
    sources: [{ feed, symbol: venueSymbol }],
    aggregation: { policy: 'recency' },
    feedGroup: 'default',
  }
}

const A = market('AUSD', 'kraken', 'A/USD')
const B = market('BUSD', 'simulator', '')
const C = market('CUSD', 'kraken', 'C/USD')
const D = market('DUSD', 'kraken', 'D/USD')

/** A day after the clock's beginning. */
const FLOOR = Date.UTC(2026, 0, 2)

function setUp(
  markets: readonly ConfiguredMarket[] = [A, B, C],
  wallMilliseconds?: number,
  floors = new Map([['CUSD', FLOOR]]),
) {
  const clock = new VirtualClock(wallMilliseconds)
  const registry = createMetricsRegistry()
  const made = new Map<string, ManualSource>()
  const createSource: CreateSource = (name, markets) => {
    const source = new ManualSource(markets)
    made.set(name, source)
    return source
  }
  const allowed = { simulated: false }
  const bus = createMemoryBus()
  const replicas = new MarketReplicas({ markets, bus, executionsKept: 10 })
  const writers = new MarketWriters({
    markets,
    bus,
    clock,
    log: createLog('silent'),
    metrics: createSequencerMetrics(registry),
    allowsSimulated: () => allowed.simulated,
    createSource,
  })
  const started = writers.start(floors)
  const kraken = made.get('kraken') as ManualSource
  const feed = kraken.markets.find(({ market: { symbol } }) => symbol === 'CUSD') as SourceMarket
  const snapshot = (bid: number, ask: number) =>
    feed.listener({
      type: 'snapshot',
      levels: [
        { side: BID, price: bid, amount: 1 },
        { side: ASK, price: ask, amount: 1 },
      ],
    })
  const symbols = () => replicas.all.map((replica) => replica.market.symbol)
  const change = (next: readonly ConfiguredMarket[]) => changeMarkets({ writers, replicas }, next)
  return { allowed, clock, registry, made, writers, replicas, change, started, kraken, snapshot, symbols }
}

it('the configured markets create one source per feed, with all of its markets', () => {
  const { made, kraken, replicas } = setUp()
  expect([...made.keys()]).toEqual(['kraken', 'simulator'])
  expect(kraken.markets.map(({ venueSymbol }) => venueSymbol)).toEqual(['A/USD', 'C/USD'])
  expect(replicas.all.map((replica) => replica.market.symbol)).toEqual(['AUSD', 'BUSD', 'CUSD'])
  expect(kraken.calls).toEqual(['start'])
})

it('the configured markets report which of them are simulated', () => {
  const { replicas } = setUp()
  expect(['AUSD', 'BUSD', 'CUSD', 'DUSD'].map((symbol) => replicas.isSimulated(symbol))).toEqual([
    false,
    true,
    false,
    false,
  ])
})

it('the configured markets have started when every source has sent a message', async () => {
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

it("a source's events are delivered to the replica of its market, and to no other", () => {
  const { clock, snapshot, replicas, writers } = setUp()
  expect([...writers.starting]).toEqual(['AUSD', 'BUSD', 'CUSD'])
  snapshot(100, 101)
  clock.advance(5)
  expect([...writers.starting]).toEqual(['AUSD', 'BUSD'])
  expect(replicas.all.map((replica) => replica.live)).toEqual([false, false, true])
  expect(replicas.all[2]?.top.bid?.price).toBe(100)
})

it("a market's commits are later than those before the start", () => {
  const { clock, snapshot, replicas } = setUp()
  snapshot(100, 101)
  clock.advance(5)
  expect(replicas.all[2]?.instant.milliseconds).toBe(FLOOR + 1)
})

it('a market begins an epoch greater than those before the floor, whatever the wall clock says', () => {
  // CUSD has a floor a day after the present, as if the wall clock had been set back by a day since the last run.
  const late = setUp()
  late.snapshot(100, 101)
  late.clock.advance(5)
  const epoch = late.replicas.all[2]?.epoch.id as string
  const before = setUp([C], FLOOR - 1_000, new Map())
  before.snapshot(100, 101)
  before.clock.advance(5)
  expect(epoch > (before.replicas.all[0]?.epoch.id as string)).toBe(true)
})

it("a market's source is asked for a snapshot when its book broke an invariant", () => {
  const { clock, kraken, snapshot } = setUp()
  snapshot(101, 100)
  clock.advance(5)
  expect(kraken.calls).toEqual(['start', 'rebuild CUSD'])
})

it('stopping ends sources and sequencers; the last book stays', async () => {
  const { clock, kraken, snapshot, replicas, writers } = setUp()
  snapshot(100, 101)
  clock.advance(5)
  await writers.stop()
  expect(kraken.calls).toEqual(['start', 'stop'])
  snapshot(200, 201)
  clock.advance(5)
  expect(replicas.all[2]?.top.bid?.price).toBe(100)
  replicas.stop()
})

it('stopping ends the sequencers with their last commits, however long a source takes to end', async () => {
  const { clock, kraken, snapshot, replicas, writers } = setUp()
  let end = (): void => undefined
  kraken.stop = () =>
    new Promise((resolve) => {
      end = resolve
    })
  snapshot(100, 101)
  const stopped = writers.stop()
  expect(replicas.all[2]?.top.bid?.price).toBe(100)
  snapshot(200, 201)
  clock.advance(5)
  expect(replicas.all[2]?.top.bid?.price).toBe(100)
  end()
  await stopped
  replicas.stop()
})

describe('a changed configuration', () => {
  it('a changed configuration adds and removes markets; the others are not touched', () => {
    const { kraken, symbols, made, snapshot, clock, replicas, change } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    const staying = replicas.all[2]
    const { added, removed } = change([D, C, B])
    expect(added.map((replica) => replica.market.symbol)).toEqual(['DUSD'])
    expect(removed).toEqual(['AUSD'])
    expect(symbols()).toEqual(['DUSD', 'CUSD', 'BUSD'])
    expect(replicas.all[1]).toBe(staying)
    expect(kraken.calls).toEqual(['start', 'remove AUSD', 'add DUSD'])
    expect(made.get('simulator')?.calls).toEqual(['start'])
  })

  it('a changed configuration that differs only in order changes nothing', () => {
    const { kraken, symbols, change } = setUp()
    expect(change([structuredClone(C), A, B])).toEqual({ added: [], removed: [], resourced: [] })
    expect(kraken.calls).toEqual(['start'])
    expect(symbols()).toEqual(['CUSD', 'AUSD', 'BUSD'])
  })

  it('a changed configuration removes a market with another definition and adds it again', () => {
    const { kraken, change } = setUp()
    const deeper = { ...A, definition: { ...A.definition, depth: 20 } }
    const { added, removed } = change([deeper, B, C])
    expect([added.map((replica) => replica.market.depth), removed]).toEqual([[20], ['AUSD']])
    expect(kraken.calls).toEqual(['start', 'remove AUSD', 'add AUSD'])
  })

  it('a changed source list keeps sequencer and replica: the market is stale until a new source has sent a snapshot', () => {
    const { clock, kraken, made, snapshot, replicas, writers, change } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    const replica = replicas.all[2]!
    const { epoch } = replica
    const elsewhere: ConfiguredMarket = { ...C, sources: [{ feed: 'okx', symbol: 'C-USD' }] }
    expect(change([A, B, elsewhere])).toEqual({ added: [], removed: [], resourced: ['CUSD'] })
    expect(replicas.all[2]).toBe(replica)
    expect(kraken.calls).toEqual(['start', 'remove CUSD'])
    expect([replica.live, replica.top.bid?.price]).toEqual([false, 100])
    // Events of the removed source are ignored.
    snapshot(200, 201)
    const okx = made.get('okx') as ManualSource
    okx.markets[0]?.listener({ type: 'snapshot', levels: [{ side: BID, price: 150, amount: 1 }] })
    clock.advance(5)
    expect([replica.live, replica.top.bid?.price, replica.epoch]).toEqual([true, 150, epoch])
    expect(writers.sourcesOf('CUSD')).toMatchObject([{ source: 'okx:C-USD', state: 'live' }])
  })

  it('a changed configuration starts a source with its first market, and stops it with its last', async () => {
    const { made, writers, change } = setUp()
    change([A, C])
    const first = made.get('simulator')
    expect(first?.calls).toEqual(['start', 'remove BUSD', 'stop'])
    change([A, B, C])
    expect(made.get('simulator')).not.toBe(first)
    expect(made.get('simulator')?.calls).toEqual(['start'])
    await writers.stop()
    expect(first?.calls).toHaveLength(3)
  })

  it('a changed configuration gives a market that is added again later commit times than it had', () => {
    const { clock, kraken, snapshot, change } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    change([A, B])
    snapshot(200, 201)
    clock.stepWall(-60_000)
    const [replica] = change([A, B, C]).added
    kraken.markets.at(-1)?.listener({ type: 'snapshot', levels: [{ side: BID, price: 7, amount: 1 }] })
    clock.advance(5)
    expect(replica?.top.bid?.price).toBe(7)
    expect(replica?.instant.milliseconds).toBe(FLOOR + 2)
  })

  it('a changed configuration keeps the commit time of a removed market for the next start', () => {
    const { clock, snapshot, change, writers } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    change([A])
    expect([...writers.commitTimes()]).toEqual([
      ['AUSD', 0],
      ['CUSD', FLOOR + 1],
    ])
    change([A, C])
    expect([...writers.commitTimes()]).toEqual([
      ['AUSD', 0],
      ['CUSD', 0],
    ])
  })

  it('a changed configuration removes the series of a removed market from the metrics', async () => {
    const { clock, registry, snapshot, change } = setUp()
    snapshot(100, 101)
    clock.advance(5)
    expect(await registry.metrics()).toContain('market="CUSD"')
    change([A])
    expect(await registry.metrics()).not.toContain('market="CUSD"')
    expect(await registry.metrics()).toContain('market="AUSD"')
  })

  it('a changed configuration does not let the start wait for a removed market, nor for an added one', async () => {
    const { made, started, writers, change } = setUp()
    for (const source of made.values()) source.markets[0]?.listener({ type: 'lost', reason: 'not there' })
    expect([...writers.starting]).toEqual(['CUSD'])
    change([A, B, D])
    await started
    expect(writers.starting.size).toBe(0)
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
    feedGroup: 'default',
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
    const replica = parts.replicas.all[0] as (typeof parts.replicas.all)[number]
    const top = () => [replica.top.bid?.price, replica.top.ask?.price]
    const states = () => parts.writers.sourcesOf('AUSD').map(({ source, state, reason }) => [source, state, reason])
    return { ...parts, kraken, okx, say, book, replica, top, states }
  }

  it('a market with several sources keeps the listener of a source that stays, which loses no execution', () => {
    const { kraken, okx, say, book, replica, top, states, change } = setUpBoth()
    say(kraken, book(100, 103))
    say(okx, book(99, 102))
    const [listener] = kraken.markets
    expect(change([A, C])).toMatchObject({ resourced: ['AUSD'] })
    expect([kraken.calls, okx.calls]).toEqual([
      ['start', 'rebuild AUSD'],
      ['start', 'remove AUSD', 'stop'],
    ])
    expect([kraken.markets[0], replica.live]).toEqual([listener, false])
    say(kraken, { type: 'update', changes: [], executions: [{ price: 100, amount: 1 }] })
    expect(replica.executions.lastNumber).toBe(1)
    say(kraken, book(98, 104))
    expect([...top(), replica.live]).toEqual([98, 104, true])
    expect(change([both, C])).toMatchObject({ resourced: ['AUSD'] })
    expect(states()).toEqual([
      ['kraken:A/USD', 'live', ''],
      ['okx:A-USD', 'starting', 'no message received yet'],
    ])
    say(kraken, book(97, 105))
    expect([...top(), replica.live]).toEqual([97, 105, true])
  })

  it("a market's book is proved by the weakest proof of its live sources", () => {
    const { kraken, okx, say, book, writers } = setUpBoth()
    kraken.proves = 'CHECKSUM'
    okx.proves = 'COMPARISON'
    expect(writers.proofOf('AUSD')).toBe('NONE')
    say(kraken, book(100, 103))
    expect(writers.proofOf('AUSD')).toBe('CHECKSUM')
    say(okx, book(99, 102))
    expect(writers.proofOf('AUSD')).toBe('COMPARISON')
    expect(writers.sourcesOf('AUSD').map(({ proof }) => proof)).toEqual(['CHECKSUM', 'COMPARISON'])
    say(okx, { type: 'lost', reason: 'gap' })
    expect(writers.proofOf('AUSD')).toBe('CHECKSUM')
    say(kraken, { type: 'lost', reason: 'gap' })
    expect(writers.proofOf('AUSD')).toBe('NONE')
  })

  it("a market with several sources names each level's sources, also while sources are removed, added and lost", () => {
    const { kraken, okx, say, book, replica, change } = setUpBoth()
    const view = replica.attributed.open(0, replica.version)
    const venues = () => view.levels().map((level) => replica.attributed.levelOf(level).venues)
    say(kraken, book(100, 103))
    say(okx, book(100, 102))
    const both102 = [[['okx', 1]], [['kraken', 1]]]
    expect(venues()).toEqual([
      [
        ['kraken', 1],
        ['okx', 1],
      ],
      ...both102,
    ])
    say(okx, { type: 'lost', reason: 'closed' })
    expect(venues()).toEqual([[['kraken', 1]], [['kraken', 1]]])
    say(okx, book(100, 102))
    expect(venues()).toEqual([
      [
        ['kraken', 1],
        ['okx', 1],
      ],
      ...both102,
    ])
    change([A, C])
    say(kraken, book(98, 104))
    expect(venues()).toEqual([[['kraken', 1]], [['kraken', 1]]])
    change([both, C])
    say(kraken, book(97, 105))
    expect(venues()).toEqual([[['kraken', 1]], [['kraken', 1]]])
  })

  it('a market with several sources is fed by each of them, as one book', () => {
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

  it('a market with several sources reports the state of each source, and since when', () => {
    const { clock, kraken, okx, say, book, states, writers } = setUpBoth()
    const silent = 'no message received yet'
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
    expect(writers.sourcesOf('AUSD')[1]).toMatchObject({ sinceMilliseconds: since, notices: ['suspended'] })
    expect(writers.sourcesOf('NOUSD')).toEqual([])
  })

  it('a market with several sources trades where any of them trades, and names the source of a halt', () => {
    const { kraken, okx, replica, replicas, clock } = setUpBoth()
    const report = (source: ManualSource, trading: Instrument | undefined) => {
      source.trading = trading
      source.markets[0]?.onInstrument?.()
      clock.advance(1)
      return replica.instrument
    }
    expect(replica.instrument).toBeUndefined()
    expect(report(okx, { state: 'CLOSED', reason: 'not listed' })).toEqual({
      state: 'CLOSED',
      reason: 'okx:A-USD: not listed',
    })
    expect(report(kraken, { state: 'HALTED', reason: 'cancel_only' })).toEqual({
      state: 'HALTED',
      reason: 'kraken:A/USD: cancel_only',
    })
    expect(report(okx, { state: 'AUCTION', reason: 'auction' })).toEqual({
      state: 'AUCTION',
      reason: 'okx:A-USD: auction',
    })
    expect(report(kraken, { state: 'OPEN', reason: '' })).toEqual({ state: 'OPEN', reason: '' })
    expect([replicas.isSimulated('AUSD'), replicas.isFromVenues('AUSD')]).toEqual([false, true])
    // A publisher may keep the reason of a halt that is over.
    expect(report(kraken, { state: 'HALTED', reason: 'volatility' })).toMatchObject({ state: 'AUCTION' })
    expect(report(kraken, { state: 'OPEN', reason: 'volatility' })).toEqual({ state: 'OPEN', reason: '' })
    const { version } = replica
    expect(report(okx, undefined)).toEqual({ state: 'OPEN', reason: '' })
    expect(report(okx, undefined)).toEqual({ state: 'OPEN', reason: '' })
    expect(replica.version).toBe(version)
    expect(report(kraken, undefined)).toBeUndefined()
  })

  it('a market with several sources has started with its first book, or when all of them have sent a message', () => {
    const first = setUpBoth()
    first.say(first.kraken, { type: 'lost', reason: 'not listed' })
    expect([...first.writers.starting]).toContain('AUSD')
    first.say(first.okx, { type: 'lost', reason: 'not listed' })
    expect([...first.writers.starting]).toEqual(['CUSD'])
    const second = setUpBoth()
    second.say(second.okx, second.book(1, 2))
    expect([...second.writers.starting]).toEqual(['CUSD'])
  })

  it('a market with several sources rejects a crossed source, counts it, and asks only that one for a snapshot', async () => {
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

  it('a market with several sources asks all of them when its sequencer starts over, and then publishes the whole book', () => {
    const { kraken, okx, say, book, top, writers } = setUpBoth()
    say(kraken, book(100, 103))
    say(okx, book(99, 102))
    writers.sequencerOf('AUSD')?.startOver('by the test')
    expect([kraken.calls, okx.calls]).toEqual([
      ['start', 'rebuild AUSD'],
      ['start', 'rebuild AUSD'],
    ])
    say(kraken, book(101, 103))
    expect(top()).toEqual([101, 102])
  })

  it('a market with several sources is added and removed with all of its sources', async () => {
    const { kraken, okx, made, writers, change } = setUpBoth()
    change([C])
    expect([kraken.calls, okx.calls]).toEqual([
      ['start', 'remove AUSD'],
      ['start', 'remove AUSD', 'stop'],
    ])
    change([both, C])
    expect(kraken.calls.at(-1)).toBe('add AUSD')
    expect(made.get('okx')).not.toBe(okx)
    change([{ ...both, sources: both.sources.slice(0, 1) }, C])
    expect(kraken.calls.slice(-2)).toEqual(['add AUSD', 'rebuild AUSD'])
    await writers.stop()
  })
})
