/**
 * One Kraken book as the venue sees it: at the venue's precision, cut to the subscribed depth after each whole
 * message, and judged by its CRC32 (https://docs.kraken.com/exchange/guides/websockets/book-checksum-v2). It promises
 * to report exactly the levels that differ after a message, those included that fell out of the depth, which the venue
 * never deletes by a message, and to vouch for nothing whose checksum is not the one that was sent. Pure.
 */
import { crc32 } from 'node:zlib'
import { ASK, BID, type Side } from '../../market/event.ts'
import type { BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'
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

  get unfit(): readonly UnfitLevel[] {
    return this.#levels.unfit
  }

  /** The last entry of a message wins a price; a snapshot begins anew. Before the first, nothing can be vouched for. */
  apply({ isSnapshot, bids, asks, checksum }: KrakenBookData): BookStep {
    if (isSnapshot) this.#levels.clear()
    else if (!this.#isComplete) return { kind: 'waiting' }
    const changes = this.#levels.apply(bids, asks)
    if (typeof changes === 'string') return { kind: 'wrong', reason: changes }
    if (this.#checksum() !== checksum) {
      const reason = `the checksum of ${this.#symbol} does not match`
      return { kind: 'wrong', reason, isChecksumMismatch: true }
    }
    if (!isSnapshot) return { kind: 'update', changes }
    this.#isComplete = true
    return { kind: 'snapshot', levels: changes }
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
