/**
 * The simplest possible order book: a Map per side, sorted on every read. It is slow and obviously correct, the oracle
 * for the real engine, and shares no code with it.
 */
import type { Scaled } from '../../src/platform/base/decimal.ts'
import { ASK, BID, type LevelChange, type Side } from '../../src/streaming/market/event.ts'

export class NaiveBook {
  readonly #sides = [new Map<number, Scaled>(), new Map<number, Scaled>()] as const

  constructor(levels: readonly LevelChange[] = []) {
    this.apply(levels)
  }

  /** Applies changes one by one. Amount 0 removes a level. */
  apply(changes: readonly LevelChange[]): void {
    for (const { side, price, amount } of changes) {
      if (amount === 0) this.#sides[side].delete(price)
      else this.#sides[side].set(price, amount)
    }
  }

  replace(levels: readonly LevelChange[]): void {
    for (const side of this.#sides) side.clear()
    this.apply(levels)
  }

  /** The best `depth` levels per side (0 = all): bids descending by price, then asks ascending. */
  levels(depth: number): LevelChange[] {
    const best = (side: Side) => {
      const all = [...this.#sides[side]].sort(([left], [right]) => (side === BID ? right - left : left - right))
      return all.slice(0, depth === 0 ? all.length : depth).map(([price, amount]) => ({ side, price, amount }))
    }
    return [...best(BID), ...best(ASK)]
  }

  copy(): NaiveBook {
    return new NaiveBook(this.levels(0))
  }

  amount(side: Side, price: number): Scaled {
    return this.#sides[side].get(price) ?? 0
  }
}

/** The difference between the levels `before` and `after` as sets: bids descending, then asks ascending. */
export function naiveDifference(before: readonly LevelChange[], after: readonly LevelChange[]): LevelChange[] {
  const from = new NaiveBook(before)
  const to = new NaiveBook(after)
  const touched = new NaiveBook([...before, ...after])
  return touched
    .levels(0)
    .map(({ side, price }) => ({ side, price, amount: to.amount(side, price) }))
    .filter(({ side, price, amount }) => amount !== from.amount(side, price))
}
