/**
 * Sources whose publisher invents its prices, which is known when it says so: their books are served only where a
 * configuration with the simulator would be accepted, and follow a reload of `simulator.allowed`.
 */
import { expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { ConfiguredMarket } from '../../../src/streaming/market/configured-market.ts'
import { ASK, BID, type Instrument, type MarketEvent } from '../../../src/streaming/market/event.ts'
import { changeMarkets } from '../../../src/streaming/markets/market-changes.ts'
import { MarketReplicas } from '../../../src/streaming/markets/market-replicas.ts'
import { MarketWriters } from '../../../src/streaming/markets/market-writers.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { captureLog } from '../../support/captured-log.ts'
import { ManualSource } from '../../support/manual-source.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const FORBIDDEN = 'relay:AUSD is simulated by its publisher: simulator.allowed must be true to serve it (it is false)'
const MIXED = 'relay:AUSD is simulated by its publisher: a simulated book must be its market’s only source'
const TRADING = { state: 'OPEN', reason: '' } as const
const SIMULATED = { ...TRADING, simulated: true } as const
const EXECUTED = { type: 'update', changes: [], executions: [{ price: 1, amount: 1 }] } as const

/** The market AUSD with these feeds. */
function marketOf(...feeds: readonly string[]): ConfiguredMarket {
  const definition = {
    symbol: 'AUSD',
    baseAsset: 'A',
    quoteAsset: 'USD',
    priceDecimals: 2,
    amountDecimals: 2,
    depth: 10,
  }
  const sources = feeds.map((feed) => ({ feed, symbol: 'AUSD' }))
  return { definition, sources, aggregation: { policy: 'recency' }, feedGroup: 'default' }
}

function setUp(market: ConfiguredMarket, simulatorAllowed: boolean) {
  const clock = new VirtualClock()
  const { log, lines } = captureLog()
  const allowed = { simulator: simulatorAllowed }
  const sources = new Map<string, ManualSource>()
  const bus = createMemoryBus()
  let misses = 0
  bus.subscribe('AUSD', (notice) => {
    if (notice.type === 'commit' && notice.missedAt !== undefined) misses++
  })
  const replicas = new MarketReplicas({ markets: [market], bus, executionsKept: 10 })
  const writers = new MarketWriters({
    markets: [market],
    bus,
    clock,
    log,
    metrics: createSequencerMetrics(createMetricsRegistry()),
    allowsSimulated: () => allowed.simulator,
    createSource: (name, markets) => {
      const source = new ManualSource(markets)
      sources.set(name, source)
      return source
    },
  })
  void writers.start(new Map())
  const replica = replicas.all[0]!
  const say = (name: string, event: MarketEvent, trading: Instrument = TRADING) => {
    const source = sources.get(name) as ManualSource
    const isChanged = source.trading !== trading
    source.trading = trading
    source.markets[0]?.listener(event)
    if (isChanged) source.markets[0]?.onInstrument?.()
    clock.advance(5)
  }
  return {
    say,
    replica,
    replicas,
    writers,
    allowed,
    lines,
    misses: () => misses,
    calls: (name: string) => sources.get(name)?.calls,
    top: () => [replica.top.bid?.price, replica.top.ask?.price],
    states: () => writers.sourcesOf('AUSD').map(({ source, state, reason }) => [source, state, reason]),
    change: (next: ConfiguredMarket) => {
      changeMarkets({ writers, replicas }, [next])
      clock.advance(5)
    },
    reload: (isAllowed: boolean) => {
      allowed.simulator = isAllowed
      writers.followAllowed()
      clock.advance(5)
    },
  }
}

function book(bid: number, ask: number): MarketEvent {
  const levels = [
    { side: BID, price: bid, amount: 1 },
    { side: ASK, price: ask, amount: 1 },
  ] as const
  return { type: 'snapshot', levels }
}

it('a simulated source is lost from its first message on unless the simulator is allowed, with one log line', () => {
  const { say, replica, writers, states, lines } = setUp(marketOf('relay'), false)
  say('relay', book(10, 11), SIMULATED)
  say('relay', EXECUTED, SIMULATED)
  say('relay', book(10, 12), SIMULATED)
  expect([replica.live, replica.reason, replica.executions.lastNumber]).toEqual([false, FORBIDDEN, 0])
  expect(states()).toEqual([['relay:AUSD', 'lost', FORBIDDEN]])
  expect([...writers.starting]).toEqual([])
  expect(lines.filter((line) => JSON.stringify(line).includes('source refused'))).toHaveLength(1)
})

it('a simulated source is lost when a reload forbids the simulator, and returns with a snapshot when one allows it', () => {
  const { say, replica, replicas, reload, calls, top, misses, states } = setUp(marketOf('relay'), true)
  say('relay', book(10, 11), SIMULATED)
  expect([replica.live, ...top(), replicas.isSimulated('AUSD')]).toEqual([true, 10, 11, true])
  reload(false)
  expect([replica.live, replica.reason]).toEqual([false, FORBIDDEN])
  say(
    'relay',
    { type: 'update', changes: [{ side: BID, price: 9, amount: 1 }], executions: EXECUTED.executions },
    SIMULATED,
  )
  say('relay', { type: 'lost', reason: 'cut' }, SIMULATED)
  expect(states()).toEqual([['relay:AUSD', 'lost', FORBIDDEN]])
  expect(calls('relay')).toEqual(['start'])
  reload(true)
  expect(calls('relay')).toEqual(['start', 'rebuild AUSD'])
  say('relay', EXECUTED, SIMULATED)
  expect([replica.live, replica.executions.lastNumber, misses()]).toEqual([false, 0, 0])
  say('relay', book(12, 13), SIMULATED)
  expect([replica.live, ...top()]).toEqual([true, 12, 13])
  say('relay', EXECUTED, SIMULATED)
  // The miss has a number too.
  expect([replica.executions.lastNumber, misses()]).toEqual([2, 1])
})

it('a simulated source contributes nothing to the book and the executions of a market with other sources', () => {
  const { say, replica, replicas, top, states, misses } = setUp(marketOf('kraken', 'relay'), true)
  say('kraken', book(10, 20))
  say('relay', book(14, 15), SIMULATED)
  say('relay', EXECUTED, SIMULATED)
  expect([replica.live, ...top(), replica.executions.lastNumber]).toEqual([true, 10, 20, 0])
  expect(states()).toEqual([
    ['kraken:AUSD', 'live', ''],
    ['relay:AUSD', 'lost', MIXED],
  ])
  expect([replicas.isSimulated('AUSD'), replica.instrument]).toEqual([false, TRADING])
  say('kraken', { type: 'lost', reason: 'cut' })
  expect(replica.live).toBe(false)
  // It is an engine with real prices now.
  say('relay', book(14, 16), TRADING)
  expect([replica.live, ...top(), misses()]).toEqual([true, 14, 16, 1])
})

it('a simulated source leaves the book when it is declared later, or another source is added, and returns alone', () => {
  const { say, replica, top, states, change, calls } = setUp(marketOf('kraken', 'relay'), true)
  say('kraken', book(10, 20))
  say('relay', book(14, 15))
  expect(top()).toEqual([14, 15])
  // With the message itself, not after it.
  say('relay', { type: 'update', changes: [{ side: BID, price: 1450, amount: 1 }], executions: [] }, SIMULATED)
  expect([...top(), replica.live]).toEqual([10, 20, true])
  change(marketOf('relay'))
  expect(calls('relay')).toEqual(['start', 'rebuild AUSD'])
  say('relay', book(14, 15), SIMULATED)
  expect([...top(), replica.live, replica.instrument?.simulated]).toEqual([14, 15, true, true])
  change(marketOf('relay', 'kraken'))
  say('relay', book(14, 15), SIMULATED)
  expect([replica.live, replica.reason]).toEqual([false, expect.stringContaining(MIXED)])
  say('kraken', book(10, 20))
  expect([...top(), replica.live]).toEqual([10, 20, true])
  expect(states()).toEqual([
    ['relay:AUSD', 'lost', MIXED],
    ['kraken:AUSD', 'live', ''],
  ])
})

it('a simulated source needs the permission as a recording too, which keeps its recorded reason', () => {
  const halted = { state: 'HALTED', reason: 'kraken:A/USD: maintenance', simulated: true } as const
  const { say, replica, reload } = setUp(marketOf('replay'), false)
  say('replay', book(10, 20), halted)
  expect(replica.live).toBe(false)
  reload(true)
  say('replay', book(10, 20), halted)
  expect([replica.live, replica.instrument]).toEqual([true, halted])
})
