/**
 * The kinds of venues that can be read: one row each, with the name and the form of its symbols as the configuration
 * writes them, its public addresses, and what makes its protocol. Everything that goes for every venue (settings, sources
 * of markets, `check-config`) is made from this table. One feed of the configuration is one source; several may be of the
 * same kind.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import { createBinanceProtocol } from './binance/protocol.ts'
import { COINBASE_BOOKS_MAX } from './coinbase/conversation.ts'
import { createCoinbaseProtocol } from './coinbase/protocol.ts'
import { createKrakenProtocol } from './kraken/protocol.ts'
import { createOkxProtocol } from './okx/protocol.ts'
import type { Source, SourceMarket } from './source.ts'
import type { Fetched, Listing, VenueProtocol } from './venue.ts'
import { lookUpListings } from './venue-lookup.ts'
import { VenueSource } from './venue-source.ts'

/** Where a venue is: `feeds.NAME.url` and `feeds.NAME.rest_url`, without a `/` at the end. */
export interface VenueAddresses {
  readonly url: string
  readonly restUrl: string
}

export interface VenueSourceParts {
  /** The name of the feed, for logs, reasons and metrics: `binance-us`. */
  readonly name: string
  readonly markets: readonly SourceMarket[]
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: MetricsRegistry
}

export interface Venue {
  /** What its symbols look like, and one that it has always had. */
  readonly symbolPattern: RegExp
  readonly symbolExample: string
  /** The public addresses. */
  readonly addresses: VenueAddresses
  /** Pairs whose books one connection takes; absent = as many as anybody reads. */
  readonly booksMax?: number
  /** A source of all the given markets. */
  readonly createSource: (addresses: VenueAddresses, parts: VenueSourceParts) => Source
  /** How the venue lists these symbols, learnt on a connection of its own; one that is not in the answer is not listed. */
  readonly readListings: (
    addresses: VenueAddresses,
    symbols: readonly string[],
    parts: Pick<VenueSourceParts, 'name' | 'clock' | 'log'>,
  ) => Promise<Fetched<readonly Listing[]>>
}

export const VENUES = {
  kraken: venue(createKrakenProtocol, {
    symbolPattern: /^[A-Za-z0-9.]{1,20}\/[A-Za-z0-9.]{1,20}$/,
    symbolExample: 'BTC/USD',
    addresses: { url: 'wss://ws.kraken.com/v2', restUrl: 'https://api.kraken.com' },
  }),
  okx: venue(createOkxProtocol, {
    symbolPattern: /^[A-Z0-9]{1,20}-[A-Z0-9]{1,20}$/,
    symbolExample: 'BTC-USDT',
    addresses: { url: 'wss://ws.okx.com:8443/ws/v5/public', restUrl: 'https://www.okx.com' },
  }),
  binance: venue(createBinanceProtocol, {
    symbolPattern: /^[A-Z0-9._-]{1,50}$/,
    symbolExample: 'BTCUSDT',
    addresses: { url: 'wss://stream.binance.com:9443/stream', restUrl: 'https://api.binance.com' },
  }),
  coinbase: venue(createCoinbaseProtocol, {
    symbolPattern: /^[A-Z0-9]{1,20}-[A-Z0-9]{1,20}$/,
    symbolExample: 'BTC-USD',
    booksMax: COINBASE_BOOKS_MAX,
    addresses: { url: 'wss://advanced-trade-ws.coinbase.com', restUrl: 'https://api.coinbase.com' },
  }),
} as const satisfies Readonly<Record<string, Venue>>

export type VenueName = keyof typeof VENUES

export const VENUE_NAMES = Object.keys(VENUES) as readonly VenueName[]

function venue<Data>(
  createProtocol: (addresses: VenueAddresses) => VenueProtocol<Data>,
  facts: Pick<Venue, 'symbolPattern' | 'symbolExample' | 'addresses' | 'booksMax'>,
): Venue {
  return {
    ...facts,
    createSource: (addresses, { name, ...parts }) =>
      new VenueSource({ ...parts, venue: name, url: addresses.url, protocol: createProtocol(addresses) }),
    readListings: (addresses, symbols, { name, ...parts }) =>
      lookUpListings({ ...parts, venue: name, url: addresses.url, protocol: createProtocol(addresses) }, symbols),
  }
}
