/** What a new leader knows about the executions of each source that its predecessor passed on. */
import { describe, expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { MarketSource } from '../../../src/streaming/market/configured-market.ts'
import type { Execution } from '../../../src/streaming/market/event.ts'
import { MarketWriters } from '../../../src/streaming/markets/market-writers.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import type { SourceMarket } from '../../../src/streaming/sources/source.ts'
import { ManualSource } from '../../support/manual-source.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const MARKET = testMarket('AAAUSD', 5)
const START = Date.UTC(2026, 4, 3, 12)
const RELAYED = 'AAA'

/**
 * Two leaders after one another, in one process. A source continues after executions that it is given. A relay continues
 * after its position.
 */
class Leaders {
  readonly #bus = createMemoryBus()
  readonly #clock = new VirtualClock(START)
  readonly replica = new Replica({ market: MARKET, bus: this.#bus, executionsKept: 100 })
  /** Identifiers that the sources of the present leader were given, by symbol. */
  readonly given = new Map<string, readonly string[]>()
  #markets: SourceMarket[] = []
  #writers = this.#newWriters(1)

  lead(sources: readonly MarketSource[], leaseEpoch: number): MarketWriters {
    this.#writers.abandonMissing([])
    this.given.clear()
    this.#markets = []
    this.#writers = this.#newWriters(leaseEpoch)
    void this.#writers.start(new Map())
    this.#writers.change([
      { definition: MARKET, sources, aggregation: { policy: 'recency' as const }, feedGroup: 'default' },
    ])
    return this.#writers
  }

  execute(symbol: string, id: string, executedAtMilliseconds: number, venue?: string): void {
    this.#clock.advance(Math.max(0, executedAtMilliseconds - this.#clock.wallInstant().milliseconds))
    const market = this.#markets.find(({ venueSymbol }) => venueSymbol === symbol)
    const named = venue === undefined ? {} : { venue }
    const executions = [{ price: 1, amount: 1, id, executedAtMilliseconds, ...named }]
    market?.listener({ type: 'update', changes: [], executions })
    this.#clock.advance(2)
  }

  commit(): void {
    this.#clock.advance(2)
  }

  #newWriters(leaseEpoch: number): MarketWriters {
    return new MarketWriters({
      markets: [],
      bus: this.#bus,
      clock: this.#clock,
      log: createLog('silent'),
      metrics: createSequencerMetrics(createMetricsRegistry()),
      lead: { leaseEpochOf: () => leaseEpoch, mayPublish: () => true },
      replicaOf: () => this.replica,
      allowsSimulated: () => false,
      createSource: (_name, [first]) => {
        const markets = [first as SourceMarket]
        this.#markets.push(first as SourceMarket)
        return Object.assign(new ManualSource(markets), {
          add: (market: SourceMarket) => void this.#markets.push(market),
          resume: ({ venueSymbol }: SourceMarket, executed: readonly Execution[]) => {
            this.given.set(
              venueSymbol,
              executed.map(({ id = '' }) => id),
            )
            return executed.length > 0 || venueSymbol === RELAYED
          },
        })
      },
    })
  }
}

describe('a new leader', () => {
  const SOURCES = [
    { feed: 'a', symbol: 'A/USD' },
    { feed: 'b', symbol: 'B/USD' },
  ]

  it('that continues all sources reports no loss, and knows how far the one that lags was', () => {
    const leaders = new Leaders()
    leaders.lead(SOURCES, 1)
    leaders.execute('B/USD', 'b1', START + 1_000)
    leaders.execute('A/USD', 'a1', START + 5_000)
    const { progress } = leaders.lead(SOURCES, 2).executionsOf('AAAUSD') ?? {}
    expect(progress?.completeMilliseconds).toBe(START + 1_000)
    expect(progress?.takeLoss()).toBeUndefined()
  })

  it('that cannot continue one of its sources reports a loss from an unknown time, and still continues the others', () => {
    const leaders = new Leaders()
    leaders.lead(SOURCES, 1)
    leaders.execute('B/USD', 'b1', START + 1_000)
    const { progress } = leaders.lead(SOURCES, 2).executionsOf('AAAUSD') ?? {}
    expect([...leaders.given]).toEqual([
      ['A/USD', []],
      ['B/USD', ['b1']],
    ])
    expect([progress?.completeMilliseconds, progress?.takeLoss(), progress?.takeLoss()]).toEqual([
      undefined,
      0,
      undefined,
    ])
    leaders.commit()
    expect(leaders.replica.executions.missNumber).toBe(leaders.replica.executions.lastNumber)
  })

  it('that continues a relay knows how far the venue behind it that lags was', () => {
    const sources = [
      { feed: 'a', symbol: 'A/USD' },
      { feed: 'relay', symbol: RELAYED },
    ]
    const leaders = new Leaders()
    leaders.lead(sources, 1)
    leaders.execute('A/USD', 'a1', START + 3_000)
    leaders.execute(RELAYED, 'x1', START + 5_000, 'x')
    leaders.execute(RELAYED, 'y1', START + 2_000, 'y')
    leaders.execute('A/USD', 'a2', START + 9_000)
    const { progress } = leaders.lead(sources, 2).executionsOf('AAAUSD') ?? {}
    expect(progress?.takeLoss()).toBeUndefined()
    expect(progress?.resumedMilliseconds).toBe(START + 2_000)
  })

  it('that continues a relay knows how far a venue behind it was that has not executed since', () => {
    const sources = [{ feed: 'relay', symbol: RELAYED }]
    const leaders = new Leaders()
    leaders.lead(sources, 1)
    leaders.execute(RELAYED, 'x1', START + 5_000, 'x')
    leaders.execute(RELAYED, 'y1', START + 2_000, 'y')
    const { progress } = leaders.lead(sources, 2).executionsOf('AAAUSD') ?? {}
    leaders.execute(RELAYED, 'x2', START + 9_000, 'x')
    expect(progress?.completeMilliseconds).toBe(START + 2_000)
    leaders.execute(RELAYED, 'y2', START + 7_000, 'y')
    expect(progress?.completeMilliseconds).toBe(START + 7_000)
  })

  it('never continues a pair after the executions of another pair of the same feed', () => {
    const pairs = [
      { feed: 'a', symbol: 'A/USD' },
      { feed: 'a', symbol: 'A/USDX' },
    ]
    const leaders = new Leaders()
    leaders.lead(pairs, 1)
    leaders.execute('A/USD', '1000', START + 1_000)
    leaders.execute('A/USDX', '7', START + 2_000)
    leaders.lead(pairs, 2)
    expect([...leaders.given]).toEqual([
      ['A/USD', []],
      ['A/USDX', []],
    ])
  })
})
