/**
 * The checks' order book: levels keyed by price text, with the digest from docs/reference/extended-stream.md in
 * arbitrary precision. Nothing is rounded. It is deliberately simple and shares no code with the books of the service
 * and `@tidegate/client`, so it can check them. The rules are elsewhere. Pure.
 */

export type BookSide = 'bids' | 'asks'

export const BOOK_SIDES: readonly BookSide[] = ['bids', 'asks']

/** One level as it travels: decimal text. */
export interface WireLevel {
  readonly price: string
  readonly amount: string
}

/** Digits after the point in a market's prices and amounts. */
export interface Decimals {
  readonly price: number
  readonly amount: number
}

/**
 * Orders two prices by value. Exact if neither has leading zeros and both have the same decimals: a longer integer part is
 * larger, and equal lengths compare digit by digit. Negative: `left` is lower.
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

/** The text, cut to this number of digits after the point. */
export function cutDecimals(text: string, decimals: number): string {
  const [whole = '', fraction = ''] = text.split('.')
  return decimals === 0 ? whole : `${whole}.${fraction.slice(0, decimals)}`
}

export class NaiveBook {
  readonly #levels: Record<BookSide, Map<string, string>> = { bids: new Map(), asks: new Map() }
  readonly #best: Record<BookSide, string | undefined> = { bids: undefined, asks: undefined }
  /** Sides whose best level was removed. The next is only searched when it is asked for: a message may remove all levels. */
  readonly #bestRemoved = new Set<BookSide>()
  readonly #decimals: Decimals | undefined
  /** Sum of the level hashes. Undefined until the first digest, because a checker may never need one. */
  #sum: bigint | undefined

  /** @param decimals for the digest, where the levels have more */
  constructor(decimals?: Decimals) {
    this.#decimals = decimals
  }

  size(side: BookSide): number {
    return this.#levels[side].size
  }

  /** Levels on the larger side. */
  get depth(): number {
    return Math.max(this.size('bids'), this.size('asks'))
  }

  amount(side: BookSide, price: string): string | undefined {
    return this.#levels[side].get(price)
  }

  /** Sets a level's amount. Exactly `0` removes the level. */
  set(side: BookSide, price: string, amount: string): void {
    if (amount === '0') {
      this.remove(side, price)
      return
    }
    this.#count(side, price, -1n)
    this.#levels[side].set(price, amount)
    this.#count(side, price, 1n)
    const best = this.#best[side]
    if (best === undefined || standsBefore(side, price, best)) this.#best[side] = price
  }

  remove(side: BookSide, price: string): void {
    this.#count(side, price, -1n)
    this.#levels[side].delete(price)
    if (this.#best[side] === price) this.#bestRemoved.add(side)
  }

  best(side: BookSide): WireLevel | undefined {
    const price = this.#bestPrice(side)
    return price === undefined ? undefined : { price, amount: this.#levels[side].get(price) as string }
  }

  isCrossed(): boolean {
    const bid = this.#bestPrice('bids')
    const ask = this.#bestPrice('asks')
    return bid !== undefined && ask !== undefined && comparePrices(bid, ask) >= 0
  }

  /** One side's best `count` levels, best first. One pass, because a book may have 50,000 levels. */
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

  /** One side's best `depth` levels (0 = all), best first. */
  levels(side: BookSide, depth = 0): WireLevel[] {
    const sorted = Array.from(this.#levels[side], ([price, amount]) => ({ price, amount })).sort((left, right) =>
      standsBefore(side, left.price, right.price) ? -1 : 1,
    )
    return depth === 0 ? sorted : sorted.slice(0, depth)
  }

  /** 16 hexadecimal digits. */
  digest(): string {
    this.#sum ??= this.#sumOf()
    return BigInt.asUintN(64, this.#sum).toString(16).padStart(16, '0')
  }

  #bestPrice(side: BookSide): string | undefined {
    if (!this.#bestRemoved.delete(side)) return this.#best[side]
    let best: string | undefined
    for (const price of this.#levels[side].keys()) {
      if (best === undefined || standsBefore(side, price, best)) best = price
    }
    this.#best[side] = best
    return best
  }

  #count(side: BookSide, price: string, factor: bigint): void {
    const amount = this.#levels[side].get(price)
    if (this.#sum !== undefined && amount !== undefined) this.#sum += factor * this.#hash(side, { price, amount })
  }

  #sumOf(): bigint {
    let sum = 0n
    for (const side of BOOK_SIDES) {
      for (const [price, amount] of this.#levels[side]) sum += this.#hash(side, { price, amount })
    }
    return sum
  }

  #hash(side: BookSide, { price, amount }: WireLevel): bigint {
    const decimals = this.#decimals
    const priceText = decimals === undefined ? price : cutDecimals(price, decimals.price)
    const amountText = decimals === undefined ? amount : cutDecimals(amount, decimals.amount)
    return levelHash(`${side === 'bids' ? 'bid' : 'ask'}|${priceText}|${amountText}`)
  }
}

const MASK = 2n ** 64n - 1n

/** 64-bit FNV-1a, then fmix64 of MurmurHash3. */
function levelHash(text: string): bigint {
  let hash = 0xcbf29ce484222325n
  for (let index = 0; index < text.length; index++) {
    hash = ((hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n) & MASK
  }
  hash = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK
  hash = ((hash ^ (hash >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK
  return hash ^ (hash >> 33n)
}

function integerDigits(price: string): number {
  const point = price.indexOf('.')
  return point === -1 ? price.length : point
}
