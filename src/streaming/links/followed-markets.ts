/**
 * Which configured markets this process follows over a link. A pinned market is always followed. Any other is followed
 * from the moment it is wanted, and no longer once it has been neither wanted nor subscribed for
 * `LINGER_MILLISECONDS`. A market that is not followed costs its definition and its feed's heartbeats. However often
 * markets are wanted, never more are followed than are configured.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { MarketDefinition } from '../market/event.ts'
import type { MarketReport, MarketReports } from './market-reports.ts'

const LINGER_MILLISECONDS = 60_000
const SWEEP_MILLISECONDS = 1_000

/** The subscribers in this process. */
export interface FollowingParty {
  isSubscribed(market: string): boolean
  /** Drops the books of markets that are no longer followed. */
  drop(markets: readonly string[]): void
}

export interface FollowedMarketsOptions {
  readonly clock: Clock
  readonly reports: Pick<MarketReports, 'of'>
  readonly isPinned: (market: string) => boolean
  /** Begins to follow a market. Returns the function that ends it. */
  readonly follow: (market: string) => () => void
}

interface Followed {
  readonly end: () => void
  wantedMilliseconds: number
}

export class FollowedMarkets {
  readonly #options: FollowedMarketsOptions
  readonly #configured = new Set<string>()
  readonly #followed = new Map<string, Followed>()
  #timer: Timer | undefined

  constructor(options: FollowedMarketsOptions) {
    this.#options = options
  }

  get symbols(): readonly string[] {
    return [...this.#followed.keys()]
  }

  has(market: string): boolean {
    return this.#followed.has(market)
  }

  /** Follows a configured market from now on, at least for `LINGER_MILLISECONDS`. */
  want(market: string): void {
    const followed = this.#followed.get(market)
    if (followed !== undefined) followed.wantedMilliseconds = this.#options.clock.monotonicMilliseconds()
    else if (this.#configured.has(market)) this.#follow(market)
  }

  /** What a market's feed reports about it. Undefined where the market is followed. */
  reportOf(market: string): MarketReport | undefined {
    return this.#followed.has(market) ? undefined : this.#options.reports.of(market)
  }

  /** Applies another market list, and pins that may have changed. */
  change(removed: readonly string[], added: readonly Pick<MarketDefinition, 'symbol'>[]): void {
    for (const market of removed) {
      this.#configured.delete(market)
      this.#followed.get(market)?.end()
      this.#followed.delete(market)
    }
    for (const { symbol } of added) this.#configured.add(symbol)
    for (const market of this.#configured) {
      if (!this.#followed.has(market) && this.#options.isPinned(market)) this.#follow(market)
    }
  }

  /** From now on, markets that are no longer wanted are no longer followed. */
  start(party: FollowingParty): void {
    this.#timer = this.#options.clock.schedule(SWEEP_MILLISECONDS, () => {
      this.#sweep(party)
      this.start(party)
    })
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #follow(market: string): void {
    const { clock, follow } = this.#options
    this.#followed.set(market, { end: follow(market), wantedMilliseconds: clock.monotonicMilliseconds() })
  }

  #sweep(party: FollowingParty): void {
    const { clock, isPinned } = this.#options
    const now = clock.monotonicMilliseconds()
    const dropped: string[] = []
    for (const [market, followed] of this.#followed) {
      if (party.isSubscribed(market)) followed.wantedMilliseconds = now
      // A subscription can have ended as early as one sweep before it was noticed.
      if (now - followed.wantedMilliseconds < LINGER_MILLISECONDS + SWEEP_MILLISECONDS || isPinned(market)) continue
      followed.end()
      this.#followed.delete(market)
      dropped.push(market)
    }
    if (dropped.length > 0) party.drop(dropped)
  }
}
