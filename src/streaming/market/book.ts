/**
 * A full order book. It applies complete source messages and returns the actual differences. So it never publishes a
 * book crossed within a message, a repeated price, a missing level's removal or a repeated amount. It keeps no history.
 * The caller decides whether the result may be published (`isCrossed`).
 *
 * Book order, here and in `view`: bids before asks, each side from its best price outward. Pure.
 */
import type { Scaled } from '../../platform/base/decimal.ts'
import { type AppliedChange, ASK, BID, type LevelChange, type Side } from './event.ts'

/**
 * A message is merged in one pass when it changes more levels on a side than this, and more than a 16th of the existing
 * ones. Measured: a pass takes 20 us on 1,000 levels and 1.1 ms on 23,000. The same time allows 130 and 500 single
 * changes when they are spread evenly, 200 and 2,500 near the best price.
 */
const MERGE_CHANGES_MINIMUM = 64
const MERGE_SHARE_MINIMUM = 1 / 16

export class Book {
  readonly bids = new Levels(BID)
  readonly asks = new Levels(ASK)

  side(side: Side): Levels {
    return side === BID ? this.bids : this.asks
  }

  /**
   * Applies one complete source message, in which a price's last change wins. Returns the actual differences between
   * the books before and after: one entry per price, in book order.
   */
  apply(changes: readonly LevelChange[]): AppliedChange[] {
    const ordered = inBookOrder(changes)
    const firstAsk = firstAskIndex(ordered)
    const applied: AppliedChange[] = []
    applySide(this.bids, ordered, 0, firstAsk, applied)
    applySide(this.asks, ordered, firstAsk, ordered.length, applied)
    return applied
  }

  /** Makes the book equal to `levels`, in which a price's last entry wins. Returns the differences like `apply`. */
  replace(levels: readonly LevelChange[]): AppliedChange[] {
    const ordered = inBookOrder(levels)
    const firstAsk = firstAskIndex(ordered)
    const applied: AppliedChange[] = []
    this.bids.replace(ordered, 0, firstAsk, applied)
    this.asks.replace(ordered, firstAsk, ordered.length, applied)
    return applied
  }

  /** A side's best level. Undefined for an empty side. */
  best(side: Side): LevelChange | undefined {
    const levels = this.side(side)
    return levels.size === 0 ? undefined : { side, price: levels.priceAt(0), amount: levels.amountAt(0) }
  }

  /** Whether the best bid is at or above the best ask. Such a book must not be published. */
  isCrossed(): boolean {
    return this.bids.size > 0 && this.asks.size > 0 && this.bids.priceAt(0) >= this.asks.priceAt(0)
  }
}

/** Every level, in book order. */
export function levelsOf(book: Book): LevelChange[] {
  const all: LevelChange[] = []
  for (const side of [BID, ASK] as const) {
    const levels = book.side(side)
    for (let rank = 0; rank < levels.size; rank++) {
      all.push({ side, price: levels.priceAt(rank), amount: levels.amountAt(rank) })
    }
  }
  return all
}

/** Negative when `left` precedes `right` in book order, 0 when they are the same level. */
export function compareLevels(left: LevelKey, right: LevelKey): number {
  if (left.side !== right.side) return left.side - right.side
  return left.side === BID ? right.price - left.price : left.price - right.price
}

type LevelKey = Pick<LevelChange, 'side' | 'price'>

/** Whether the changes are in book order, each price once. */
export function isInBookOrder(changes: readonly LevelKey[]): boolean {
  for (let index = 1; index < changes.length; index++) {
    if (compareLevels(changes[index - 1]!, changes[index]!) >= 0) return false
  }
  return true
}

/** The changes in book order, only the last one per price. Returns the same array when it already has that form. */
function inBookOrder(changes: readonly LevelChange[]): readonly LevelChange[] {
  if (isInBookOrder(changes)) return changes
  // The sort is stable, so the last change of a price is its last entry.
  const sorted = changes.slice().sort(compareLevels)
  return sorted.filter((change, index) => {
    const next = sorted[index + 1]
    return next === undefined || compareLevels(change, next) !== 0
  })
}

/** The first ask's index in a list in book order. */
function firstAskIndex(ordered: readonly LevelChange[]): number {
  let low = 0
  let high = ordered.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ordered[middle]!.side === BID) low = middle + 1
    else high = middle
  }
  return low
}

function applySide(
  levels: Levels,
  ordered: readonly LevelChange[],
  start: number,
  end: number,
  applied: AppliedChange[],
): void {
  const count = end - start
  if (count > MERGE_CHANGES_MINIMUM && count > levels.size * MERGE_SHARE_MINIMUM) {
    levels.merge(ordered, start, end, applied)
    return
  }
  for (let index = start; index < end; index++) {
    const { side, price, amount } = ordered[index]!
    const before = levels.set(price, amount)
    if (before !== amount) applied.push({ side, price, before, after: amount })
  }
}

