/**
 * The order book of `verify` and `prove`: levels keyed by price text, nothing parsed, nothing rounded. It is deliberately
 * simple and shares no code with the books of the service and of `@tidegate/client`, so that it can verify them. The checks
 * are in `book-checker`.
 */

export type BookSide = 'bids' | 'asks'

export const BOOK_SIDES: readonly BookSide[] = ['bids', 'asks']

/** One level as it travels: decimal text. */
export interface WireLevel {
  readonly price: string
  readonly amount: string
}

/**
 * Orders two prices by value. Exact as long as neither has leading zeros: a longer integer part is larger, and equal
 * lengths compare digit by digit. Negative: `left` is lower.
 */
function comparePrices(left: string, right: string): number {
  const difference = integerDigits(left) - integerDigits(right)
  if (difference !== 0) return difference
  if (left === right) return 0
  return left < right ? -1 : 1
}

/** True when `left` stands before `right` on its side: bids descend, asks ascend. */
export function standsBefore(side: BookSide, left: string, right: string): boolean {
  const order = comparePrices(left, right)
  return side === 'bids' ? order > 0 : order < 0
}

export class ClientBook {
  readonly #levels: Record<BookSide, Map<string, string>> = { bids: new Map(), asks: new Map() }
  readonly #best: Record<BookSide, string | undefined> = { bids: undefined, asks: undefined }

  size(side: BookSide): number {
    return this.#levels[side].size
  }

  amount(side: BookSide, price: string): string | undefined {
    return this.#levels[side].get(price)
  }

  set(side: BookSide, price: string, amount: string): void {
    this.#levels[side].set(price, amount)
    const best = this.#best[side]
    if (best === undefined || standsBefore(side, price, best)) this.#best[side] = price
  }

  remove(side: BookSide, price: string): void {
    this.#levels[side].delete(price)
    if (this.#best[side] !== price) return
    this.#best[side] = undefined
    for (const candidate of this.#levels[side].keys()) {
      const best = this.#best[side]
      if (best === undefined || standsBefore(side, candidate, best)) this.#best[side] = candidate
    }
  }

  best(side: BookSide): WireLevel | undefined {
    const price = this.#best[side]
    return price === undefined ? undefined : { price, amount: this.#levels[side].get(price) as string }
  }

  isCrossed(): boolean {
    const bid = this.#best.bids
    const ask = this.#best.asks
    return bid !== undefined && ask !== undefined && comparePrices(bid, ask) >= 0
  }

  /** The best `count` levels of one side, best first. One pass, because a book may have 50,000 levels. */
  top(side: BookSide, count: number): WireLevel[] {
    const prices: string[] = []
    for (const price of this.#levels[side].keys()) {
      const last = prices.at(-1)
      if (prices.length >= count && (last === undefined || !standsBefore(side, price, last))) continue
      let position = prices.length
      while (position > 0 && standsBefore(side, price, prices[position - 1] as string)) position--
      prices.splice(position, 0, price)
      if (prices.length > count) prices.pop()
    }
    return prices.map((price) => ({ price, amount: this.#levels[side].get(price) as string }))
  }
}

function integerDigits(price: string): number {
  const point = price.indexOf('.')
  return point === -1 ? price.length : point
}
