/**
 * One Kraken book as the venue sees it: at the venue's precision, cut to the subscribed depth after each whole
 * message, and its CRC32 (https://docs.kraken.com/exchange/guides/websockets/book-checksum-v2). It promises to report
 * exactly the levels that differ after a message, those included that fell out of the depth, which the venue never
 * deletes by a message. It does not judge whether a checksum matters and knows no market of ours. Pure.
 */
import { crc32 } from 'node:zlib'
import { parseDecimal, type Scaled } from '../base/decimal.ts'
import { ASK, BID, type LevelChange, type Side } from '../market/event.ts'
import type { KrakenBookData, KrakenLevel } from './kraken-message.ts'

/** Levels a side that the checksum covers, whatever the depth. */
const CHECKSUM_LEVELS = 10

export interface KrakenBookOptions {
  readonly pricePrecision: number
  readonly quantityPrecision: number
  /** Levels a side that the subscription keeps. */
  readonly depth: number
  /** The largest price, in units of the price precision, that every reader of the book can still hold. */
  readonly priceMaximum: number
}

/** Parallel arrays, best level first. `keys` is ascending on both sides: the price of an ask, minus the price of a bid. */
interface BookSide {
  readonly keys: number[]
  readonly amounts: Scaled[]
}

export class KrakenBook {
  readonly #options: KrakenBookOptions
  readonly #sides: readonly [BookSide, BookSide] = [
    { keys: [], amounts: [] },
    { keys: [], amounts: [] },
  ]

  constructor(options: KrakenBookOptions) {
    this.#options = options
  }

  /**
   * Applies a whole message (the last entry wins a price), cuts to the depth, and returns what differs at the venue's
   * precision; on an empty book that is the complete book. A text tells what is wrong with the message: the book is
   * then undefined and has to be thrown away.
   */
  apply(data: KrakenBookData): LevelChange[] | string {
    const changes: LevelChange[] = []
    const problem = this.#applySide(BID, data.bids, changes) ?? this.#applySide(ASK, data.asks, changes)
    return problem ?? changes
  }

  /** CRC32 over the digits of price and quantity of the best ten asks, then of the best ten bids. */
  checksum(): number {
    return crc32(this.#checksumText(ASK) + this.#checksumText(BID))
  }

  #applySide(side: Side, levels: readonly KrakenLevel[], changes: LevelChange[]): string | undefined {
    if (levels.length === 0) return undefined
    const { pricePrecision, quantityPrecision, depth, priceMaximum } = this.#options
    const { keys, amounts } = this.#sides[side]
    const amountsBefore = new Map<number, Scaled>()
    for (const level of levels) {
      const price = parseDecimal(level.price, pricePrecision)
      const amount = parseDecimal(level.quantity, quantityPrecision)
      if (typeof price !== 'number' || price <= 0 || price > priceMaximum) return `cannot take price ${level.price}`
      if (typeof amount === 'string' || amount < 0) return `cannot take quantity ${level.quantity}`
      const key = side === ASK ? price : -price
      const index = lowerBound(keys, key)
      const isKnown = keys[index] === key
      if (!amountsBefore.has(key)) amountsBefore.set(key, isKnown ? (amounts[index] as Scaled) : 0)
      if (amount === 0) {
        if (!isKnown) continue
        keys.splice(index, 1)
        amounts.splice(index, 1)
      } else if (isKnown) {
        amounts[index] = amount
      } else {
        keys.splice(index, 0, key)
        amounts.splice(index, 0, amount)
      }
    }
    for (let index = depth; index < keys.length; index++) {
      const key = keys[index] as number
      if (!amountsBefore.has(key)) amountsBefore.set(key, amounts[index] as Scaled)
    }
    if (keys.length > depth) {
      keys.length = depth
      amounts.length = depth
    }
    for (const [key, before] of amountsBefore) {
      const index = lowerBound(keys, key)
      const amount = keys[index] === key ? (amounts[index] as Scaled) : 0
      if (amount !== before) changes.push({ side, price: Math.abs(key), amount })
    }
    return undefined
  }

  #checksumText(side: Side): string {
    const { keys, amounts } = this.#sides[side]
    let text = ''
    for (let index = 0; index < CHECKSUM_LEVELS && index < keys.length; index++) {
      text += `${Math.abs(keys[index] as number)}${amounts[index] as Scaled}`
    }
    return text
  }
}

/** First index whose key is not below `key`. */
function lowerBound(keys: readonly number[], key: number): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] as number) < key) low = middle + 1
    else high = middle
  }
  return low
}
