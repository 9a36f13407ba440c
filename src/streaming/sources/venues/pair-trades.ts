/**
 * One pair's trades: publishes new executions and gaps to its markets, counts and logs them, and subscribes again after
 * a refusal. A refusal is reported as a notice until trades arrive.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { PairMarkets } from './pair-markets.ts'
import type { VenueTrade } from './venue.ts'
import type { PairMetrics } from './venue-metrics.ts'
import type { VenueTrades } from './venue-trades.ts'

export interface PairTradesOptions {
  /** Feed name, as in the settings: `kraken`. */
  readonly venue: string
  readonly symbol: string
  /** The trade numbers. They are kept when the pair is replaced. */
  readonly trades: VenueTrades
  readonly pairMarkets: PairMarkets
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<PairMetrics, 'countTrades' | 'countMissedTrades'>
  /** Subscribes the trades again. */
  readonly subscribe: () => void
  /** Called with new trades, without repetitions, before the markets receive them. */
  readonly onNew: (trades: readonly VenueTrade[]) => void
}

/** Delay before a pair is subscribed again after the venue refused it alone, or within a request for several pairs. */
const REFUSED_MILLISECONDS = 60_000
const GROUP_REFUSED_MILLISECONDS = 1_000

export class PairTrades {
  readonly #options: PairTradesOptions
  /** Runs until the refused trades are subscribed again. */
  #timer: Timer | undefined
  #refusal: string | undefined
  /** Whether the pair has had a book. */
  #isExpected = false

  constructor(options: PairTradesOptions) {
    this.#options = options
  }

  /** Whether they are still to be subscribed again after a refusal: another pair has to subscribe them itself. */
  get isRefused(): boolean {
    return this.#timer !== undefined
  }

  /** Notice for the operator; undefined when trades arrive. */
  get notice(): string | undefined {
    return this.#refusal
  }

  /** Takes trades as the venue sent them. */
  take(trades: readonly VenueTrade[], isRepeat: boolean): void {
    const { symbol, pairMarkets, metrics, log, onNew } = this.#options
    this.#refusal = undefined
    for (const step of this.#options.trades.take(trades, isRepeat)) {
      if (step.kind === 'trades') {
        if (!isRepeat) onNew(step.trades)
        metrics.countTrades(step.trades.length)
        pairMarkets.execute(step.trades)
      } else {
        metrics.countMissedTrades(step.count)
        log.warn({ symbol, count: step.count, reason: step.reason }, 'venue trades missed')
        pairMarkets.miss(step.reason)
      }
    }
  }

  /** The venue refused the subscription. */
  refuse(reason: string, isOfGroup: boolean): void {
    const { venue, symbol, clock, subscribe } = this.#options
    this.#refusal = `${venue} refused the trades for ${symbol}: ${reason}`
    this.#timer?.cancel()
    this.#timer = clock.schedule(refusedMilliseconds(isOfGroup), () => {
      this.#timer = undefined
      subscribe()
    })
    this.#interrupt()
  }

  /** The pair has a book: since its first one, the markets' executions count as complete. */
  expect(): void {
    this.#isExpected = true
    if (this.isRefused) this.#interrupt()
  }

  /**
   * The pair's trades end.
   * @param isInterrupted false: they continue in another pair
   */
  end(isInterrupted: boolean): void {
    if (isInterrupted) this.#interrupt()
    this.#timer?.cancel()
    this.#timer = undefined
    this.#refusal = undefined
  }

  /** Expected trades do not arrive for a time. */
  #interrupt(): void {
    if (this.#isExpected) this.#options.trades.interrupt()
  }
}

export function refusedMilliseconds(isOfGroup: boolean): number {
  return isOfGroup ? GROUP_REFUSED_MILLISECONDS : REFUSED_MILLISECONDS
}
