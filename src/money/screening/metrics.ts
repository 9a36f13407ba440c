/** Screening metrics: open screenings by status, the oldest unanswered one's age, and requests to the hook. */
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { createStoreGauge, type StoreSample } from '../../platform/store/store-gauge.ts'

/** Counting stops here, so a scrape's cost is limited. */
const COUNTED_MAX = 10_000

/** What waits for the hook, for a person, and for a person about a rejected deposit. */
const OPEN = sql`screenings.status = statuses.status and (screenings.status in ('PENDING', 'HELD')
  or screenings.status = 'REJECTED' and screenings.kind = 'deposit')`

export function createScreeningMetrics(registry: MetricsRegistry, db: Db): void {
  const gauge = (name: string, help: string, value: RawBuilder<number>): void => {
    const sample = sql<StoreSample>`
      select status as label, ${value} as value from unnest(array['PENDING', 'HELD', 'REJECTED']) as statuses (status)`
    createStoreGauge(registry, db, { name, help, labelName: 'status', sample })
  }
  gauge(
    'tidegate_screenings_oldest_seconds',
    'Age of the oldest open screening by status (0: none). PENDING: not answered, HELD: for a person, REJECTED: deposits',
    sql`greatest(0, coalesce(extract(epoch from clock_timestamp() - (
      select min(asked_at) from screenings where ${OPEN}
    )), 0))::float8`,
  )
  gauge(
    'tidegate_screenings_open',
    `Open screenings by status, counted up to ${COUNTED_MAX}. REJECTED: deposits that a person must decide about`,
    sql`(select count(*)::integer from (select from screenings where ${OPEN} limit ${COUNTED_MAX}) as open)`,
  )
}

/** The counter for requests to the hook, by outcome. */
export function createHookCounter(registry: MetricsRegistry): Counter<'outcome'> {
  return new Counter({
    name: 'tidegate_screenings_requests_total',
    help: 'Requests to screening.url by outcome. outdated: the answer was for an earlier question, and was ignored',
    labelNames: ['outcome'],
    registers: [registry],
  })
}
