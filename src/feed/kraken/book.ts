/**
 * One Kraken book: at the precision of the venue, cut to the subscribed depth after each message, and checked against
 * its CRC32 (https://docs.kraken.com/exchange/guides/websockets/book-checksum-v2). It reports exactly the levels that
 * differ after a message, including those that fell out of the depth, which the venue never deletes explicitly. A book
 * whose checksum differs is wrong.
 */
import { crc32 } from 'node:zlib'
import { ASK, BID, type Side } from '../../market/event.ts'
import type { BestPrices, BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'
import { priceOf, VenueLevels } from '../venue-levels.ts'
import type { KrakenBookData } from './message.ts'

/** Levels per side that the checksum covers, for every depth. */
const CHECKSUM_LEVELS = 10

export class KrakenBook implements VenueBook<KrakenBookData> {
  readonly #symbol: string
  readonly #levels: VenueLevels
  #isComplete = false

  constructor(options: VenueBookOptions) {
    this.#symbol = options.listing.symbol
    this.#levels = new VenueLevels(options)
  }

  get best(): BestPrices {
    return this.#levels.best
  }

  get unfit(): readonly UnfitLevel[] {
    return this.#levels.unfit
  }

  /** The last entry for a price wins. A snapshot replaces the book; messages before the first one are ignored. */
  apply({ isSnapshot, bids, asks, checksum }: KrakenBookData): BookStep {
    if (!isSnapshot && !this.#isComplete) return { kind: 'waiting' }
    const taken = isSnapshot ? this.#levels.replace(bids, asks) : this.#levels.apply(bids, asks)
    if (typeof taken === 'string') return { kind: 'wrong', reason: taken }
    if (this.#checksum() !== checksum) {
      const reason = `the checksum of ${this.#symbol} does not match`
      return { kind: 'wrong', reason, isChecksumMismatch: true }
    }
    if (!('levels' in taken)) return { kind: 'update', changes: taken }
    const { levels, changes } = taken
    const isFirst = !this.#isComplete
    this.#isComplete = true
    return isFirst ? { kind: 'snapshot', levels } : { kind: 'snapshot', levels, changes }
  }

  /** CRC32 over the digits of price and quantity of the best ten asks, then of the best ten bids. */
  #checksum(): number {
    return crc32(this.#checksumText(ASK) + this.#checksumText(BID))
  }

  #checksumText(side: Side): string {
    const { keys, amounts } = this.#levels.side(side)
    let text = ''
    for (let index = 0; index < CHECKSUM_LEVELS && index < keys.length; index++) {
      text += `${priceOf(keys[index]!)}${amounts[index]!}`
    }
    return text
  }
}
