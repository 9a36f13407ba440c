/**
 * The best price on each side, for programs that need no more of a book. Each message replaces the previous one, so a
 * slow loop gets the latest. A lost connection leaves nothing to repair, because the service sends the current prices
 * again.
 */
import type { BookStatus } from './book-change.ts'
import { decimalsOf, isBetter, type Level } from './level.ts'
import { type BookStatement, Fault, type TopMessage } from './messages.ts'
import { Reader } from './reader.ts'
import { closedError, type Subscription } from './subscription.ts'

export interface TopOfBookOptions {
  /** At most one change per this time, in milliseconds: 50, 100, 250, 500 or 1000. Default: every change. */
  readonly interval?: number
  /** Ends the subscription. */
  readonly signal?: AbortSignal
}

/** The best prices at one moment. */
export interface Top {
  readonly status: BookStatus
  /** The last message's time: RFC 3339 with nanoseconds. */
  readonly time: string
  readonly bestBid: Level | undefined
  readonly bestAsk: Level | undefined
}

/** A market's best prices, kept current by its client. Loop over it for its changes. Several loops may read it. */
export interface TopOfBook extends Top, AsyncIterable<Top> {
  readonly market: string
  /** Ends the subscription and its loops. */
  close(): void
}

export class LiveTopOfBook implements TopOfBook, Subscription {
  readonly channel = 'market_data.top_of_book'
  readonly market: string
  readonly close: () => void
  status: BookStatus = 'RESYNCING'
  time = ''
  bestBid: Level | undefined
  bestAsk: Level | undefined
  /** Why the subscription was given up. */
  error: unknown
  readonly #interval: number | undefined
  readonly #readers = new Set<Reader<Top>>()
  #cursor: string | undefined
  /** No message has arrived since the acknowledgement. */
  #isFirst = true
  #settle: ((error?: unknown) => void) | undefined
  /** Resolves with the first message. */
  readonly ready: Promise<void>

  constructor(market: string, { interval }: TopOfBookOptions, close: () => void) {
    this.market = market
    this.close = close
    this.#interval = interval
    this.ready = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error))
    })
  }

  [Symbol.asyncIterator](): Reader<Top> {
    const reader = new TopReader(this, () => this.#readers.delete(reader))
    this.#readers.add(reader)
    return reader
  }

  // Not resumed: after a resume, the service sends nothing while the best prices are unchanged, and nothing else
  // confirms them.
  params(isExtended: boolean): object {
    return isExtended ? { market: this.market, interval_ms: this.#interval } : { market: this.market }
  }

  acknowledge(): void {
    this.#isFirst = true
  }

  receive(message: TopMessage): void {
    this.#check(message)
    const { time, bid, ask, position } = message
    this.#isFirst = false
    this.#cursor = position?.cursor
    this.time = time
    this.bestBid = bid
    this.bestAsk = ask
    // No source sends an empty book. A service without a source withdraws the book.
    this.#become(bid === undefined && ask === undefined ? 'STALE' : 'LIVE')
    this.#settle?.()
  }

  confirm(_statement: BookStatement): void {
    // Statements are about books only.
  }

  suspend(): void {
    this.#become('RESYNCING')
  }

  reset(): void {
    this.bestBid = undefined
    this.bestAsk = undefined
    this.suspend()
  }

  end(error: unknown): void {
    this.error = error
    this.#become('CLOSED')
    this.#settle?.(error ?? closedError(`the top of the book of ${this.market}`))
  }

  #check({ time, bid, ask, position }: TopMessage): void {
    // Only within one subscription: after a reconnect, the new node may lag slightly behind the previous one.
    if (!this.#isFirst && time <= this.time) throw new Fault(`a message of ${time} arrived after one of ${this.time}`)
    // Without a predecessor, the sequence starts again: another node of the service now writes the market.
    if (!this.#isFirst && position?.prev !== undefined && position.prev !== this.#cursor)
      throw new Fault('a message is missing: a top of the book follows one that was not received')
    if (bid === undefined || ask === undefined) return
    if (decimalsOf(bid.price) !== decimalsOf(ask.price) || decimalsOf(bid.amount) !== decimalsOf(ask.amount))
      throw new Fault('the two sides of the top of the book have different decimals')
    if (!isBetter('asks', bid.price, ask.price))
      throw new Fault(`the book is crossed: ${bid.price} bid, ${ask.price} asked`)
  }

  #become(status: BookStatus): void {
    if (this.status !== 'CLOSED') this.status = status
    for (const reader of this.#readers) reader.wake()
  }
}

class TopReader extends Reader<Top> {
  readonly #source: Top & { readonly error: unknown }
  #seen: Top | undefined

  constructor(source: Top & { readonly error: unknown }, onReturn: () => void) {
    super(source, onReturn)
    this.#source = source
  }

  protected take(): Top | undefined {
    const { status, time, bestBid, bestAsk } = this.#source
    const seen = this.#seen
    if (seen?.status === status && seen.time === time && seen.bestBid === bestBid && seen.bestAsk === bestAsk)
      return undefined
    this.#seen = { status, time, bestBid, bestAsk }
    return this.#seen
  }
}
