/** A source of Kraken's markets whose attempts are never early: the delays of a test are the longest there are. */
import type { Source } from '../../src/feed/source.ts'
import { VENUES, type VenueSourceParts } from '../../src/feed/venues.ts'

export function createKrakenSource({ url, ...parts }: Omit<VenueSourceParts, 'random'> & { url: string }): Source {
  return VENUES.kraken.createSource({ url, restUrl: '' }, { ...parts, random: () => 1 })
}
