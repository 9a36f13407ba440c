/**
 * A live order book. It applies every message of its subscription, checks each one, and begins again from a new SNAPSHOT as
 * soon as one is wrong; over a lost connection it is resumed from the last message. Its status is never better than it is.
 */

import type { BookChange, BookStatus } from './book-change.ts'
import { BookContent, checkVenues } from './book-content.ts'
import { ChangeReader, type ReadableBook } from './change-reader.ts'
import type { Level } from './level.ts'
import { type BookMessage, type BookStatement, Fault, type InstrumentState } from './messages.ts'
import { closedError, type Subscription } from './subscription.ts'

export interface BookOptions {
  /** Best levels per side: 1, 5, 10, 25, 50, 100, 500 or 1000. Default: all that the service publishes. */
  readonly depth?: number
  /** At most one update per this time, in milliseconds: 50, 100, 250, 500 or 1000. Default: every update. */
  readonly interval?: number
  /** Levels name their venues: see `venues` of a level. Default: false. Without effect in the base protocol. */
  readonly attribution?: boolean
  /** Closes the book. */
  readonly signal?: AbortSignal
}

/** A book, kept current by its client. Loop over it for its changes; several loops may read the same book. */
export interface Book extends AsyncIterable<BookChange> {
  readonly market: string
  readonly status: BookStatus
  /** Of the last message: RFC 3339 with milliseconds. */
  readonly time: string
  /** Of the last message; undefined in the base protocol. The evidence of a price names its book by it. */
  readonly cursor: string | undefined
  readonly bestBid: Level | undefined
  readonly bestAsk: Level | undefined
  /** The best levels, best first; without a count all of them. */
  bids(count?: number): Level[]
  asks(count?: number): Level[]
  /** Decimals of all prices and amounts, and thereby the unit of the scaled integers; undefined before the first level. */
  readonly priceDecimals: number | undefined
  readonly amountDecimals: number | undefined
  /** Whether the instrument trades at its venue; undefined where the service does not know or say. */
  readonly instrumentState: InstrumentState | undefined
  /** The last comparison with the digest of the service; undefined before the first, and in the base protocol. */
  readonly digestMatch: DigestMatch | undefined
  /** Ends the subscription, and with it the loops. */
  close(): void
}

/** The digest of the whole book was equal to that of the service. A book whose digest differs is repaired instead. */
export interface DigestMatch {
  /** 16 lower-case hexadecimal digits. */
  readonly digest: string
  /** When the service stated it, by its clock: RFC 3339 with nanoseconds. */
  readonly time: string
}

export class LiveBook implements Book, Subscription, ReadableBook {
  readonly channel = 'market_data'
  readonly market: string
  readonly close: () => void
  content = new BookContent()
  status: BookStatus = 'RESYNCING'
  instrumentState: InstrumentState | undefined
  digestMatch: DigestMatch | undefined
  /** Why it was given up. */
  error: unknown
  readonly #options: BookOptions
  readonly #readers = new Set<ChangeReader>()
  /** Of the last message of `tidegate.v1`, if the content may be resumed from there. */
  #cursor: string | undefined
  /** Nothing was received since the acknowledgement. */
  #isFirst = true
  #settle: ((error?: unknown) => void) | undefined
  /** Resolves with the first SNAPSHOT. */
  readonly ready: Promise<void>

  constructor(market: string, options: BookOptions, close: () => void) {
    this.market = market
    this.close = close
    this.#options = options
    this.ready = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error))
    })
  }

  get time(): string {
    return this.content.time
  }

  get cursor(): string | undefined {
    return this.#cursor
  }

  get bestBid(): Level | undefined {
    return this.content.bids.best
  }

  get bestAsk(): Level | undefined {
    return this.content.asks.best
  }

  get priceDecimals(): number | undefined {
    return this.content.priceDecimals
  }

  get amountDecimals(): number | undefined {
    return this.content.amountDecimals
  }

  // The base protocol has no depths: the whole book is received there, and its best levels are shown.
  bids(count = this.#options.depth ?? Number.POSITIVE_INFINITY): Level[] {
    return this.content.bids.top(count)
  }

  asks(count = this.#options.depth ?? Number.POSITIVE_INFINITY): Level[] {
    return this.content.asks.top(count)
  }

  [Symbol.asyncIterator](): ChangeReader {
    const reader = new ChangeReader(this, () => this.#readers.delete(reader))
    this.#readers.add(reader)
    return reader
  }

  params(isExtended: boolean): object {
    const { market } = this
    if (!isExtended) return { market }
    const { depth, interval: interval_ms, attribution } = this.#options
    // JSON leaves out what is undefined.
    return { market, depth, interval_ms, attribution: attribution || undefined, resume: this.#cursor }
  }

  acknowledge(): void {
    this.#isFirst = true
  }

  receive(message: BookMessage): void {
    if (this.#options.attribution && message.position !== undefined) checkVenues(message)
    if (message.isSnapshot) this.#replace(message)
    else this.#update(message)
    this.#cursor = message.position?.cursor
    this.#isFirst = false
    // No source sends an empty book; a service without a source withdraws it.
    this.#become(this.content.isEmpty ? 'STALE' : 'LIVE')
    if (message.isSnapshot) this.#settle?.()
    this.#wakeReaders()
  }

  confirm({ cursor, digest, time, isLive, instrumentState }: BookStatement): void {
    if (cursor !== this.#cursor) throw new Fault('a message is missing: the service has sent a later one')
    if (digest !== undefined && digest !== this.content.digest) {
      throw new Fault(`the digest of the book is ${this.content.digest}, and ${digest} at the service`)
    }
    if (digest !== undefined) this.digestMatch = { digest, time }
    this.instrumentState = instrumentState
    this.#become(isLive ? 'LIVE' : 'STALE')
    this.#wakeReaders()
  }

  suspend(): void {
    this.#become('RESYNCING')
    this.#wakeReaders()
  }

  reset(): void {
    this.content = new BookContent()
    this.#cursor = undefined
    this.digestMatch = undefined
    for (const reader of this.#readers) reader.noteWhole()
    this.suspend()
  }

  end(error: unknown): void {
    this.error = error
    this.#become('CLOSED')
    this.#settle?.(error ?? closedError(`the book of ${this.market}`))
    this.#wakeReaders()
  }

  #replace(message: BookMessage): void {
    const content = new BookContent()
    // Of two connections, the second may be to a node that is a little behind the first.
    if (!this.#isFirst) content.time = this.content.time
    content.replace(message)
    this.content = content
    for (const reader of this.#readers) reader.noteWhole()
  }

  #update(message: BookMessage): void {
    const { position } = message
    if (this.#isFirst && this.#cursor === undefined) throw new Fault('an UPDATE arrived before the SNAPSHOT')
    // The first UPDATE after a withdrawal, which emptied the book, names no message before it.
    const follows = position?.prev === this.#cursor || (position?.prev === undefined && this.content.isEmpty)
    if (!follows) throw new Fault('a message is missing: an UPDATE follows one that was not received')
    this.content.update(message, (side, price, before) => {
      for (const reader of this.#readers) reader.note(side, price, before)
    })
  }

  #become(status: BookStatus): void {
    if (this.status !== 'CLOSED') this.status = status
  }

  #wakeReaders(): void {
    for (const reader of this.#readers) reader.wake()
  }
}
