/**
 * A Kraken source whose reconnection attempts are never early: a test's delays are the longest possible. The test venue
 * serves WebSocket and HTTP at one address.
 */
import type { Source } from '../../src/streaming/sources/source.ts'
import { VENUES, type VenueSourceParts } from '../../src/streaming/sources/venues/venues.ts'

export function createKrakenSource({
  url,
  ...parts
}: Omit<VenueSourceParts, 'name' | 'random'> & { url: string }): Source {
  const addresses = { url, restUrl: url.replace(/^ws/, 'http') }
  return VENUES.kraken.createSource(addresses, { ...parts, name: 'kraken', random: () => 1 })
}
