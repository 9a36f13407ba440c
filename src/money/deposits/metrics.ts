/**
 * Deposit metrics: reported results, conflicts, the oldest pending deposit's age, and the number of unattributed
 * deposits and of deposits waiting for a review.
 */
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { createStoreGauge, type StoreSample } from '../../platform/store/store-gauge.ts'

export interface DepositMetrics {
  /** `disposition` is `none` until a deposit is credited. */
  readonly deposits: Counter<'status' | 'disposition'>
  readonly conflicts: Counter
}

/** Counting stops here, so a scrape's cost is limited. */
const COUNTED_MAX = 10_000

export function createDepositMetrics(registry: MetricsRegistry, db: Db): DepositMetrics {
  const gauge = (name: string, help: string, sample: RawBuilder<StoreSample>): void =>
    createStoreGauge(registry, db, { name, help, sample })
  gauge(
    'tidegate_deposit_pending_oldest_seconds',
    'Age of the oldest PENDING deposit (0: none)',
    sql`
      select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as value
      from deposits where status = 'PENDING'`,
  )
  gauge(
    'tidegate_deposits_unattributed',
    `Credited deposits without a profile, counted up to ${COUNTED_MAX}`,
    sql`
      select count(*)::integer as value from (
        select from deposits
        where profile_id is null and status = 'COMPLETED' and secondary_status is distinct from 'REVERSED'
        limit ${COUNTED_MAX}
      ) as counted`,
  )
  gauge(
    'tidegate_deposits_in_review',
    `Deposits above review_above.deposits waiting for the operator’s release, counted up to ${COUNTED_MAX}`,
    sql`
      select count(*)::integer as value from (
        select from deposits where secondary_status = 'HELD' and gates @> '[{"code": "REVIEW"}]' limit ${COUNTED_MAX}
      ) as counted`,
  )
  const deposits = new Counter({
    name: 'tidegate_deposits_total',
    help: 'Deposits created or changed by reports on this node, by status and disposition (none: not credited)',
    labelNames: ['status', 'disposition'],
    registers: [registry],
  })
  const conflicts = new Counter({
    name: 'tidegate_deposit_conflicts_total',
    help: 'Reports that contradict their payment, report a credited one as FAILED, or may repeat another bank payment',
    registers: [registry],
  })
  return { deposits, conflicts }
}
