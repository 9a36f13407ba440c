/** Which markets a process follows over `bus.url` whether they are wanted or not. */
import { hasRole } from './roles.ts'
import type { Config } from './settings.ts'

/** Up to this many markets, `stream.follow` is `all` by default. */
export const FOLLOW_ALL_MARKETS_MAX = 500

/**
 * The symbols of the markets that are always followed: all of them, or with `stream.follow: wanted` those that this
 * process may lead. A recorder records every market, and gateway processes get every market from their main process.
 */
export function followsAlways(config: Config): ReadonlySet<string> {
  const { markets, 'feed.groups': groups } = config
  const isAll = config['stream.follow'] === 'all' || config['recording.dir'] !== '' || config['gateway.processes'] !== 0
  const mayLead = (group: string) => hasRole(config, 'feed') && (groups.length === 0 || groups.includes(group))
  const followed = markets.filter(({ feedGroup }) => isAll || mayLead(feedGroup))
  return new Set(followed.map(({ definition }) => definition.symbol))
}
