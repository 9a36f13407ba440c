/**
 * Order books of Kraken over one connection to its WebSocket API v2. It learns the precisions of its pairs from the
 * `instrument` channel, subscribes `book` for those that are listed, and hands each message to its pair
 * (`kraken-pair`), which decides what it means. One pair's trouble never touches another; a frame that cannot be read
 * may have been of any pair, so it ends the connection. It publishes no trades.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import { type KrakenListing, type KrakenMessage, readKrakenMessage } from './kraken-message.ts'
import { KrakenPair, SNAPSHOT_MILLISECONDS } from './kraken-pair.ts'
import type { Source, SourceMarket } from './source.ts'
import { VenueConnection } from './venue-connection.ts'
import { venueMetrics } from './venue-metrics.ts'

export interface KrakenOptions {
  /** Address of the WebSocket API v2. */
  readonly url: string
  /** Several markets may read the same pair: it is subscribed once, at the depth that covers them all. */
  readonly markets: readonly SourceMarket[]
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
}

/** Kraken sends a heartbeat every second once anything is subscribed. */
const SILENCE_MILLISECONDS = 15_000

/** A source of all the given markets. */
export function createKraken(options: KrakenOptions): Source {
  return new Kraken(options)
}

class Kraken implements Source {
  readonly #clock: Clock
  readonly #log: Log
  readonly #pairs: ReadonlyMap<string, KrakenPair>
  readonly #connection: VenueConnection
  #listingsTimer: Timer | undefined

  constructor(options: KrakenOptions) {
    this.#clock = options.clock
    this.#log = options.log.child({ venue: 'kraken' })
    this.#pairs = createPairs(options, this.#log, (method, symbol, depth) => this.#request(method, [symbol], depth))
    this.#connection = new VenueConnection({
      venue: 'kraken',
      url: options.url,
      silenceMilliseconds: SILENCE_MILLISECONDS,
      clock: options.clock,
      log: options.log,
      metrics: options.metrics,
      onOpen: () => this.#askForListings(),
      onMessage: (text) => this.#handle(readKrakenMessage(text)),
      onDown: (reason) => {
        this.#listingsTimer?.cancel()
        for (const pair of this.#pairs.values()) pair.unlist(reason)
      },
    })
  }

  start(): void {
    this.#connection.start()
  }

  async stop(): Promise<void> {
    this.#listingsTimer?.cancel()
    for (const pair of this.#pairs.values()) pair.stop()
    await this.#connection.stop()
  }

  rebuild(marketSymbol: string, reason: string): void {
    for (const pair of this.#pairs.values()) pair.rebuild(marketSymbol, reason)
  }

  #askForListings(): void {
    this.#connection.send({ method: 'subscribe', params: { channel: 'instrument', snapshot: true } })
    this.#listingsTimer = this.#clock.schedule(SNAPSHOT_MILLISECONDS, () =>
      this.#connection.restart(`no list of pairs within ${SNAPSHOT_MILLISECONDS / 1000} s`),
    )
  }

  #request(method: 'subscribe' | 'unsubscribe', symbols: readonly string[], depth: number): void {
    const snapshot = method === 'subscribe' ? { snapshot: true } : {}
    this.#connection.send({ method, params: { channel: 'book', symbol: symbols, depth, ...snapshot } })
  }

  #handle(message: KrakenMessage): void {
    switch (message.kind) {
      case 'book':
        for (const book of message.books) {
          const pair = this.#pairs.get('symbol' in book ? book.symbol : book.unreadableSymbol)
          if ('symbol' in book) pair?.apply(book, message.isSnapshot)
          else pair?.fail('a book message that cannot be read')
        }
        break
      case 'instrument':
        this.#handleListings(message.listings, message.isSnapshot)
        break
      case 'acknowledged':
        this.#pairs.get(message.symbol)?.expectSnapshot(message.depth)
        break
      case 'refused': {
        const { method, symbol, reason } = message
        this.#log.warn({ method, symbol, reason }, 'venue refused a request')
        if (method === 'subscribe' && symbol !== undefined) this.#pairs.get(symbol)?.refuse(reason)
        break
      }
      case 'unreadable':
        this.#connection.restart(`a message that cannot be read: ${message.reason}`)
        break
      case 'other':
        break
    }
  }

  #handleListings(listings: readonly KrakenListing[], isSnapshot: boolean): void {
    if (isSnapshot) {
      this.#listingsTimer?.cancel()
      const listed = new Set(listings.map((listing) => listing.symbol))
      for (const pair of this.#pairs.values()) {
        if (!listed.has(pair.symbol)) pair.unlist(`kraken does not list ${pair.symbol}`)
      }
    }
    const admittedByDepth = new Map<number, KrakenPair[]>()
    for (const listing of listings) {
      const pair = this.#pairs.get(listing.symbol)
      if (pair === undefined || !pair.list(listing)) continue
      const group = admittedByDepth.get(pair.depthAsked) ?? []
      group.push(pair)
      admittedByDepth.set(pair.depthAsked, group)
    }
    for (const [depth, group] of admittedByDepth) {
      const symbols = group.map((pair) => pair.symbol)
      this.#request('subscribe', symbols, depth)
      for (const pair of group) pair.expectSnapshot()
    }
  }
}

/** One pair for all the markets that read it, by the venue's symbol. */
function createPairs(
  options: KrakenOptions,
  log: Log,
  request: (method: 'subscribe' | 'unsubscribe', symbol: string, depth: number) => void,
): ReadonlyMap<string, KrakenPair> {
  const mismatches = venueMetrics(options.metrics).checksumMismatches
  const pairs = new Map<string, KrakenPair>()
  for (const symbol of new Set(options.markets.map((source) => source.venueSymbol))) {
    const markets = options.markets.filter((source) => source.venueSymbol === symbol)
    const labels = { venue: 'kraken', symbol }
    mismatches.inc(labels, 0)
    const countMismatch = () => mismatches.inc(labels)
    pairs.set(symbol, new KrakenPair({ symbol, markets, clock: options.clock, log, request, countMismatch }))
  }
  return pairs
}
