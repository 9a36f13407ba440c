/**
 * A `TidegateSource` in a test: connected to a test publisher, with a clock controlled by the test and followed
 * markets.
 */
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import type { MarketDefinition, MarketEvent } from '../../src/streaming/market/event.ts'
import type { SourceMarket } from '../../src/streaming/sources/source.ts'
import { TidegateSource, type TidegateSourceOptions } from '../../src/streaming/sources/tidegate/tidegate-source.ts'
import { captureLog } from './captured-log.ts'
import { PublicationFollower } from './publication-follower.ts'
import { VirtualClock } from './virtual-clock.ts'
import { Waiters } from './waiters.ts'

/** One of the source's markets, and everything it received. */
export class FollowedMarket implements SourceMarket {
  readonly market: MarketDefinition
  venueSymbol: string
  readonly events: MarketEvent[] = []
  readonly follower: PublicationFollower
  /** Called within the listener. */
  onEvent: (event: MarketEvent) => void = () => undefined
  instrumentChanges = 0
  readonly #waiters: Waiters

  constructor(waiters: Waiters, symbol: string, more: Partial<MarketDefinition> = {}) {
    const [baseAsset, quoteAsset] = [symbol.slice(0, 3), symbol.slice(3)]
    const decimals = { priceDecimals: 2, amountDecimals: 8, depth: 0 }
    this.market = { symbol, baseAsset, quoteAsset, ...decimals, ...more }
    this.venueSymbol = symbol
    this.follower = new PublicationFollower(this.market)
    this.#waiters = waiters
  }

  readonly listener = (event: MarketEvent): void => {
    this.events.push(event)
    this.follower.apply([event])
    this.onEvent(event)
    this.#waiters.notify()
  }

  readonly onInstrument = (): void => {
    this.instrumentChanges++
    this.#waiters.notify()
  }

  /** The event types so far, `lost` with its reason. */
  get summary(): string[] {
    return this.events.map((event) => (event.type === 'lost' ? `lost: ${event.reason}` : event.type))
  }
}

export class PulledFeed {
  readonly clock = new VirtualClock()
  readonly waiters = new Waiters()
  readonly log = captureLog()
  readonly metrics = createMetricsRegistry()
  readonly markets: readonly FollowedMarket[]
  readonly source: TidegateSource

  constructor(
    symbols: readonly string[],
    options: Pick<TidegateSourceOptions, 'url'> & Partial<TidegateSourceOptions>,
    more: Partial<MarketDefinition> = {},
  ) {
    this.markets = symbols.map((symbol) => new FollowedMarket(this.waiters, symbol, more))
    this.source = new TidegateSource({
      name: 'engine',
      credentials: { kind: 'none' },
      markets: this.markets,
      clock: this.clock,
      random: () => 0.5,
      log: this.log.log,
      metrics: this.metrics,
      ...options,
    })
    this.source.start()
  }

  get market(): FollowedMarket {
    return this.markets[0] as FollowedMarket
  }

  until(what: string, isMet: () => boolean): Promise<void> {
    return this.waiters.until(what, isMet)
  }
}
