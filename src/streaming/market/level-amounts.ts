/**
 * A book's amounts by side and price, for owners that need neither the book's order nor its best price: a publication's
 * reader and the aggregation of orders. It computes its levels' digest: the first one in one pass (0.3 us per level),
 * later ones from the levels changed since. It does not know whether the book is crossed. Pure.
 */
import type { Scaled } from '../../platform/base/decimal.ts'
import { LevelSum } from './digest.ts'
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from './event.ts'

export class LevelAmounts {
  readonly #market: Pick<MarketDefinition, 'priceDecimals' | 'amountDecimals'>
  readonly #sides: readonly [Map<number, Scaled>, Map<number, Scaled>] = [new Map(), new Map()]
  /** The sum at the last digest. Undefined before this book's first one. */
  #sum: LevelSum | undefined
  /** The levels changed since the last digest, with their amounts at it. */
  readonly #summed: readonly [Map<number, Scaled>, Map<number, Scaled>] = [new Map(), new Map()]

  constructor(market: Pick<MarketDefinition, 'priceDecimals' | 'amountDecimals'>) {
    this.#market = market
  }

  /** The level count on both sides. */
  get size(): number {
    return this.#sides[BID].size + this.#sides[ASK].size
  }

  /** 0 when there is no level. */
  amount(side: Side, price: number): Scaled {
    return this.#sides[side].get(price) ?? 0
  }

  /** Sets the amount at a price; 0 removes the level. */
  set(side: Side, price: number, amount: Scaled): void {
    if (this.#sum !== undefined) this.#remember(side, price)
    if (amount === 0) this.#sides[side].delete(price)
    else this.#sides[side].set(price, amount)
  }

  clear(): void {
    for (const amounts of this.#sides) amounts.clear()
    this.#forgetSum()
  }

  /** All levels, in no particular order. */
  levels(): LevelChange[] {
    const levels: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      for (const [price, amount] of this.#sides[side]) levels.push({ side, price, amount })
    }
    return levels
  }

  /** The digest of all levels (`digest`): 16 lower-case hexadecimal digits. */
  digest(): string {
    const sum = this.#sum ?? new LevelSum(this.#market)
    if (this.#sum === undefined) {
      for (const { side, price, amount } of this.levels()) sum.count(side, price, amount, 1)
    } else {
      for (const side of [BID, ASK] as const) {
        for (const [price, before] of this.#summed[side]) {
          sum.count(side, price, before, -1)
          sum.count(side, price, this.amount(side, price), 1)
        }
        this.#summed[side].clear()
      }
    }
    this.#sum = sum
    return sum.toString()
  }

  #remember(side: Side, price: number): void {
    const summed = this.#summed[side]
    if (summed.has(price)) return
    summed.set(price, this.amount(side, price))
    // From here on a pass over all levels is cheaper. This also bounds the memory by the book's size.
    if (summed.size > this.size) this.#forgetSum()
  }

  #forgetSum(): void {
    this.#sum = undefined
    for (const summed of this.#summed) summed.clear()
  }
}
