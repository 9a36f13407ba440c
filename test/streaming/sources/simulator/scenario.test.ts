/** What each scenario does to a simulated market, second by second. */
import { describe, expect, it } from 'vitest'
import { Book } from '../../../../src/streaming/market/book.ts'
import { ASK, BID, type MarketDefinition, type MarketEvent } from '../../../../src/streaming/market/event.ts'
import { SCENARIO_PHASES, SCENARIOS, type Scenario } from '../../../../src/streaming/sources/simulator/scenario.ts'
import { createSimulator } from '../../../../src/streaming/sources/simulator/simulator.ts'
import type { SourceMarket } from '../../../../src/streaming/sources/source.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

const RATE = 40
const SECOND = 1_000
const MARKET: MarketDefinition = {
  symbol: 'BTCUSD',
  baseAsset: 'BTC',
  quoteAsset: 'USD',
  priceDecimals: 2,
  amountDecimals: 8,
  depth: 1000,
}

function run(scenario?: Scenario, seed = 1) {
  const clock = new VirtualClock()
  /** With the second at which each arrived. */
  const events: { readonly second: number; readonly event: MarketEvent }[] = []
  const states: string[] = []
  const book = new Book()
  let isCrossed = false
  const market: SourceMarket = {
    market: MARKET,
    venueSymbol: '',
    listener: (event) => {
      events.push({ second: clock.monotonicMilliseconds() / SECOND, event })
      if (event.type === 'snapshot') book.replace(event.levels)
      if (event.type === 'update') book.apply(event.changes)
      if (book.isCrossed()) isCrossed = true
    },
    onInstrument: () => states.push(source.instrument(market)?.state ?? 'unknown'),
  }
  const options = { markets: [market], seed, updatesPerSecond: RATE, clock }
  const source = createSimulator(scenario === undefined ? options : { ...options, scenario })
  source.start()
  clock.advance(0)
  const between = (from: number, to: number, type: MarketEvent['type']) =>
    events.filter(({ second, event }) => second > from && second < to && event.type === type)
  return { clock, source, market, events, states, book, between, isCrossed: () => isCrossed }
}

const textOf = (event: MarketEvent | undefined) =>
  JSON.stringify(event, (key, value) => (key === 'executedAtMilliseconds' ? undefined : value))

describe('a scenario of the simulator', () => {
  it('the scenario none changes nothing', () => {
    const [without, withNone] = [run(), run('none')]
    for (const { clock } of [without, withNone]) clock.advance(60 * SECOND)
    expect(withNone.events.map(({ event }) => textOf(event))).toEqual(without.events.map(({ event }) => textOf(event)))
    expect(withNone.source.notices(withNone.market)).toEqual(['simulated: its prices are invented'])
  })

  it.each(SCENARIOS.filter((name) => name !== 'none'))(
    'the scenario %s is the same for the same seed, and has its name',
    (name) => {
      const [one, other] = [run(name), run(name)]
      for (const { clock } of [one, other]) clock.advance(25 * SECOND)
      expect(one.events.map(({ event }) => textOf(event))).toEqual(other.events.map(({ event }) => textOf(event)))
      expect(one.source.notices(one.market)).toContain(`scenario ${name}`)
    },
  )

  it('a scenario shows all its effects within a minute', () => {
    for (const name of SCENARIOS) {
      expect(SCENARIO_PHASES[name].reduce((sum, { seconds }) => sum + seconds, 0)).toBeLessThanOrEqual(60)
    }
  })

  it('a scenario of the simulator ends with its source', () => {
    const { clock, source, events } = run('outage')
    clock.advance(10 * SECOND)
    void source.stop()
    const { length } = events
    clock.advance(60 * SECOND)
    expect(events).toHaveLength(length)
  })
})

