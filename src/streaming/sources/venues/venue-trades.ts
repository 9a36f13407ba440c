/**
 * One pair's trade numbers: which trades are new, which are repeated, and which are missing. Every number is passed on
 * at most once and in order, and missing trades are reported before later ones. The state is kept across connections,
 * books and the pair's markets, so an outage is bridged where the venue repeats trades, and detected elsewhere. It is
 * independent of markets and clocks. Pure.
 */
import type { TradePosition, VenueTrade } from './venue.ts'

/**
 * - `trades`: new executions, in order.
 * - `missed`: executions that are lost, or may be, between those passed on before and the next ones. `count` is their
 *   number by trade numbers, at least 1.
 */
export type TradeStep =
  | { readonly kind: 'trades'; readonly trades: readonly VenueTrade[] }
  | { readonly kind: 'missed'; readonly count: number; readonly reason: string }

export class VenueTrades {
  readonly #symbol: string
  readonly #repeatsLastTrade: boolean
  readonly #isUnnumbered: boolean
  /** The highest settled number: passed on, missed, or before the first subscription. */
  #lastId: number | undefined
  /** The latest trade time. */
  #lastMilliseconds = 0
  /** The last accepted trade. */
  #lastTrade: VenueTrade | undefined
  /** Whether trades before the first one may be missing. */
  #isInterrupted = false

  /**
   * @param repeatsLastTrade the first trades are repetitions, even when they are not marked as such
   * @param isUnnumbered the numbers were assigned on arrival, so a gap may stand for any count
   */
  constructor(symbol: string, repeatsLastTrade = false, isUnnumbered = false) {
    this.#symbol = symbol
    this.#repeatsLastTrade = repeatsLastTrade
    this.#isUnnumbered = isUnnumbered
  }

  /**
   * Takes trades as the venue sent them. The first repeated trades are not new: they only show where the numbers are.
   */
  take(trades: readonly VenueTrade[], isRepeat: boolean): TradeStep[] {
    const steps: TradeStep[] = []
    if (this.#isInterrupted && trades.length > 0) {
      const reason = `trades of ${this.#symbol} may be missing: none was known when they were interrupted`
      steps.push({ kind: 'missed', count: 1, reason })
      this.#isInterrupted = false
    }
    // Venues repeat trades in either order. Live trades arrive in execution order.
    const ordered = isRepeat ? trades.toSorted((left, right) => left.firstId - right.firstId) : trades
    const isFirstRepeat = this.#lastId === undefined && (isRepeat || this.#repeatsLastTrade)
    const passed: VenueTrade[] = []
    for (const trade of ordered) {
      const missed = isFirstRepeat ? 'before' : this.#classify(trade, isRepeat)
      if (missed === 'known') continue
      this.#lastId = trade.lastId
      this.#lastTrade = trade
      this.#lastMilliseconds = Math.max(this.#lastMilliseconds, trade.executedAtMilliseconds)
      if (missed === 'before') continue
      if (missed !== 'next') {
        if (passed.length > 0) steps.push({ kind: 'trades', trades: passed.splice(0) })
        steps.push(missed.step)
        if (missed.isLost) continue
      }
      passed.push(trade)
    }
    if (passed.length > 0) steps.push({ kind: 'trades', trades: passed })
    return steps
  }

  /** They do not arrive for a time, or one was lost. Only the numbers of known trades prove what is missing then. */
  interrupt(): void {
    this.#isInterrupted = this.#lastId === undefined
  }

  /** Continues after a trade passed on by another process; false after this one's first trade. */
  resume({ id, milliseconds }: TradePosition): boolean {
    if (this.#lastId !== undefined) return false
    this.#lastId = id
    this.#lastMilliseconds = milliseconds
    return true
  }

  /** The last settled number; undefined before the first trade. */
  get position(): TradePosition | undefined {
    const id = this.#lastId
    if (id === undefined) return undefined
    // The last trade's page cursor does not apply to a number settled without a trade.
    return this.#lastTrade?.lastId === id ? positionOf(this.#lastTrade) : { id, milliseconds: this.#lastMilliseconds }
  }

  /** Whether a trade was seen before, is the next one, or follows missing ones (or is itself lost). */
  #classify(trade: VenueTrade, isRepeat: boolean): 'known' | 'next' | { step: TradeStep; isLost: boolean } {
    const known = this.#lastId
    const { firstId, lastId } = trade
    if (known === undefined || firstId === known + 1) return 'next'
    if (firstId > known) return { step: this.#missed(known + 1, firstId - 1), isLost: false }
    // A part was passed on before and cannot be separated.
    if (lastId > known) return { step: this.#missed(known + 1, lastId), isLost: true }
    // A late or repeated trade is not later than one with a higher number. Missing trades may arrive late too.
    const isLate = trade.executedAtMilliseconds <= this.#lastMilliseconds
    if (isRepeat || isLate) return 'known'
    const reason = `the numbers of ${this.#symbol}'s trades restarted: ${firstId} after ${known}`
    return { step: { kind: 'missed', count: 1, reason }, isLost: false }
  }

  #missed(firstId: number, lastId: number): TradeStep {
    const count = lastId - firstId + 1
    if (this.#isUnnumbered) {
      const reason = `trades of ${this.#symbol} may be missing: the venue's latest trades do not reach the last one known`
      return { kind: 'missed', count, reason }
    }
    const which =
      count === 1 ? `trade ${firstId} of ${this.#symbol} is` : `trades ${firstId} to ${lastId} of ${this.#symbol} are`
    return { kind: 'missed', count, reason: `${which} missing` }
  }
}

/** A trade's position among its pair's trades. */
export function positionOf({
  lastId: id,
  executedAtMilliseconds: milliseconds,
  pageCursor,
}: VenueTrade): TradePosition {
  return pageCursor === undefined ? { id, milliseconds } : { id, milliseconds, pageCursor }
}
