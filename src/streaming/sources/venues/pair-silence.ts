/**
 * Detects a book that went silent while its connection stays open. It receives every book message and every trade with
 * its arrival time, and returns a verdict on request. Any book message clears a suspicion, and silence alone never
 * proves a book wrong. It reads no clock. Pure.
 *
 * A trade takes an order from the book, so a book message about it must follow. In recordings from three venues (168
 * trades) this message arrives within 0.2 s before or after the trade: Binance and OKX collect changes for 0.1 s. The
 * rules:
 * - `wrong`: a trade was executed beyond a price still shown as the best (above the best ask, below the best bid), and
 *   no book message arrived from 1 s before it to 2 s after it. The venue matches the best price first, so this level
 *   no longer exists there.
 * - `suspicious`, by trades: a trade within the book, and no book message from 1 s before it to 3 s after it. A
 *   refilled or hidden order explains one such trade, so it proves nothing.
 * - `suspicious`, by silence: no message for 15 s, and for four times the longest gap in the last ten minutes, in a
 *   book with one message per second on average. Recorded silences up to 14 s are healthy, even where 40 messages per
 *   second are usual. After each suspicion the next one requires twice the silence, until a book message arrives.
 */
import type { Scaled } from '../../../platform/base/decimal.ts'
import type { BestPrices } from './venue.ts'

/** How long before a trade its book message may arrive. */
const BEFORE_MILLISECONDS = 1_000
/** How long to wait for a book message after a trade that contradicts the book. */
const CONTRADICTED_MILLISECONDS = 2_000
/** How long to wait for the book message after any other trade. */
const UNCONFIRMED_MILLISECONDS = 3_000
const SILENCE_MILLISECONDS_MIN = 15_000
const SILENCE_FACTOR = 4
/** Gaps are kept for ten periods. */
const PERIOD_MILLISECONDS = 60_000
const PERIODS = 10
/** Book messages, over at least one period, after which the usual gap is known. */
const MESSAGES_MIN = 60

export interface SilenceVerdict {
  readonly kind: 'wrong' | 'suspicious'
  readonly reason: string
}

export class PairSilence {
  #lastBook: number
  /** The first trade without a book message, and the first among these to contradict the book. */
  #unconfirmed: number | undefined
  #contradicted: { readonly at: number; readonly price: string } | undefined
  /** Longest gap between two book messages and their number, by period, the latest last. */
  #gaps: { readonly since: number; longest: number; messages: number }[] = []
  /** Suspicions during the current silence. */
  #suspicions = 0

  /** @param now monotonic milliseconds, as in all calls; a book message has just arrived */
  constructor(now: number) {
    this.#lastBook = now
  }

  /** A book message arrived, whatever it changed. */
  book(now: number): void {
    let period = this.#gaps.at(-1)
    if (period === undefined || now - period.since >= PERIOD_MILLISECONDS) {
      period = { since: now, longest: 0, messages: 0 }
      this.#gaps.push(period)
      if (this.#gaps.length > PERIODS) this.#gaps.shift()
    }
    period.longest = Math.max(period.longest, now - this.#lastBook)
    period.messages += 1
    this.#lastBook = now
    this.#unconfirmed = undefined
    this.#contradicted = undefined
    this.#suspicions = 0
  }

  /** Whether a trade at this time would be one without a book message. */
  isSilent(now: number): boolean {
    return now - this.#lastBook >= BEFORE_MILLISECONDS
  }

  /**
   * A new trade arrived.
   * @param price with the decimals in `best`; undefined when it cannot be compared
   * @param text the price as the venue sent it
   */
  trade(now: number, price: Scaled | undefined, text: string, best: BestPrices): void {
    if (!this.isSilent(now)) return
    this.#unconfirmed ??= now
    if (price === undefined || this.#contradicted !== undefined) return
    const { bid, ask } = best
    if ((ask !== undefined && price > ask) || (bid !== undefined && price < bid)) {
      this.#contradicted = { at: now, price: text }
    }
  }

  /** The verdict, if there is one; each suspicion is returned once. */
  check(now: number): SilenceVerdict | undefined {
    if (this.#contradicted !== undefined && now - this.#contradicted.at >= CONTRADICTED_MILLISECONDS) {
      return { kind: 'wrong', reason: `trades at ${this.#contradicted.price}, which the book does not show` }
    }
    if (now < this.#suspicionDue()) return undefined
    const isByTrades = this.#unconfirmed !== undefined
    const seconds = Math.round((now - this.#lastBook) / 1000)
    this.#unconfirmed = undefined
    this.#suspicions += 1
    const what = isByTrades ? 'trades, and no book message' : 'no book message'
    return { kind: 'suspicious', reason: `${what} for ${seconds} s` }
  }

  /**
   * The time at which `check` may return a verdict, unless a book message or a trade arrives first; Infinity = never.
   */
  get due(): number {
    const contradicted = this.#contradicted === undefined ? Infinity : this.#contradicted.at + CONTRADICTED_MILLISECONDS
    return Math.min(contradicted, this.#suspicionDue())
  }

  #suspicionDue(): number {
    const byTrades = this.#unconfirmed === undefined ? Infinity : this.#unconfirmed + UNCONFIRMED_MILLISECONDS
    const factor = 2 ** this.#suspicions
    const earliest = this.#suspicions === 0 ? 0 : this.#lastBook + SILENCE_MILLISECONDS_MIN * factor
    return Math.max(earliest, Math.min(byTrades, this.#silenceDue(factor)))
  }

  #silenceDue(factor: number): number {
    const [first] = this.#gaps
    if (first === undefined) return Infinity
    const messages = this.#gaps.reduce((sum, period) => sum + period.messages, 0)
    const observed = this.#lastBook - first.since
    if (observed < PERIOD_MILLISECONDS || messages < MESSAGES_MIN || messages < observed / 1000) return Infinity
    const longest = Math.max(...this.#gaps.map((period) => period.longest))
    return this.#lastBook + Math.max(SILENCE_MILLISECONDS_MIN, SILENCE_FACTOR * longest) * factor
  }
}