describe('the scenario halt', () => {
  it('the scenario halt halts after 15 s with the book kept, and reopens after an auction with trades at one price', () => {
    const { clock, source, market, events, states, between, book } = run('halt')
    expect(states).toEqual(['OPEN'])
    clock.advance(14.999 * SECOND)
    const traded = events.length
    expect(traded).toBeGreaterThan(300)
    const bids = book.bids.size
    clock.advance(1)
    expect(source.instrument(market)).toEqual({ state: 'HALTED', reason: 'halted by the scenario', simulated: true })
    clock.advance(15 * SECOND)
    expect(source.instrument(market)?.state).toBe('AUCTION')
    clock.advance(9.999 * SECOND)
    expect(events).toHaveLength(traded)
    expect(book.bids.size).toBe(bids)
    clock.advance(1)
    expect(states).toEqual(['OPEN', 'HALTED', 'AUCTION', 'OPEN'])
    const { event: opening } = events[traded] ?? {}
    const executions = opening?.type === 'update' ? opening.executions : []
    expect(executions.length).toBeGreaterThan(0)
    expect(new Set(executions.map(({ price }) => price)).size).toBe(1)
    clock.advance(15 * SECOND)
    expect(between(40, 55, 'update').length).toBeGreaterThan(300)
    expect(states.at(-1)).toBe('HALTED')
  })

  it('the scenario halt gives a snapshot that is requested during the halt, of the unchanged book', () => {
    const { clock, source, market, events, between } = run('halt')
    clock.advance(20 * SECOND)
    source.rebuild(market, 'test')
    clock.advance(1)
    expect(between(15, 30, 'snapshot')).toHaveLength(1)
    const { length } = events
    clock.advance(5 * SECOND)
    expect(events).toHaveLength(length)
  })
})

describe('the scenario outage', () => {
  it('the scenario outage loses the source after 20 s for 20 s, and comes back with a snapshot', () => {
    const { clock, source, market, states, between, events } = run('outage')
    clock.advance(39.999 * SECOND)
    expect(events.at(-1)).toEqual({ second: 20, event: { type: 'lost', reason: 'the source is lost by the scenario' } })
    source.rebuild(market, 'test')
    clock.advance(0)
    expect(events.at(-1)?.event.type).toBe('lost')
    const { length } = events
    clock.advance(1)
    expect(events[length]).toMatchObject({ second: 40, event: { type: 'snapshot' } })
    clock.advance(10 * SECOND)
    expect(between(40, 50, 'update').length).toBeGreaterThan(100)
    expect(states).toEqual(['OPEN'])
  })
})

describe('the scenario crossing', () => {
  it('the scenario crossing has a second venue whose bids cross for 10 s of every 20, in a book that is never crossed', () => {
    const { clock, isCrossed, book, between } = run('crossing')
    clock.advance(9.9 * SECOND)
    const amount = book.bids.amountAt(0)
    // Both venues have the same orders.
    expect(Number(amount) % 2).toBe(0)
    const levels = book.bids.size
    clock.advance(1 * SECOND)
    // Levels of the second venue that cross are not shown.
    expect(book.bids.size).not.toBe(levels)
    clock.advance(40 * SECOND)
    expect(between(0, 50, 'update').length).toBeGreaterThan(1000)
    expect(isCrossed()).toBe(false)
  })
})

describe('the scenario deep', () => {
  it('the scenario deep has a book of more than 44,000 levels, which change', () => {
    const { clock, book, events, isCrossed } = run('deep')
    const [first] = events
    const levels = first?.event.type === 'snapshot' ? first.event.levels : []
    expect(levels.length).toBeGreaterThan(44_000)
    expect(levels.length).toBeLessThanOrEqual(46_400)
    expect(new Set(levels.map(({ side, price }) => `${side} ${price}`)).size).toBe(levels.length)
    clock.advance(60 * SECOND)
    const far = events.flatMap(({ event }) => (event.type === 'update' ? event.changes : []))
    expect(far.filter(({ side, price }) => side === BID && price <= 4_500_000).length).toBeGreaterThan(100)
    expect(far.filter(({ side, price }) => side === ASK && price >= 7_500_000).length).toBeGreaterThan(100)
    expect(book.bids.size + book.asks.size).toBeGreaterThan(44_000)
    expect(isCrossed()).toBe(false)
  })
})

describe('the scenario storm', () => {
  it('the scenario storm has fifty times the updates for 5 s of every 20', () => {
    const { clock, between, isCrossed } = run('storm', 3)
    clock.advance(100 * SECOND)
    let [calm, storm] = [0, 0]
    for (let round = 0; round < 5; round++) {
      calm += between(round * 20, round * 20 + 15, 'update').length
      storm += between(round * 20 + 15, round * 20 + 20, 'update').length
    }
    const ratio = storm / 5 / (calm / 15)
    expect(ratio).toBeGreaterThan(15)
    expect(ratio).toBeLessThan(150)
    expect(isCrossed()).toBe(false)
  })
})
