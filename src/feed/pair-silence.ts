/**
 * Whether the book of one pair has gone silent while its connection stays alive. It takes every book message
 * and every trade with the time of its arrival, and judges when it is asked. It promises that any book message clears what
 * is held against the book, and that a silence alone never proves it wrong. Pure: it reads no clock.
 *
 * A trade takes what rests in the book, so the book's message about it is due. In the recordings of three
 * venues (168 trades) it comes within 0.2 s of the trade, before or after: Binance and OKX gather changes for 0.1 s.
 * The rules:
 * - `wrong`: a trade went past a price that the book still shows as the best (above its best ask, below its best bid),
 *   and no book message came from 1 s before it to 2 s after it. The venue matches the best price first, so that level
 *   is gone there.
 * - `suspicious`, by trades: a trade within the book, and no book message from 1 s before it to 3 s after it. An order
 *   that is refilled or hidden explains one, so it proves nothing.
 * - `suspicious`, by silence: nothing for 15 s, and for four times the longest gap of the last ten minutes, of a book
 *   that had a message a second on average. Recorded silences of 8 to 14 s are healthy, also where 40 messages a second
 *   are usual.
 * After a suspicion the next one takes twice the silence, until the book says something.
 */
import type { Scaled } from '../base/decimal.ts'
import type { BestPrices } from './venue.ts'

/** How long before a trade the book's message about it may come. */
const BEFORE_MILLISECONDS = 1_000
/** How long after a trade that the book contradicts its message is waited for. */
const CONTRADICTED_MILLISECONDS = 2_000
/** How long after any other trade its message is waited for. */
const UNCONFIRMED_MILLISECONDS = 3_000
const SILENCE_MILLISECONDS_MIN = 15_000
const SILENCE_FACTOR = 4
/** A gap is remembered for ten such times. */
const PERIOD_MILLISECONDS = 60_000
const PERIODS = 10
/** Book messages, over at least one period, from which on the usual gap is known: a burst says nothing. */
const MESSAGES_MIN = 60

export interface SilenceVerdict {
  readonly kind: 'wrong' | 'suspicious'
  readonly reason: string
}

export class PairSilence {
  #lastBook: number
  /** The first trade without a message of the book, and the first of those that the book contradicts. */
  #unconfirmed: number | undefined
  #contradicted: { readonly at: number; readonly price: string } | undefined
  /** Longest gap between two book messages, by period, the latest last; and the messages of each. */
  #gaps: { readonly since: number; longest: number; messages: number }[] = []
  /** How often the present silence was found suspicious. */
  #suspicions = 0

  /** @param now milliseconds of a clock that never goes back, as in all calls; a book message has just come */
  constructor(now: number) {
    this.#lastBook = now
  }

  /** A message of the book came, whatever it changed. */
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

  /** Whether a trade now would be one without a message of the book. */
  isSilent(now: number): boolean {
    return now - this.#lastBook >= BEFORE_MILLISECONDS
  }

  /**
   * A new trade came, just executed.
   * @param price at the decimals of `best`; undefined when it cannot be compared
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

  /** What is held against the book, if anything; a suspicion is reported once. */
  judge(now: number): SilenceVerdict | undefined {
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

  /** When `judge` may report something, unless a book message or a trade comes before; infinite for never. */
  get due(): number {
    const contradicted = this.#contradicted === undefined ? Infinity : this.#contradicted.at + CONTRADICTED_MILLISECONDS
    return Math.min(contradicted, this.#suspicionDue())
  }

  #suspicionDue(): number {
    const byTrades = this.#unconfirmed === undefined ? Infinity : this.#unconfirmed + UNCONFIRMED_MILLISECONDS
    const patience = 2 ** this.#suspicions
    const earliest = this.#suspicions === 0 ? 0 : this.#lastBook + SILENCE_MILLISECONDS_MIN * patience
    return Math.max(earliest, Math.min(byTrades, this.#silenceDue(patience)))
  }

  #silenceDue(patience: number): number {
    const [first] = this.#gaps
    if (first === undefined) return Infinity
    const messages = this.#gaps.reduce((sum, period) => sum + period.messages, 0)
    const observed = this.#lastBook - first.since
    if (observed < PERIOD_MILLISECONDS || messages < MESSAGES_MIN || messages < observed / 1000) return Infinity
    const longest = Math.max(...this.#gaps.map((period) => period.longest))
    return this.#lastBook + Math.max(SILENCE_MILLISECONDS_MIN, SILENCE_FACTOR * longest) * patience
  }
}
