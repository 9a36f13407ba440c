/**
 * Monitors one pair's book while it is live: whether it went silent (`pair-silence`), and, where the venue's proofs do
 * not cover the whole book, whether it still equals the venue's book (periodic reconciliation with a new snapshot). A
 * book proved wrong fails. A suspicious book, or one due for reconciliation, is refreshed: it is subscribed again while
 * it stays live, and the differences to the new snapshot are published like other changes.
 *
 * Refreshes on suspicion are limited to one per minute and pair. Each refresh without a difference doubles this delay,
 * up to ten minutes. Reconciliations are not limited by it.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import { parseDecimal } from '../../../platform/base/decimal.ts'
import type { Log } from '../../../platform/base/log.ts'
import { PairSilence } from './pair-silence.ts'
import type { BestPrices, VenueTrade } from './venue.ts'
import type { PairMetrics } from './venue-metrics.ts'

export interface VenueWatchOptions {
  readonly symbol: string
  /**
   * Whether the instrument is OPEN, or its state is not known. Silence is no evidence when the instrument does not
   * trade.
   */
  readonly isTrading: () => boolean
  /** Counts no time in which this process did not run (`RunningClock`), because messages from then are not read yet. */
  readonly clock: Clock
  /** A number in [0, 1) to spread the reconciliations when many pairs became live together. */
  readonly random: () => number
  readonly log: Log
  readonly metrics: Pick<PairMetrics, 'countSilence' | 'countReconciliation'>
  /** Reconciliation interval; undefined = never. */
  readonly reconcileMilliseconds: number | undefined
  /** Subscribes the book again while it stays live. */
  readonly refresh: () => void
  /** The book is wrong. */
  readonly fail: (reason: string) => void
}

/**
 * Trades that arrive late (held back by the gap fill, for example) no longer match the current book. A trade is late
 * when it takes 1.5 s longer to arrive than the fastest trade in the last 10 to 20 minutes. Only the difference counts,
 * because the venue's clock and this host's may disagree.
 */
const TRADE_LATE_MILLISECONDS = 1_500
const LAG_PERIOD_MILLISECONDS = 600_000
/** Longest time between two checks. */
const CHECK_MILLISECONDS_MAX = 15_000
const REFRESH_MILLISECONDS_MIN = 60_000
const REFRESH_MILLISECONDS_MAX = 600_000

export class VenueWatch {
  readonly #options: VenueWatchOptions
  #silence: PairSilence | undefined
  /**
   * Shortest time from a trade's time stamp to its arrival, in the current period and the previous one. The two ends
   * are measured by different clocks.
   */
  #lag = { since: Number.NEGATIVE_INFINITY, least: Number.POSITIVE_INFINITY, leastBefore: Number.POSITIVE_INFINITY }
  #check: { readonly timer: Timer; readonly due: number } | undefined
  #reconciliation: Timer | undefined
  #lastSuspicion = Number.NEGATIVE_INFINITY
  /** Whether the latest refresh was caused by a suspicion. */
  #isSuspected = false
  #refreshPause = REFRESH_MILLISECONDS_MIN

  constructor(options: VenueWatchOptions) {
    this.#options = options
  }

  /** The book has become live. */
  begin(): void {
    this.end()
    this.#silence = new PairSilence(this.#options.clock.monotonicMilliseconds())
    this.#plan()
    this.#planReconciliation()
  }

  /** The book is not live any more. */
  end(): void {
    this.#silence = undefined
    this.#check?.timer.cancel()
    this.#check = undefined
    this.#reconciliation?.cancel()
  }

  /** A book message arrived. */
  noteBook(): void {
    this.#silence?.book(this.#options.clock.monotonicMilliseconds())
  }

  /**
   * New trades arrived.
   * @param priceDecimals the decimals used in `best`
   * @param best the book's best prices; empty where trades cannot be compared with them
   */
  noteTrades(trades: readonly VenueTrade[], priceDecimals: number, best: () => BestPrices): void {
    const now = this.#options.clock.monotonicMilliseconds()
    const silence = this.#silence
    const timely = trades.filter((trade) => !this.#isLate(trade, now))
    if (timely.length === 0 || silence?.isSilent(now) !== true) return
    const prices = best()
    for (const { price } of timely) {
      const parsed = parseDecimal(price, priceDecimals)
      silence.trade(now, typeof parsed === 'string' ? undefined : parsed, price, prices)
    }
    if (this.#check === undefined || silence.due < this.#check.due) this.#plan()
  }

  /**
   * A refresh is complete.
   * @param differences snapshot levels that differed from the book
   */
  refreshed(differences: number): void {
    const { log, symbol, metrics } = this.#options
    metrics.countReconciliation(differences === 0)
    if (differences > 0) log.warn({ symbol, differences }, 'venue book differed from a fresh snapshot')
    if (!this.#isSuspected) return
    this.#refreshPause =
      differences > 0 ? REFRESH_MILLISECONDS_MIN : Math.min(this.#refreshPause * 2, REFRESH_MILLISECONDS_MAX)
  }

  #isLate({ executedAtMilliseconds }: VenueTrade, now: number): boolean {
    const milliseconds = now - executedAtMilliseconds
    const { since, least } = this.#lag
    if (now - since >= LAG_PERIOD_MILLISECONDS) {
      this.#lag = { since: now, least: milliseconds, leastBefore: least }
    } else {
      this.#lag.least = Math.min(least, milliseconds)
    }
    return milliseconds - Math.min(this.#lag.least, this.#lag.leastBefore) > TRADE_LATE_MILLISECONDS
  }

  #plan(): void {
    const { clock } = this.#options
    const silence = this.#silence
    if (silence === undefined) return
    this.#check?.timer.cancel()
    const now = clock.monotonicMilliseconds()
    const due = Math.min(silence.due, now + CHECK_MILLISECONDS_MAX)
    this.#check = { due, timer: clock.schedule(Math.max(0, due - now), () => this.#checkSilence()) }
  }

  #checkSilence(): void {
    const { clock, metrics, log, symbol, fail, isTrading } = this.#options
    const now = clock.monotonicMilliseconds()
    this.#check = undefined
    if (!isTrading()) {
      this.#silence = new PairSilence(now)
      this.#plan()
      return
    }
    const verdict = this.#silence?.check(now)
    if (verdict === undefined) {
      this.#plan()
      return
    }
    const { kind, reason } = verdict
    metrics.countSilence(kind)
    if (kind === 'wrong') {
      fail(reason)
      return
    }
    log.warn({ symbol, reason }, 'venue book may be silent')
    this.#plan()
    if (now - this.#lastSuspicion < this.#refreshPause) return
    this.#lastSuspicion = now
    this.#isSuspected = true
    this.#options.refresh()
  }

  #planReconciliation(): void {
    const { clock, random, reconcileMilliseconds: period } = this.#options
    if (period === undefined) return
    this.#reconciliation = clock.schedule(Math.round(period * (0.75 + random() / 2)), () => {
      this.#planReconciliation()
      this.#isSuspected = false
      this.#options.refresh()
    })
  }
}
