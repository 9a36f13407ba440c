/** The inputs of conversion prices in the running service: settings, and books from the source to the price. */
import { expect, it } from 'vitest'
import { LEVELS_MAX } from '../../../../src/money/orchestrations/pricing/context.ts'
import { pairsWithoutPeg, pegStates } from '../../../../src/money/orchestrations/pricing/pegs.ts'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import { pricingContext } from '../../../../src/service/parts/money/pricing-context.ts'
import { ASK, BID, type LevelChange, type MarketEvent } from '../../../../src/streaming/market/event.ts'
import { changeMarkets } from '../../../../src/streaming/markets/market-changes.ts'
import { MarketReplicas } from '../../../../src/streaming/markets/market-replicas.ts'
import { MarketWriters } from '../../../../src/streaming/markets/market-writers.ts'
import type { CreateSource } from '../../../../src/streaming/markets/sources.ts'
import { createMemoryBus } from '../../../../src/streaming/sequencing/bus-memory.ts'
import { createSequencerMetrics } from '../../../../src/streaming/sequencing/sequencer-metrics.ts'
import type { SourceMarket } from '../../../../src/streaming/sources/source.ts'
import { configOf } from '../../../support/rest.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

const MARKETS = JSON.stringify([
  {
    symbol: 'USDCUSD',
    base_asset: 'USDC',
    quote_asset: 'USD',
    price_decimals: 4,
    amount_decimals: 2,
    depth: 500,
    sources: ['kraken:USDC/USD'],
  },
  {
    symbol: 'BTCUSD',
    base_asset: 'BTC',
    quote_asset: 'USD',
    price_decimals: 2,
    amount_decimals: 8,
    depth: 500,
    sources: ['replay:recording.jsonl'],
  },
])

function setUp(flags: Readonly<Record<string, string>> = {}) {
  const config = configOf({ markets: MARKETS, ...flags })
  const clock = new VirtualClock()
  const fed = new Map<string, SourceMarket>()
  const createSource: CreateSource = (name, markets) => {
    for (const market of markets) fed.set(`${name}:${market.venueSymbol}`, market)
    const nothing = () => undefined
    const stop = () => Promise.resolve()
    return {
      add: nothing,
      remove: nothing,
      instrument: nothing,
      proof: () => 'SEQUENCE',
      notices: () => [],
      start: nothing,
      stop,
      rebuild: nothing,
    }
  }
  const { markets } = config
  const bus = createMemoryBus()
  const replicas = new MarketReplicas({ markets, bus, executionsKept: 10 })
  const writers = new MarketWriters({
    markets,
    bus,
    clock,
    log: createLog('silent'),
    metrics: createSequencerMetrics(createMetricsRegistry()),
    allowsSimulated: () => false,
    createSource,
  })
  void writers.start(new Map())
  const say = (source: string, event: MarketEvent) => fed.get(source)?.listener(event)
  const context = pricingContext({ config, clock, replicas, want: () => undefined })
  return { clock, context, say, config, markets: { writers, replicas } }
}

const USDC = 'kraken:USDC/USD'
const bid = (price: number, amount: number): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number): LevelChange => ({ side: ASK, price, amount })

it('the pricing context reads the settings in units of the assets', () => {
  const { context } = setUp({ 'conversion.notional_max': '{USD: "1000.5"}', 'conversion.desk_limits': '{BTC: 2}' })
  expect(context.settings).toEqual({
    pegBpsMax: 50,
    slippageBpsMax: 100,
    depthSeconds: 10,
    bookAgeSecondsMax: 5,
    notionalMax: new Map([['USD', 100_050n]]),
    deskLimits: new Map([['BTC', 200_000_000n]]),
  })
})

