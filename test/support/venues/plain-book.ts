/**
 * The simplest book, for test venues: the venue's texts, ordered by their values as doubles. This is exact while prices
 * have at most 15 significant digits, as all recorded ones here have.
 */

/** Price and amount as text. */
export type LevelText = readonly [price: string, amount: string]

export interface PlainLevels {
  readonly bids: readonly LevelText[]
  readonly asks: readonly LevelText[]
}

export class PlainBook {
  readonly #bids = new PlainSide(-1)
  readonly #asks = new PlainSide(1)

  clear(): void {
    this.#bids.clear()
    this.#asks.clear()
  }

  /** Applies absolute amounts in order. A zero amount removes the level, whether it exists or not. */
  apply({ bids, asks }: PlainLevels): void {
    for (const level of bids) this.#bids.set(level)
    for (const level of asks) this.#asks.set(level)
  }

  /** Best level first. */
  levels(depth = Number.POSITIVE_INFINITY): PlainLevels {
    return { bids: this.#bids.levels(depth), asks: this.#asks.levels(depth) }
  }

  /** The difference to the other book: removed levels with amount `0` first, then new or changed ones. */
  changesTo(other: PlainLevels): PlainLevels {
    return { bids: this.#bids.changesTo(other.bids), asks: this.#asks.changesTo(other.asks) }
  }
}

class PlainSide {
  readonly #sign: 1 | -1
  readonly #levels = new Map<number, LevelText>()
  /** The prices, best first. */
  readonly #prices: number[] = []

  constructor(sign: 1 | -1) {
    this.#sign = sign
  }

  clear(): void {
    this.#levels.clear()
    this.#prices.length = 0
  }

  set(level: LevelText): void {
    const price = Number(level[0])
    const isGone = Number(level[1]) === 0
    const isKnown = this.#levels.has(price)
    if (isGone) this.#levels.delete(price)
    else this.#levels.set(price, level)
    if (isGone === isKnown) this.#prices.splice(this.#placeOf(price), isGone ? 1 : 0, ...(isGone ? [] : [price]))
  }

  levels(depth: number): LevelText[] {
    const prices = depth < this.#prices.length ? this.#prices.slice(0, depth) : this.#prices
    return prices.map((price) => this.#levels.get(price) as LevelText)
  }

  changesTo(others: readonly LevelText[]): LevelText[] {
    const kept = new Set(others.map(([price]) => Number(price)))
    const gone = this.#prices.filter((price) => !kept.has(price))
    return [
      ...gone.map((price): LevelText => [(this.#levels.get(price) as LevelText)[0], '0']),
      ...others.filter(([price, amount]) => Number(this.#levels.get(Number(price))?.[1]) !== Number(amount)),
    ]
  }

  /** The index of the price, or where to insert it. */
  #placeOf(price: number): number {
    let low = 0
    let high = this.#prices.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (((this.#prices[middle] as number) - price) * this.#sign < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
