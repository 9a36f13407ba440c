/** Feed lease metrics, by feed group: whether this process leads, its epoch, and its questions' cost. */
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { FeedLease, FeedLeaseEvents, LossReason } from './feed-lease.ts'

const LOSS_REASONS: readonly LossReason[] = ['store', 'heard', 'unconfirmed', 'stopped']

export interface FeedLeaseMetrics {
  /** A group's lease events, counted and passed to `events`. */
  counted(feedGroup: string, events: FeedLeaseEvents): FeedLeaseEvents
  /** Reads a lease's state when the metrics are scraped. */
  observe(lease: FeedLease): void
}

export function createFeedLeaseMetrics(registry: MetricsRegistry): FeedLeaseMetrics {
  const registers = [registry]
  const labelNames = ['feed_group'] as const
  const leases: FeedLease[] = []
  const gauge = (name: string, help: string, read: (state: FeedLease['state']) => number): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const { state } of leases) this.set({ feed_group: state.feedGroup }, read(state))
      },
    })
  }
  gauge('tidegate_feed_lease_leader', '1 while this process leads the feed group and may publish', ({ role }) =>
    role === 'leader' ? 1 : 0,
  )
  gauge(
    'tidegate_feed_lease_paused',
    '1 while this process leads, and publishes nothing until the store confirms it',
    ({ role }) => (role === 'paused' ? 1 : 0),
  )
  gauge(
    'tidegate_feed_lease_epoch',
    'The feed group’s epoch: a leader’s own, else the highest known',
    ({ epoch }) => epoch,
  )
  gauge(
    'tidegate_feed_lease_renewal_age_seconds',
    'Time since this process’s last successful renewal (0 for a standby)',
    ({ renewedMillisecondsAgo = 0 }) => renewedMillisecondsAgo / 1000,
  )
  gauge('tidegate_feed_lease_failures', 'Consecutive failed queries to the store', ({ failures }) => failures)
  const taken = new Counter({
    name: 'tidegate_feed_lease_taken_total',
    help: 'Times this process became the feed group’s leader',
    labelNames,
    registers,
  })
  const lost = new Counter({
    name: 'tidegate_feed_lease_lost_total',
    help: 'Times its leadership ended: another holder in the store, a higher epoch heard, paused and unconfirmed, stopped',
    labelNames: ['feed_group', 'reason'],
    registers,
  })
  return {
    counted(feedGroup, events) {
      taken.inc({ feed_group: feedGroup }, 0)
      for (const reason of LOSS_REASONS) lost.inc({ feed_group: feedGroup, reason }, 0)
      return {
        onTaken(epoch) {
          taken.inc({ feed_group: feedGroup })
          events.onTaken(epoch)
        },
        onDeposed(reason) {
          lost.inc({ feed_group: feedGroup, reason })
          events.onDeposed(reason)
        },
        onResumed: () => events.onResumed(),
      }
    },
    observe: (lease) => void leases.push(lease),
  }
}
