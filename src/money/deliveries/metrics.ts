/**
 * Delivery metrics: the number and age of open deliveries, how long due ones wait, payments in review, late
 * settlements, and webhook outcomes.
 */
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { createStoreGauge, type StoreSample } from '../../platform/store/store-gauge.ts'
import { isReportedPaid } from './hand-out.ts'
import { RECORDED } from './webhook-store.ts'

export interface DeliveryMetrics {
  readonly lateSettles: Counter
}

const OPEN_STATUSES = ['WAITING', 'CLAIMED', 'SENT', 'NEEDS_OPERATOR'] as const

/** Counting stops here, so a scrape's cost is limited. */
const COUNTED_MAX = 10_000

/** `statuses.status` is the state’s name. */
const OPEN = sql`deliveries.status = statuses.status and deliveries.status not in ('SETTLED', 'FAILED')`

export function createDeliveryMetrics(registry: MetricsRegistry, db: Db): DeliveryMetrics {
  const gauge = (name: string, help: string, value: RawBuilder<number>): void => {
    const sample = sql<StoreSample>`
      select status as label, ${value} as value from unnest(${[...OPEN_STATUSES]}::text[]) as statuses (status)`
    createStoreGauge(registry, db, { name, help, labelName: 'status', sample })
  }
  gauge(
    'tidegate_deliveries_oldest_seconds',
    'Age of the oldest delivery per open state (0: none)',
    sql`greatest(0, coalesce(extract(epoch from clock_timestamp() - (
      select min(created_at) from deliveries where ${OPEN}
    )), 0))::float8`,
  )
  gauge(
    'tidegate_deliveries_open',
    `Deliveries per open state, counted up to ${COUNTED_MAX}. NEEDS_OPERATOR ones wait for the operator`,
    sql`(select count(*)::integer from (select from deliveries where ${OPEN} limit ${COUNTED_MAX}) as open)`,
  )
  // Every look at a due delivery sets a later time, also one that finds a gate closed. One that is reported as paid is
  // not looked at, because it waits for a person and not for an executor.
  createStoreGauge(registry, db, {
    name: 'tidegate_deliveries_due_seconds',
    help: 'How long the delivery due first has waited to be handed out, or again after its claim ended (0: none)',
    sample: sql`
      select greatest(0, coalesce(extract(epoch from clock_timestamp() - (
        select next_attempt_at from deliveries where next_attempt_at is not null and not ${isReportedPaid}
        order by next_attempt_at limit 1
      )), 0))::float8 as value`,
  })
  createStoreGauge(registry, db, {
    name: 'tidegate_deliveries_in_review',
    help: `Payments above review_above.payments waiting for the operator’s release, counted up to ${COUNTED_MAX}`,
    sample: sql`
      select count(*)::integer as value from (
        select from deliveries where status = 'WAITING' and gates @> '[{"code": "REVIEW"}]' limit ${COUNTED_MAX}
      ) as held`,
  })
  const lateSettles = new Counter({
    name: 'tidegate_deliveries_late_settles_total',
    help: 'Deliveries settled after they had failed and their money had been returned to the profile',
    registers: [registry],
  })
  return { lateSettles }
}

/** The counter for webhook requests, by outcome. */
export function createRequestCounter(registry: MetricsRegistry): Counter<'outcome'> {
  const requests = new Counter({
    name: 'tidegate_deliveries_requests_total',
    help: 'Requests to deliveries.webhook_url by outcome. contradiction: the executor contradicts a recorded result',
    labelNames: ['outcome'],
    registers: [registry],
  })
  // An alert needs the series to exist before the first contradiction.
  for (const outcome of RECORDED) requests.inc({ outcome }, 0)
  return requests
}
