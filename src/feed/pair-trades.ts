/**
 * The trades of one pair, from what the venue sends to what its readers receive: new executions and gaps, counted and
 * logged, and what the venue refused, which is asked for again. It promises that a refusal is named until trades come.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { VenueTrade } from './venue.ts'
import type { PairMetrics } from './venue-metrics.ts'
import type { VenueReaders } from './venue-readers.ts'
import type { VenueTrades } from './venue-trades.ts'

export interface PairTradesOptions {
  /** The venue's name as in the settings: `kraken`. */
  readonly venue: string
  readonly symbol: string
  /** The numbers of the trades, which outlive the pair. */
  readonly trades: VenueTrades
  readonly readers: VenueReaders
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<PairMetrics, 'countTrades' | 'countMissedTrades'>
  /** Subscribes the trades again. */
  readonly subscribe: () => void
  /** New trades that the venue did not repeat, before readers receive them. */
  readonly onNew: (trades: readonly VenueTrade[]) => void
}

/** How long after a refusal by the venue the trades are asked for again. */
const REFUSED_MILLISECONDS = 60_000

export class PairTrades {
  readonly #options: PairTradesOptions
  /** Runs until the trades, which were refused, are subscribed again. */
  #timer: Timer | undefined
  #refusal: string | undefined

  constructor(options: PairTradesOptions) {
    this.#options = options
  }

  /** What an operator should know; absent when trades come. */
  get notice(): string | undefined {
    return this.#refusal
  }

  /** Takes in trades as the venue sent them. */
  take(trades: readonly VenueTrade[], isRepeat: boolean): void {
    const { symbol, readers, metrics, log, onNew } = this.#options
    this.#refusal = undefined
    for (const step of this.#options.trades.take(trades, isRepeat)) {
      if (step.kind === 'trades') {
        if (!isRepeat) onNew(step.trades)
        metrics.countTrades(step.trades.length)
        readers.execute(step.trades)
      } else {
        metrics.countMissedTrades(step.count)
        log.warn({ symbol, count: step.count, reason: step.reason }, 'venue trades missed')
        readers.miss(step.reason)
      }
    }
  }

  /** The venue refused to subscribe them. */
  refuse(reason: string): void {
    const { venue, symbol, clock, subscribe } = this.#options
    this.#refusal = `${venue} refused the trades of ${symbol}: ${reason}`
    this.#timer?.cancel()
    this.#timer = clock.schedule(REFUSED_MILLISECONDS, subscribe)
  }

  /** They are not subscribed any more. */
  end(): void {
    this.#timer?.cancel()
    this.#refusal = undefined
  }
}
