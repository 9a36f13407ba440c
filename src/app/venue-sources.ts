/** How the sources of all venues are made from the configuration: each where its settings say that it is. */

import type { Config } from '../config/settings.ts'
import { VENUE_NAMES, VENUES, type VenueAddresses, type VenueName, type VenueSourceParts } from '../feed/venues.ts'
import type { CreateSource } from './market-data.ts'

/** By venue, what makes a source of its markets. */
export function createVenueSources(
  config: Config,
  parts: Omit<VenueSourceParts, 'markets'>,
): Readonly<Record<VenueName, CreateSource>> {
  const create =
    (name: VenueName): CreateSource =>
    (markets) =>
      VENUES[name].createSource(venueAddresses(config, name), { ...parts, markets })
  return Object.fromEntries(VENUE_NAMES.map((name) => [name, create(name)])) as Record<VenueName, CreateSource>
}

/** Where the settings say that a venue is. */
export function venueAddresses(config: Config, name: VenueName): VenueAddresses {
  const addresses: Readonly<Record<VenueName, VenueAddresses>> = {
    kraken: { url: config['feeds.kraken.url'], restUrl: config['feeds.kraken.rest_url'] },
    okx: { url: config['feeds.okx.url'], restUrl: config['feeds.okx.rest_url'] },
    binance: { url: config['feeds.binance.url'], restUrl: config['feeds.binance.rest_url'] },
    coinbase: { url: config['feeds.coinbase.url'], restUrl: config['feeds.coinbase.rest_url'] },
  }
  return addresses[name]
}
