/**
 * One side of a book: its levels in order of price, found by price or by rank (0 = best). A price has at most one level
 * and no level has amount 0. It knows no messages, no versions and not the other side.
 *
 * Two parallel arrays with the best level at the END: two thirds of recorded changes are within ten levels of the best,
 * so an insertion moves a few entries however deep the book is. Measured on 1,000 and on 23,000 levels per side: 75 ns
 * per clustered change at both depths; typed arrays with manual moves took 66 ns, which does not justify their code.
 */
import type { Scaled } from '../../platform/base/decimal.ts'
import { type AppliedChange, ASK, BID, type LevelChange, type Side } from './event.ts'

export class Levels {
  readonly #sign: 1 | -1
  /** Price for bids, minus price for asks: ascending keys are better prices on both sides. */
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
   * Does the same as `set` with each of `changes` from `start` to before `end`, in one pass over the side: for messages
   * so large that moving entries for every change would cost more. The changes must be of this side, best first, one
   * per price. Actual differences are appended to `applied`.
   */
  merge(changes: readonly LevelChange[], start: number, end: number, applied: AppliedChange[]): void {
    this.#pass(changes, start, end, applied, true)
  }

  /** Like `merge`, but the side then has these levels only. */
  replace(levels: readonly LevelChange[], start: number, end: number, applied: AppliedChange[]): void {
    this.#pass(levels, start, end, applied, false)
  }

  /** @param keepsOthers whether levels that are not in the list stay */
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

  /** Number of levels that are strictly better than a price, whether or not it has a level. */
  rankOf(price: number): number {
    const key = price * this.#sign
    const index = this.#lowerBound(key)
    return this.#keys.length - index - (this.#keys[index] === key ? 1 : 0)
  }

  clear(): void {
    this.#keys = []
    this.#amounts = []
  }

  /** Index of the first key that is not below `key`; steps of doubling length from the best end, then halving. */
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
