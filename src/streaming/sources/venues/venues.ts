/**
 * The venue table: one row per kind of venue. The `feeds.*` settings, the markets' sources, `check-config` and the
 * reference page are generated from it. A feed in the configuration is one connection to a venue. Several feeds may
 * have the same kind.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Source, SourceMarket } from '../source.ts'
import { BINANCE } from './binance/protocol.ts'
import { BITSTAMP } from './bitstamp/protocol.ts'
import { BYBIT } from './bybit/protocol.ts'
import { COINBASE } from './coinbase/protocol.ts'
import { KRAKEN } from './kraken/protocol.ts'
import { OKX } from './okx/protocol.ts'
import type { Fetched, Listing, VenueAddresses, VenueDefinition } from './venue.ts'
import { lookUpListings } from './venue-lookup.ts'
import { VenueSource } from './venue-source.ts'

export const VENUES = {
  kraken: venue(KRAKEN),
  okx: venue(OKX),
  binance: venue(BINANCE),
  coinbase: venue(COINBASE),
  bybit: venue(BYBIT),
  bitstamp: venue(BITSTAMP),
} as const satisfies Readonly<Record<string, Venue>>

export type VenueName = keyof typeof VENUES

export const VENUE_NAMES = Object.keys(VENUES) as readonly VenueName[]

export interface VenueSourceParts {
  /** The feed's name, for logs, reasons and metrics: `binance-us`. */
  readonly name: string
  readonly markets: readonly SourceMarket[]
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: MetricsRegistry
}

export interface Venue extends Omit<VenueDefinition<unknown>, 'createProtocol'> {
  /** A source for all the given markets over one connection. */
  readonly createSource: (addresses: VenueAddresses, parts: VenueSourceParts) => Source
  /**
   * How the venue lists these symbols, read over a separate connection. A symbol missing from the result is not listed.
   */
  readonly readListings: (
    addresses: VenueAddresses,
    symbols: readonly string[],
    parts: Pick<VenueSourceParts, 'name' | 'clock' | 'log'>,
  ) => Promise<Fetched<readonly Listing[]>>
}

function venue<Data>({ createProtocol, ...facts }: VenueDefinition<Data>): Venue {
  return {
    ...facts,
    createSource: (addresses, { name, ...parts }) => {
      const { proof } = facts
      return new VenueSource({ ...parts, venue: name, proof, url: addresses.url, protocol: createProtocol(addresses) })
    },
    readListings: (addresses, symbols, { name, ...parts }) =>
      lookUpListings({ ...parts, venue: name, url: addresses.url, protocol: createProtocol(addresses) }, symbols),
  }
}
