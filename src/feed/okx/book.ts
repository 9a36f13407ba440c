/**
 * One book of OKX's `books` channel
 * (https://www.okx.com/docs-v5/en/#order-book-trading-market-data-ws-order-book-channel): 400 levels a side, whose
 * messages are chained by sequence ids. It vouches for nothing that is not proved: a message continues the chain, and
 * bears the checksum of the book where OKX still sends one. Since June 2026 the checksum is 0, which proves nothing,
 * and is not looked at; recordings and servers from before the sequence ids have only the checksum. Pure.
 */
import { crc32 } from 'node:zlib'
import { ASK, BID } from '../../market/event.ts'
import type { BestPrices, BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'
import { VenueLevels } from '../venue-levels.ts'
import type { OkxBookData } from './message.ts'

/** Levels a side that the checksum covers. */
const CHECKSUM_LEVELS = 25

export class OkxBook implements VenueBook<OkxBookData> {
  readonly #symbol: string
  readonly #levels: VenueLevels
  #isComplete = false
  /** Of the last message; absent when it bore none. */
  #sequenceId: number | undefined

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

  apply(data: OkxBookData): BookStep {
    const { isSnapshot, bids, asks, sequence, checksum } = data
    if (!isSnapshot) {
      if (!this.#isComplete) return { kind: 'waiting' }
      const problem = this.#brokenChain(data)
      if (problem !== undefined) return { kind: 'wrong', reason: `${this.#symbol}: ${problem}` }
    }
    const taken = isSnapshot ? this.#levels.replace(bids, asks) : this.#levels.apply(bids, asks)
    if (typeof taken === 'string') return { kind: 'wrong', reason: `${this.#symbol}: ${taken}` }
    if (checksum !== undefined && this.#checksum() !== checksum) {
      const reason = `the checksum of ${this.#symbol} does not match`
      return { kind: 'wrong', reason, isChecksumMismatch: true }
    }
    this.#sequenceId = sequence?.id
    if (!('levels' in taken)) return { kind: 'update', changes: taken }
    const { levels, changes } = taken
    const isFirst = !this.#isComplete
    this.#isComplete = true
    return isFirst ? { kind: 'snapshot', levels } : { kind: 'snapshot', levels, changes }
  }

  /**
   * What is wrong with the place of an update, if anything is. `id` may be equal to `previous` (nothing changed for a
   * minute) or below it (OKX counts anew after maintenance): only `previous` says what it follows.
   */
  #brokenChain({ sequence, checksum }: OkxBookData): string | undefined {
    if (sequence === undefined) return undefined
    if (this.#sequenceId === undefined) return checksum === undefined ? 'sequence ids begin in the middle' : undefined
    if (sequence.previous === this.#sequenceId) return undefined
    return `message ${sequence.id} follows ${sequence.previous}, the last one was ${this.#sequenceId}`
  }

  /** Signed CRC32 over the text of the best bid, the best ask, the next bid and so on, `price:amount` each. */
  #checksum(): number {
    const { sent: bids } = this.#levels.side(BID)
    const { sent: asks } = this.#levels.side(ASK)
    const parts: string[] = []
    for (let index = 0; index < CHECKSUM_LEVELS; index++) {
      for (const level of [bids[index], asks[index]]) if (level !== undefined) parts.push(level.price, level.amount)
    }
    return crc32(parts.join(':')) | 0
  }
}
