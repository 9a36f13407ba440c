/**
 * One Kraken book as the venue sees it: at the venue's precision, cut to the subscribed depth after each whole
 * message, and judged by its CRC32 (https://docs.kraken.com/exchange/guides/websockets/book-checksum-v2). It promises
 * to report exactly the levels that differ after a message, those included that fell out of the depth, which the venue
 * never deletes by a message, and to vouch for nothing whose checksum is not the one that was sent. Pure.
 */
import { crc32 } from 'node:zlib'
import { ASK, BID, type Side } from '../../market/event.ts'
import type { BestPrices, BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'
import { priceOf, VenueLevels } from '../venue-levels.ts'
import type { KrakenBookData } from './message.ts'

/** Levels a side that the checksum covers, whatever the depth. */
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

  /** The last entry of a message wins a price; a snapshot begins anew. Before the first, nothing can be vouched for. */
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