/**
 * One side of a book: its levels in price order, found by price or by rank (0 = best). A price has at most one level
 * and no level has amount 0.
 *
 * Two parallel arrays with the best level at the END. Two thirds of the recorded changes are within ten levels of the
 * best price, so an insertion moves few entries in a book of any depth. Measured on 1,000 and on 23,000 levels per
 * side: 75 ns per clustered change at both depths. Typed arrays with manual moves took 66 ns, too small a gain for
 * their code.
 */
export class Levels {
  readonly #sign: 1 | -1
  /** The price for bids, minus the price for asks: ascending keys are better prices on both sides. */
  #keys: number[] = []
  #amounts: Scaled[] = []

  constructor(side: Side) {
    this.#sign = side === BID ? 1 : -1
  }

  get size(): number {
    return this.#keys.length
  }

  /** The amount at a price; 0 when there is no level. */
  amount(price: number): Scaled {
    const key = price * this.#sign
    const index = this.#lowerBound(key)
    return this.#keys[index] === key ? this.#amounts[index]! : 0
  }

  /** Sets the amount at a price (0 removes the level) and returns the amount before. */
  set(price: number, amount: Scaled): Scaled {
    const key = price * this.#sign
    const index = this.#lowerBound(key)
    if (this.#keys[index] !== key) {
      if (amount !== 0) {
        this.#keys.splice(index, 0, key)
        this.#amounts.splice(index, 0, amount)
      }
      return 0
    }
    const before = this.#amounts[index]!
    if (amount === 0) {
      this.#keys.splice(index, 1)
      this.#amounts.splice(index, 1)
    } else {
      this.#amounts[index] = amount
    }
    return before
  }

  /**
   * Does the same as `set` with each entry in `changes` from `start` to before `end`, in one pass over the side. It is
   * for messages so large that moving entries for every change would cost more. The changes must be on this side, best
   * first, one per price. Actual differences are appended to `applied`.
   */
  merge(changes: readonly LevelChange[], start: number, end: number, applied: AppliedChange[]): void {
    this.#pass(changes, start, end, applied, true)
  }

  /** Like `merge`, but afterwards the side has only these levels. */
  replace(levels: readonly LevelChange[], start: number, end: number, applied: AppliedChange[]): void {
    this.#pass(levels, start, end, applied, false)
  }

  /** @param keepsOthers whether levels missing in the list stay */
  #pass(
    changes: readonly LevelChange[],
    start: number,
    end: number,
    applied: AppliedChange[],
    keepsOthers: boolean,
  ): void {
    const keys: number[] = []
    const amounts: Scaled[] = []
    const ownSide: Side = this.#sign === 1 ? BID : ASK
    let old = this.#keys.length - 1
    const passWhile = (better: number) => {
      for (; old >= 0 && this.#keys[old]! > better; old--) {
        const key = this.#keys[old]!
        const before = this.#amounts[old]!
        if (keepsOthers) {
          keys.push(key)
          amounts.push(before)
        } else applied.push({ side: ownSide, price: key * this.#sign, before, after: 0 })
      }
    }
    for (let index = start; index < end; index++) {
      const { side, price, amount } = changes[index]!
      const key = price * this.#sign
      passWhile(key)
      let before: Scaled = 0
      if (old >= 0 && this.#keys[old] === key) {
        before = this.#amounts[old]!
        old--
      }
      if (amount !== 0) {
        keys.push(key)
        amounts.push(amount)
      }
      if (before !== amount) applied.push({ side, price, before, after: amount })
    }
    passWhile(Number.NEGATIVE_INFINITY)
    this.#keys = keys.reverse()
    this.#amounts = amounts.reverse()
  }

  /** The price at a rank (0 = best); `rank` must be below `size`. */
  priceAt(rank: number): number {
    return this.#keys[this.#keys.length - 1 - rank]! * this.#sign
  }

  /** The amount at a rank (0 = best); `rank` must be below `size`. */
  amountAt(rank: number): Scaled {
    return this.#amounts[this.#amounts.length - 1 - rank]!
  }

  /** How many levels are strictly better than a price, which may have no level itself. */
  rankOf(price: number): number {
    const key = price * this.#sign
    const index = this.#lowerBound(key)
    return this.#keys.length - index - (this.#keys[index] === key ? 1 : 0)
  }

  clear(): void {
    this.#keys = []
    this.#amounts = []
  }

  /** The first index whose key is not below `key`. Searches in doubling steps from the best end, then by halving. */
  #lowerBound(key: number): number {
    const keys = this.#keys
    let low = 0
    let high = keys.length
    for (let step = 1; step <= high; step *= 2) {
      const probe = high - step
      if (keys[probe]! < key) {
        low = probe + 1
        break
      }
      high = probe
    }
    while (low < high) {
      const middle = (low + high) >>> 1
      if (keys[middle]! < key) low = middle + 1
      else high = middle
    }
    return low
  }
}
