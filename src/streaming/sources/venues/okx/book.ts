/**
 * One book from OKX's `books` channel
 * (https://www.okx.com/docs-v5/en/#order-book-trading-market-data-ws-order-book-channel): 400 levels per side, with
 * messages chained by sequence ids. A message must continue the chain, and match the book's checksum where OKX still
 * sends one. Since June 2026 the checksum is 0, which is ignored. Recordings and servers older than the sequence ids
 * have only the checksum. The book begins with a channel snapshot, or with a fetched one that joins the channel's
 * messages (`start`).
 */
import { crc32 } from 'node:zlib'
import { ASK, BID } from '../../../market/event.ts'
import type { BestPrices, BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'
import { VenueLevels } from '../venue-levels.ts'
import type { OkxBookData } from './message.ts'
import { OkxStart } from './start.ts'

/** Levels per side in the checksum. */
const CHECKSUM_LEVELS = 25
/** Delay before a snapshot that does not join its channel's messages is fetched again. */
const FETCH_AGAIN_MILLISECONDS = 2_000

export class OkxBook implements VenueBook<OkxBookData> {
  readonly #symbol: string
  readonly #levels: VenueLevels
  readonly #start = new OkxStart()
  #isComplete = false
  /** The last message's sequence id; undefined when it had none. */
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
    if (data.isFetched !== true && (this.#isComplete || data.isSnapshot)) return this.#follow(data)
    // A book started by the channel needs no fetched snapshot.
    return this.#isComplete ? { kind: 'update', changes: [] } : this.#begin(data)
  }

  /** Starts the book from the fetched snapshot, once it joins the channel's messages. */
  #begin(data: OkxBookData): BookStep {
    const isFetched = data.isFetched === true
    const joined = isFetched ? this.#start.takeFetched(data) : this.#start.add(data)
    if (joined === undefined) {
      if (!isFetched) return { kind: 'waiting' }
      const reason =
        `okx sent no snapshot of ${this.#symbol}, and the fetched one shares no sequence number ` +
        'with its messages: waiting for either'
      return { kind: 'waiting', confirmMilliseconds: FETCH_AGAIN_MILLISECONDS, reason }
    }
    for (const message of joined) {
      const step = this.#follow(message)
      if (step.kind === 'wrong') return step
    }
    const whole = this.#levels.replace([...this.#levels.side(BID).sent], [...this.#levels.side(ASK).sent])
    return typeof whole === 'string' ? this.#wrong(whole) : { kind: 'snapshot', levels: whole.levels }
  }

  #follow(data: OkxBookData): BookStep {
    const { isSnapshot, bids, asks, sequence, checksum } = data
    if (!isSnapshot) {
      const problem = this.#brokenChain(data)
      if (problem !== undefined) return this.#wrong(problem)
    }
    const taken = isSnapshot ? this.#levels.replace(bids, asks) : this.#levels.apply(bids, asks)
    if (typeof taken === 'string') return this.#wrong(taken)
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

  #wrong(problem: string): BookStep {
    return { kind: 'wrong', reason: `${this.#symbol}: ${problem}` }
  }

  /**
   * Why an update does not follow the last message, if it does not. `id` may be equal to `previous` (nothing changed
   * for a minute) or below it (OKX restarts its numbers after maintenance): only `previous` shows what it follows.
   */
  #brokenChain({ sequence, checksum }: OkxBookData): string | undefined {
    if (sequence === undefined) return undefined
    if (this.#sequenceId === undefined) return checksum === undefined ? 'sequence ids begin in the middle' : undefined
    if (sequence.previous === this.#sequenceId) return undefined
    return `message ${sequence.id} follows ${sequence.previous}, the last one was ${this.#sequenceId}`
  }

  /** Signed CRC32 over best bid, best ask, next bid and so on, each as `price:amount`. */
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
