/** How the source of a feed is made from the configuration: of its kind, where its settings say that it is. */

import type { Config } from '../config/settings.ts'
import type { Source } from '../feed/source.ts'
import { VENUES, type VenueSourceParts } from '../feed/venues.ts'

/** The feed must be configured, which `loadConfig` and `reload` have checked of every market. */
export function createFeedSource({ feeds }: Config, parts: VenueSourceParts): Source {
  const feed = feeds.get(parts.name)
  if (feed === undefined) throw new Error(`there is no feed ${parts.name}`)
  return VENUES[feed.kind].createSource(feed.addresses, parts)
}
