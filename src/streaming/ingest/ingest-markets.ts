/**
 * The markets that engines publish to this node, as the source `ingest`, and the routing from each message to its
 * market. It checks that the publisher may publish the market, and that the market has a free line for it. A message to
 * an unknown market is rejected, and changes nothing.
 */
import { isUtf8 } from 'node:buffer'
import { readLargeMessage } from '../sources/publication/large-message.ts'
import {
  type PublicationProblem,
  type PublishedMessage,
  parsePublication,
  problemText,
} from '../sources/publication/message.ts'
import type { PublicationPosition } from '../sources/publication/publication-step.ts'
import type { Source, SourceMarket } from '../sources/source.ts'
import { hashInParts } from './content-hash.ts'
import { IngestMarket, type IngestMarketOptions } from './ingest-market.ts'
import { LINES_MAX } from './lines.ts'
import type { Publisher } from './publisher.ts'

/**
 * A message's outcome.
 * - `taken`: its market has it, or it was rejected.
 * - `held`: the publisher must not be read until it is `released`.
 * - `broken`: not even its market can be read, so no later message can be trusted.
 */
export type Delivery =
  | { readonly kind: 'taken' | 'held'; readonly market?: string }
  | { readonly kind: 'broken'; readonly reason: string }

export class IngestMarkets {
  readonly #options: IngestMarketOptions
  /** By symbol. */
  readonly #markets = new Map<string, IngestMarket>()
  readonly #bySource = new Map<SourceMarket, IngestMarket>()

  constructor(options: IngestMarketOptions) {
    this.#options = options
  }

  /** These markets' source. It opens nothing: publishers connect to the listener. */
  createSource(markets: readonly SourceMarket[]): Source {
    return {
      start: () => {
        for (const market of markets) this.#add(market)
      },
      add: (market) => this.#add(market),
      remove: (market) => this.#remove(market),
      stop: async () => {
        for (const market of [...this.#bySource.keys()]) this.#remove(market)
      },
      rebuild: (market, reason) => this.#bySource.get(market)?.rebuild(reason),
      instrument: (market) => this.#bySource.get(market)?.instrument,
      followed: (market) => this.#bySource.get(market)?.followed,
      resume: (market, _executed, followed) => {
        if (followed !== undefined) this.#bySource.get(market)?.takeOver(followed)
        return followed !== undefined
      },
      proof: (market) => this.#bySource.get(market)?.proof ?? 'NONE',
      notices: (market) => this.#bySource.get(market)?.notices ?? [],
    }
  }

  /** Whether one of these markets exists here. */
  hasAny(symbols: ReadonlySet<string>): boolean {
    return [...this.#markets.keys()].some((symbol) => symbols.has(symbol))
  }

  /** The last accepted message for each market that exists here. */
  acceptedOf(symbols: Iterable<string>): Map<string, PublicationPosition | undefined> {
    const accepted = new Map<string, PublicationPosition | undefined>()
    for (const symbol of symbols) {
      const market = this.#markets.get(symbol)
      if (market !== undefined) accepted.set(symbol, market.accepted)
    }
    return accepted
  }

  /** Reads a large message in steps, each well under a millisecond. */
  *readInParts(data: Buffer): Generator<void, PublishedMessage> {
    const definitions = [...this.#bySource.keys()].map(({ market }) => market)
    const message = yield* readLargeMessage(data, (name) => definitions.filter(({ symbol }) => symbol === name))
    if (message.type === 'SNAPSHOT') yield* hashInParts(message)
    return message
  }

  /** @param mayPublish symbols for the markets the publisher may publish */
  deliver(publisher: Publisher, message: PublishedMessage, mayPublish: ReadonlySet<string>): Delivery {
    if (message.type === 'heartbeat') {
      for (const book of message.books) {
        if (mayPublish.has(book.market)) this.#markets.get(book.market)?.compare(publisher, book)
      }
      return { kind: 'taken' }
    }
    const { market: symbol } = message
    if (symbol === undefined) return { kind: 'broken', reason: problemText(message as PublicationProblem) }
    const market = this.#markets.get(symbol)
    const refusal = this.#refusal(publisher, symbol, market, mayPublish)
    if (market === undefined || refusal !== undefined) {
      publisher.reject(symbol, refusal ?? '')
      return { kind: 'taken', market: symbol }
    }
    if (message.type !== 'problem') return { kind: market.take(publisher, message) ? 'taken' : 'held', market: symbol }
    market.refuse(publisher, message)
    return { kind: 'taken', market: symbol }
  }

  /** The publisher is gone, or may not publish these markets any more. Absent: all. */
  leave(publisher: Publisher, reason: string, symbols: Iterable<string> = this.#markets.keys()): void {
    for (const symbol of symbols) this.#markets.get(symbol)?.leave(publisher, reason)
  }

  #refusal(
    publisher: Publisher,
    symbol: string,
    market: IngestMarket | undefined,
    mayPublish: ReadonlySet<string>,
  ): string | undefined {
    if (!mayPublish.has(symbol)) return 'the client may not publish this market'
    if (market === undefined) return 'this node has no market with this symbol and the source ingest'
    if (market.accepts(publisher)) return undefined
    market.countRejected()
    return `the market has ${LINES_MAX} lines already`
  }

  #add(sourceMarket: SourceMarket): void {
    const market = new IngestMarket(sourceMarket, this.#options)
    this.#bySource.set(sourceMarket, market)
    this.#markets.set(market.symbol, market)
  }

  #remove(sourceMarket: SourceMarket): void {
    const market = this.#bySource.get(sourceMarket)
    if (market === undefined) return
    this.#bySource.delete(sourceMarket)
    if (this.#markets.get(market.symbol) === market) this.#markets.delete(market.symbol)
    market.stop()
  }
}

/** Reads a message at once. */
export function readMessage(data: Buffer): PublishedMessage {
  return isUtf8(data) ? parsePublication(data.toString()) : NOT_UTF8
}

const NOT_UTF8 = {
  type: 'problem',
  market: undefined,
  member: '',
  rule: 'is not UTF-8',
  isSnapshot: false,
} as const satisfies PublicationProblem
