/**
 * A book rebuilt from Kraken's messages in the simplest way: doubles in a Map, sorted on every read. Its values print
 * back exactly while they have at most 15 significant digits, as all recorded and hand-written ones here have. It is
 * the oracle for the connector's books, and the test venue sends it to late subscribers.
 */
import { crc32 } from 'node:zlib'

export interface KrakenBookShape {
  readonly symbol: string
  /** Levels per side. */
  readonly depth: number
  readonly pricePrecision: number
  readonly quantityPrecision: number
}

interface RecordedLevel {
  readonly price: number
  readonly qty: number
}

export interface RecordedMessage {
  readonly channel?: string
  readonly type?: string
  readonly data?: readonly {
    readonly bids: readonly RecordedLevel[]
    readonly asks: readonly RecordedLevel[]
    readonly checksum?: number
  }[]
}

/** Price and quantity as text at the venue's precision. */
export type LevelText = readonly [price: string, quantity: string]

const CHECKSUM_LEVELS = 10

export class RecordedKrakenBook {
  readonly #shape: KrakenBookShape
  #bids = new Map<number, number>()
  #asks = new Map<number, number>()

  constructor(shape: KrakenBookShape) {
    this.#shape = shape
  }

  /** Applies a book message and returns its checksum. Undefined if it has none or is not a book message. */
  apply(message: RecordedMessage): number | undefined {
    let recorded: number | undefined
    for (const { bids, asks, checksum } of message.channel === 'book' ? (message.data ?? []) : []) {
      if (message.type === 'snapshot') {
        this.#bids.clear()
        this.#asks.clear()
      }
      this.#bids = applySide(this.#bids, bids, this.#shape.depth, -1)
      this.#asks = applySide(this.#asks, asks, this.#shape.depth, 1)
      recorded = checksum
    }
    return recorded
  }

  /** Best level first. */
  bids(): LevelText[] {
    return this.#texts(this.#bids)
  }

  /** Best level first. */
  asks(): LevelText[] {
    return this.#texts(this.#asks)
  }

  checksum(): number {
    const digits = (levels: readonly LevelText[]) =>
      levels
        .slice(0, CHECKSUM_LEVELS)
        .flat()
        .map((text) => text.replace('.', '').replace(/^0+/, ''))
        .join('')
    return crc32(digits(this.asks()) + digits(this.bids()))
  }

  /** The book as a snapshot frame. */
  snapshotText(): string {
    const side = (levels: readonly LevelText[]) =>
      levels.map(([price, quantity]) => `{"price":${price},"qty":${quantity}}`).join(',')
    const book = `"bids":[${side(this.bids())}],"asks":[${side(this.asks())}],"checksum":${this.checksum()}`
    return `{"channel":"book","type":"snapshot","data":[{"symbol":"${this.#shape.symbol}",${book},"timestamp":"2026-01-01T00:00:00.000000Z"}]}`
  }

  #texts(side: ReadonlyMap<number, number>): LevelText[] {
    const { pricePrecision, quantityPrecision } = this.#shape
    return [...side].map(([price, qty]) => [price.toFixed(pricePrecision), qty.toFixed(quantityPrecision)])
  }
}

/** The side after the message, best level first, cut to the depth. `sign` 1 = lowest first, -1 = highest first. */
function applySide(
  side: ReadonlyMap<number, number>,
  levels: readonly RecordedLevel[],
  depth: number,
  sign: number,
): Map<number, number> {
  const next = new Map(side)
  for (const { price, qty } of levels) {
    if (qty === 0) next.delete(price)
    else next.set(price, qty)
  }
  return new Map([...next].sort(([left], [right]) => sign * (left - right)).slice(0, depth))
}
