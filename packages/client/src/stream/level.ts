/** A book's level, and a book's side as a sorted list of levels. Numbers are exact: decimal text or integers. */

export type SideName = 'bids' | 'asks'

export const SIDES: readonly SideName[] = ['bids', 'asks']

/** One venue's share of a level's amount. */
export interface VenueShare {
  readonly venue: string
  /** Decimal text with the market's decimals. */
  readonly amount: string
}

/** A price and the amount bid or asked at it. */
export class Level {
  /** Decimal text with the market's decimals: `60000.10`. The same price always has the same text. */
  readonly price: string
  /** Decimal text with the market's decimals: `0.25000000`. In a change, `0` means that the level is gone. */
  readonly amount: string
  /**
   * The amount divided between the market's venues, whose shares add up to it. Empty where the service does not know
   * the venues. Undefined where the level is gone, without the option `attribution`, and in the base protocol.
   */
  readonly venues: readonly VenueShare[] | undefined

  constructor(price: string, amount: string, venues?: readonly VenueShare[]) {
    this.price = price
    this.amount = amount
    this.venues = venues
  }

  /** The price in units of its last decimal: 6000010n for `60000.10`. */
  get scaledPrice(): bigint {
    return scaled(this.price)
  }

  /** The amount in units of its last decimal: 25000000n for `0.25000000`. */
  get scaledAmount(): bigint {
    return scaled(this.amount)
  }
}

export function scaled(text: string): bigint {
  return BigInt(text.replace('.', ''))
}

/** How many digits follow the point. */
export function decimalsOf(text: string): number {
  const point = text.indexOf('.')
  return point === -1 ? 0 : text.length - point - 1
}

/**
 * Whether `left` precedes `right` on its side: the highest bid and the lowest ask are first. Both have the same number
 * of decimals and no leading zeros, so the longer text is the larger number.
 */
export function isBetter(side: SideName, left: string, right: string): boolean {
  const isLess = left.length === right.length ? left < right : left.length < right.length
  return side === 'asks' ? isLess : left !== right && !isLess
}

/**
 * Whether two levels at a price have the same amount, divided in the same way. An absent level equals only an absent
 * one.
 */
export function isSame(left: Level | undefined, right: Level | undefined): boolean {
  return left?.amount === right?.amount && sharesText(left) === sharesText(right)
}

function sharesText(level: Level | undefined): string | undefined {
  return level?.venues && JSON.stringify(level.venues)
}

export class Side {
  readonly name: SideName
  /** The best level is last: most changes are near it, and an insertion there moves few levels. */
  #levels: Level[] = []

  constructor(name: SideName) {
    this.name = name
  }

  get size(): number {
    return this.#levels.length
  }

  get best(): Level | undefined {
    return this.#levels.at(-1)
  }

  /** The best levels, best first. */
  top(count: number): Level[] {
    return this.#levels.slice(Math.max(0, this.#levels.length - count)).reverse()
  }

  /** All levels, in an order no caller may rely on. */
  [Symbol.iterator](): Iterator<Level> {
    return this.#levels[Symbol.iterator]()
  }

  at(price: string): Level | undefined {
    const level = this.#levels[this.#place(price)]
    return level?.price === price ? level : undefined
  }

  /** Replaces all levels. `levels` has the best first. */
  replace(levels: readonly Level[]): void {
    this.#levels = [...levels].reverse()
  }

  set(level: Level): void {
    const place = this.#place(level.price)
    const isKnown = this.#levels[place]?.price === level.price
    this.#levels.splice(place, isKnown ? 1 : 0, level)
  }

  remove(price: string): void {
    this.#levels.splice(this.#place(price), 1)
  }

  /** The price's index, or the index where it would be inserted. */
  #place(price: string): number {
    let [low, high] = [0, this.#levels.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBetter(this.name, price, (this.#levels[middle] as Level).price)) low = middle + 1
      else high = middle
    }
    return low
  }
}
