/**
 * The numbers of one pair's trades: which trades are new, which were told before, and which are missing. It promises
 * that every number is passed on at most once and in order, and that what is missing is said before what comes after
 * it. It outlives connections, books and the markets that read the pair, so that an outage is bridged where the venue
 * repeats what happened meanwhile, and proved where it does not. Pure: it knows no market and no clock.
 */
import type { TradePosition, VenueTrade } from './venue.ts'

/**
 * - `trades`: new executions, in order.
 * - `missed`: executions that cannot be had any more, between what was passed on before and what comes next; `count`
 *   by their numbers, at least 1.
 */
export type TradeStep =
  | { readonly kind: 'trades'; readonly trades: readonly VenueTrade[] }
  | { readonly kind: 'missed'; readonly count: number; readonly reason: string }

export class VenueTrades {
  readonly #symbol: string
  readonly #repeatsLastTrade: boolean
  /** The highest number that is settled: passed on, missed, or before our time. */
  #lastId: number | undefined
  /** The highest number that came as a trade, and the latest time of any. */
  #lastSeenId = Number.NEGATIVE_INFINITY
  #lastMilliseconds = 0
  /** The last trade that was taken in. */
  #lastTrade: VenueTrade | undefined

  /** `repeatsLastTrade`: the first trades ever are repeated, whatever they say. */
  constructor(symbol: string, repeatsLastTrade = false) {
    this.#symbol = symbol
    this.#repeatsLastTrade = repeatsLastTrade
  }

  /** Takes in trades as the venue sent them; the first ever that it repeats only tell where its numbers stand. */
  take(trades: readonly VenueTrade[], isRepeat: boolean): TradeStep[] {
    const steps: TradeStep[] = []
    // Venues repeat in either direction; live trades stand in the order in which they happened.
    const ordered = isRepeat ? trades.toSorted((left, right) => left.firstId - right.firstId) : trades
    const isBeforeOurTime = this.#lastId === undefined && (isRepeat || this.#repeatsLastTrade)
    const passed: VenueTrade[] = []
    for (const trade of ordered) {
      const missed = isBeforeOurTime ? 'before' : this.#judge(trade, isRepeat)
      if (missed === 'known') continue
      this.#lastId = trade.lastId
      this.#lastSeenId = trade.lastId
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

  /** Up to where the numbers are settled; absent before the first trade. */
  get position(): TradePosition | undefined {
    const id = this.#lastId
    if (id === undefined) return undefined
    // What the last trade knew of the venue's pages says nothing of a number that was settled without a trade.
    return this.#lastTrade?.lastId === id ? positionOf(this.#lastTrade) : { id, milliseconds: this.#lastMilliseconds }
  }

  /** Whether a trade was told before, is the next one, or comes after others that are missing (or is itself lost). */
  #judge(trade: VenueTrade, isRepeat: boolean): 'known' | 'next' | { step: TradeStep; isLost: boolean } {
    const known = this.#lastId
    const { firstId, lastId } = trade
    if (known === undefined || firstId === known + 1) return 'next'
    if (firstId > known) return { step: this.#missed(known + 1, firstId - 1), isLost: false }
    // A part of it was told before and cannot be taken out of it.
    if (lastId > known) return { step: this.#missed(known + 1, lastId), isLost: true }
    // A trade that comes late or twice is not later than one with a higher number; missing ones may come late too.
    const isLate = lastId > this.#lastSeenId || trade.executedAtMilliseconds <= this.#lastMilliseconds
    if (isRepeat || isLate) return 'known'
    const reason = `the numbers of ${this.#symbol}'s trades began anew: ${firstId} after ${known}`
    return { step: { kind: 'missed', count: 1, reason }, isLost: false }
  }

  #missed(firstId: number, lastId: number): TradeStep {
    const count = lastId - firstId + 1
    const which =
      count === 1 ? `trade ${firstId} of ${this.#symbol} is` : `trades ${firstId} to ${lastId} of ${this.#symbol} are`
    return { kind: 'missed', count, reason: `${which} missing` }
  }
}

/** Where a trade stands among those of its pair. */
export function positionOf({
  lastId: id,
  executedAtMilliseconds: milliseconds,
  pageCursor,
}: VenueTrade): TradePosition {
  return pageCursor === undefined ? { id, milliseconds } : { id, milliseconds, pageCursor }
}
