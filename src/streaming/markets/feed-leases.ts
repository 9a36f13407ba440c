/**
 * One process's feed leases: creates the lease for each feed group the process may lead, with its metrics. The process
 * has one holder id, created at start, so a restarted process is another holder.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Log } from '../../platform/base/log.ts'
import type { MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { FeedLease, type FeedLeaseEvents, LEASE_TIMING } from './feed-lease.ts'
import { createFeedLeaseMetrics } from './feed-lease-metrics.ts'
import { createLeaseRecords } from './feed-lease-table.ts'

export interface FeedLeasesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** How the operator recognises this process, such as its host name and process id. */
  readonly holderName: string
}

export interface FeedLeases {
  /** Requests a group's lease from now on. The caller stops it. */
  start(feedGroup: string, events: FeedLeaseEvents): FeedLease
}

export function createFeedLeases({ db, clock, log, metrics, random, holderName }: FeedLeasesOptions): FeedLeases {
  const holder = newId()
  const made = createFeedLeaseMetrics(metrics)
  const { leaseMilliseconds } = LEASE_TIMING
  return {
    start(feedGroup, events) {
      const records = createLeaseRecords({ db, feedGroup, holder, holderName, leaseMilliseconds })
      const counted = made.counted(feedGroup, events)
      const lease = new FeedLease({ feedGroup, records, events: counted, clock, log, random })
      made.observe(lease)
      return lease
    },
  }
}
