/**
 * Takes part in the leadership of feed groups, where several processes may write a market: with `bus.url` and the role
 * `feed`. Publishers are admitted by a leading process.
 */

import { hostname } from 'node:os'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Ingest } from '../../../streaming/ingest/ingest.ts'
import { FeedLeadership } from '../../../streaming/markets/feed-leadership.ts'
import { createFeedLeases } from '../../../streaming/markets/feed-leases.ts'
import type { MarketWriters } from '../../../streaming/markets/market-writers.ts'
import { hasRole } from '../../config/roles.ts'
import type { Config } from '../../config/settings.ts'
import type { LinkedMarkets } from './start-bus.ts'

interface LeadershipParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  readonly metrics: MetricsRegistry
  readonly ingest: Pick<Ingest, 'open' | 'close'> | undefined
}

/** Undefined where no other process can write the markets, or this one does not. Nothing is led before `startLeadership`. */
export function createLeadership(parts: LeadershipParts, db: Db): FeedLeadership | undefined {
  const { config } = parts
  if (config['bus.url'] === '' || !hasRole(config, 'feed')) return undefined
  const leases = createFeedLeases({ ...parts, db, holderName: `${hostname()}:${process.pid}` })
  return new FeedLeadership({ leases, groups: config['feed.groups'] })
}

/** Asks for the leases. The store is available, and the floors of the commit times are known. */
export function startLeadership(
  { config, ingest }: LeadershipParts,
  leadership: FeedLeadership,
  writers: MarketWriters,
  bus: LinkedMarkets,
): void {
  const onChange = (isLost: boolean): void => {
    if (isLost) ingest?.close('another process leads: publish to the feed group’s other processes')
    if (leadership.leadsAny) ingest?.open()
  }
  ingest?.close('this process does not lead: publish to the feed group’s other processes')
  leadership.start({ writers, bus, onChange }, config.markets)
}
