/**
 * The book of one published market, kept from the text of messages alone. It is deliberately simple and shares no code
 * with the reader of the service, so that both can be compared: amounts are bigint at 18 decimals, levels a map for each
 * side, resting orders a map, and the digest is computed as docs/reference/extended-stream.md describes it. Pure.
 */

export type BookSide = 'bid' | 'ask'

interface Resting {
  readonly side: BookSide
  readonly price: bigint
  readonly amount: bigint
}

export interface Decimals {
  readonly price: number
  readonly amount: number
}

/** What an order change makes impossible. */
export type OrderFault = 'order-unknown' | 'order-added-twice' | 'trade-exceeds-order'

const SCALE = 18
const MASK = 0xffff_ffff_ffff_ffffn

/** A decimal text at 18 decimals; digits after them are cut. */
export function scaled(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(SCALE, '0').slice(0, SCALE))
}

/** Digits after the point without zeros at the end. */
export function decimalsOf(text: string): number {
  const [, fraction = ''] = text.split('.')
  return fraction.replace(/0+$/, '').length
}

export class NaiveBook {
  readonly #levels: Record<BookSide, Map<bigint, bigint>> = { bid: new Map(), ask: new Map() }
  readonly #best: Record<BookSide, bigint | undefined> = { bid: undefined, ask: undefined }
  /** Present where the market is published with orders. */
  readonly orders: Map<string, Resting> | undefined
  readonly #decimals: Decimals
  #digest = 0n

  /** @param decimals those of the market, which the digest is written with */
  constructor(hasOrders: boolean, decimals: Decimals) {
    this.orders = hasOrders ? new Map() : undefined
    this.#decimals = decimals
  }

  /** 16 lower-case hexadecimal digits. */
  get digest(): string {
    return (this.#digest & MASK).toString(16).padStart(16, '0')
  }

  /** Levels of both sides. */
  get size(): number {
    return this.#levels.bid.size + this.#levels.ask.size
  }

  /** Sets the amount of a level; 0 removes it. Returns whether the level was in the book. */
  set(side: BookSide, price: bigint, amount: bigint): boolean {
    const levels = this.#levels[side]
    const before = levels.get(price)
    if (before !== undefined) this.#digest -= levelHash(this.#text(side, price, before))
    if (amount === 0n) this.#remove(side, price)
    else {
      levels.set(price, amount)
      this.#digest += levelHash(this.#text(side, price, amount))
      const best = this.#best[side]
      if (best === undefined || (side === 'bid' ? price > best : price < best)) this.#best[side] = price
    }
    return before !== undefined
  }

  add(id: string, order: Resting): OrderFault | undefined {
    if (this.#resting.has(id)) return 'order-added-twice'
    this.#resting.set(id, order)
    this.#change(order.side, order.price, order.amount)
    return undefined
  }

  modify(id: string, amount: bigint, price: bigint | undefined): OrderFault | undefined {
    const order = this.#resting.get(id)
    if (order === undefined) return 'order-unknown'
    this.delete(id)
    return this.add(id, { side: order.side, price: price ?? order.price, amount })
  }

  delete(id: string): OrderFault | undefined {
    const order = this.#resting.get(id)
    if (order === undefined) return 'order-unknown'
    this.#resting.delete(id)
    this.#change(order.side, order.price, -order.amount)
    return undefined
  }

  trade(id: string, amount: bigint): OrderFault | undefined {
    const order = this.#resting.get(id)
    if (order === undefined) return 'order-unknown'
    if (amount > order.amount) return 'trade-exceeds-order'
    if (amount === order.amount) return this.delete(id)
    return this.modify(id, order.amount - amount, undefined)
  }

  /** The crossing prices; undefined while the book is not crossed. */
  crossing(): string | undefined {
    const { bid, ask } = this.#best
    if (bid === undefined || ask === undefined || bid < ask) return undefined
    return `bid ${decimalText(bid, this.#decimals.price)}, ask ${decimalText(ask, this.#decimals.price)}`
  }

  get #resting(): Map<string, Resting> {
    if (this.orders === undefined) throw new Error('the book has no orders')
    return this.orders
  }

  #change(side: BookSide, price: bigint, by: bigint): void {
    this.set(side, price, (this.#levels[side].get(price) ?? 0n) + by)
  }

  #remove(side: BookSide, price: bigint): void {
    const levels = this.#levels[side]
    levels.delete(price)
    if (this.#best[side] !== price) return
    let best: bigint | undefined
    for (const other of levels.keys()) {
      if (best === undefined || (side === 'bid' ? other > best : other < best)) best = other
    }
    this.#best[side] = best
  }

  #text(side: BookSide, price: bigint, amount: bigint): string {
    return `${side}|${decimalText(price, this.#decimals.price)}|${decimalText(amount, this.#decimals.amount)}`
  }
}

function decimalText(value: bigint, decimals: number): string {
  const digits = value.toString().padStart(SCALE + 1, '0')
  const whole = digits.slice(0, -SCALE)
  return decimals === 0 ? whole : `${whole}.${digits.slice(-SCALE).slice(0, decimals)}`
}

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
