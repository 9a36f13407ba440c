/**
 * A live order book. It applies and checks every message in its subscription. After a wrong message it starts again
 * from a new SNAPSHOT. After a lost connection it resumes from the last message. Its status is never better than its
 * content.
 */

import type { BookChange, BookStatus } from './book-change.ts'
import { BookContent, checkVenues } from './book-content.ts'
import { ChangeReader, type ReadableBook } from './change-reader.ts'
import type { Level } from './level.ts'
import { type BookMessage, type BookStatement, Fault, type InstrumentState } from './messages.ts'
import { closedError, type Subscription } from './subscription.ts'

export interface BookOptions {
  /** Best levels per side: 1, 5, 10, 25, 50, 100, 500 or 1000. Default: all published levels. */
  readonly depth?: number
  /** At most one update per this time, in milliseconds: 50, 100, 250, 500 or 1000. Default: every update. */
  readonly interval?: number
  /** Levels name their venues: see a level's `venues`. Default: false. No effect in the base protocol. */
  readonly attribution?: boolean
  /** Closes the book. */
  readonly signal?: AbortSignal
}

/** A book, kept current by its client. Loop over it for its changes. Several loops may read the same book. */
export interface Book extends AsyncIterable<BookChange> {
  readonly market: string
  readonly status: BookStatus
  /** The last message's time: RFC 3339 with milliseconds. */
  readonly time: string
  /** The last message's cursor, undefined in the base protocol. A price's evidence names its book by this cursor. */
  readonly cursor: string | undefined
  readonly bestBid: Level | undefined
  readonly bestAsk: Level | undefined
  /** The best levels, best first, or all levels without a count. */
  bids(count?: number): Level[]
  asks(count?: number): Level[]
  /**
   * How many decimals all prices and amounts have, and thereby the unit of the scaled integers. Undefined before the
   * first level.
   */
  readonly priceDecimals: number | undefined
  readonly amountDecimals: number | undefined
  /** Whether the instrument trades at its venue. Undefined where the service does not know or report it. */
  readonly instrumentState: InstrumentState | undefined
  /** The last comparison with the service's digest. Undefined before the first one, and in the base protocol. */
  readonly digestMatch: DigestMatch | undefined
  /** Ends the subscription and its loops. */
  close(): void
}

/** The whole book's digest was equal to the service's. A book whose digest differs is repaired instead. */
export interface DigestMatch {
  /** 16 lower-case hexadecimal digits. */
  readonly digest: string
  /** When the service stated it, on its clock: RFC 3339 with nanoseconds. */
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
  /** Why the subscription was given up. */
  error: unknown
  readonly #options: BookOptions
  readonly #readers = new Set<ChangeReader>()
  /** The last message's cursor in `tidegate.v1`, if the content may be resumed from there. */
  #cursor: string | undefined
  /** No message has arrived since the acknowledgement. */
  #isFirst = true
  /** A heartbeat has reported that the market has no live source. */
  #isSourceLost = false
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

  // The base protocol has no depths: the client receives the whole book and shows its best levels.
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
    // JSON omits undefined members.
    return { market, depth, interval_ms, attribution: attribution || undefined, resume: this.#cursor }
  }

  acknowledge(): void {
    this.#isFirst = true
  }

  receive(message: BookMessage): void {
    if (this.#options.attribution && message.position !== undefined) checkVenues(message)
    // A throttled, lagging or resumed subscription gets changes from before the loss after the heartbeat that reports it.
    // Only a new book says that there is a source again.
    if (message.isSnapshot || this.content.isEmpty) this.#isSourceLost = false
    if (message.isSnapshot) this.#replace(message)
    else this.#update(message)
    this.#cursor = message.position?.cursor
    this.#isFirst = false
    // No source sends an empty book. A service without a source withdraws the book.
    this.#become(this.#isSourceLost || this.content.isEmpty ? 'STALE' : 'LIVE')
    if (message.isSnapshot) this.#settle?.()
    this.#wakeReaders()
  }

  confirm({ cursor, digest, time, isLive, instrumentState }: BookStatement): void {
    if (cursor !== this.#cursor) throw new Fault('a message is missing: the service has sent a later one')
    if (digest !== undefined && digest !== this.content.digest) {
      throw new Fault(`the book's digest is ${this.content.digest}, but the service's is ${digest}`)
    }
    if (digest !== undefined) this.digestMatch = { digest, time }
    this.instrumentState = instrumentState
    this.#isSourceLost = !isLive
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
    // Only within one subscription: after a reconnect, the new node may lag slightly behind the previous one.
    if (!this.#isFirst) content.time = this.content.time
    content.replace(message)
    this.content = content
    for (const reader of this.#readers) reader.noteWhole()
  }

  #update(message: BookMessage): void {
    const { position } = message
    if (this.#isFirst && this.#cursor === undefined) throw new Fault('an UPDATE arrived before the SNAPSHOT')
    // The first UPDATE after a withdrawal, which emptied the book, names no previous message.
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