it('the pricing context reads the current book: levels, version, times and sources', () => {
  const { clock, context, say } = setUp()
  expect(context.bookOf('USDCUSD')).toMatchObject({ isLive: false, bids: [], asks: [] })
  say(USDC, { type: 'snapshot', levels: [bid(9_999, 100), ask(10_001, 250), bid(9_998, 1)] })
  clock.advance(100)
  expect(context.bookOf('USDCUSD')).toEqual({
    cursor: expect.stringMatching(/^[\w-]{8}\.1$/),
    time: '2026-01-01T00:00:00.000Z',
    ageMilliseconds: 100,
    isLive: true,
    isSimulated: false,
    bids: [
      { price: 9_999n, amount: 10n ** 18n },
      { price: 9_998n, amount: 10n ** 16n },
    ],
    asks: [{ price: 10_001n, amount: 25n * 10n ** 17n }],
  })
  say(USDC, { type: 'update', changes: [bid(9_999, 0)], executions: [] })
  clock.advance(10)
  const second = { cursor: expect.stringMatching(/^[\w-]{8}\.2$/), time: '2026-01-01T00:00:00.100Z' }
  expect(context.bookOf('USDCUSD')).toMatchObject({ ...second, ageMilliseconds: 10, bids: [{ price: 9_998n }] })
  // A commit that changes nothing of the book is not the book's: its cursor and time stay.
  say(USDC, { type: 'update', changes: [], executions: [{ price: 9_998, amount: 1 }] })
  clock.advance(5)
  expect(context.bookOf('USDCUSD')).toMatchObject({ ...second, ageMilliseconds: 5 })
  say(USDC, { type: 'lost', reason: 'disconnected' })
  clock.advance(10)
  expect(context.bookOf('USDCUSD')).toMatchObject({ isLive: false })
  expect(context.bookOf('BTCUSD')).toMatchObject({ isSimulated: true })
  expect(context.bookOf('ETHUSD')).toBeUndefined()
})

it('the pricing context has no book of a market whose decimals were changed meanwhile', () => {
  const { clock, context, say, config, markets } = setUp()
  say(USDC, { type: 'snapshot', levels: [bid(9_999, 100), ask(10_001, 250)] })
  clock.advance(10)
  const changed = config.markets.map((market) => ({
    ...market,
    definition: { ...market.definition, priceDecimals: 5 },
  }))
  changeMarkets(markets, changed)
  say(USDC, { type: 'snapshot', levels: [bid(99_990, 100), ask(100_010, 250)] })
  clock.advance(10)
  expect(context.bookOf('USDCUSD')).toBeUndefined()
})

it('the pricing context ages with a book that does not change, also when the wall clock steps back', () => {
  const { clock, context, say } = setUp()
  say(USDC, { type: 'snapshot', levels: [bid(9_999, 100), ask(10_001, 250)] })
  clock.advance(5_001)
  expect(context.bookOf('USDCUSD')?.ageMilliseconds).toBe(5_001)
  clock.stepWall(-3_600_000)
  expect(context.bookOf('USDCUSD')?.ageMilliseconds).toBe(5_001 - 3_600_000)
})

it('the pricing context returns no more levels than the evidence of a price may contain', () => {
  const { clock, context, say } = setUp()
  const levels = Array.from({ length: LEVELS_MAX + 50 }, (_, rank) => [bid(9_000 - rank, 1), ask(10_001 + rank, 1)])
  say(USDC, { type: 'snapshot', levels: levels.flat() })
  clock.advance(10)
  const book = context.bookOf('USDCUSD')
  expect([book?.bids.length, book?.asks.length]).toEqual([LEVELS_MAX, LEVELS_MAX])
  expect(book?.bids[0]?.price).toBe(9_000n)
})

it('the pricing context knows which pegs hold, and which are not monitored', () => {
  const { clock, context, say } = setUp({ 'conversion.par_assets': '[USD, USDC, USDG, XXX]' })
  expect(pairsWithoutPeg(context)).toEqual(['USD/USDG', 'USDC/USDG'])
  expect(pegStates(context)).toEqual([{ market: 'USDCUSD', holds: false }])
  say(USDC, { type: 'snapshot', levels: [bid(9_990, 100), ask(9_992, 250)] })
  clock.advance(10)
  expect(pegStates(context)).toEqual([{ market: 'USDCUSD', holds: true }])
  say(USDC, { type: 'snapshot', levels: [bid(9_700, 100), ask(9_702, 250)] })
  clock.advance(10)
  expect(pegStates(context)).toEqual([{ market: 'USDCUSD', holds: false }])
})
