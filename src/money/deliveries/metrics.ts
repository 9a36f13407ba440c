/**
 * Delivery metrics: the number and age of open deliveries, payments in review, late settlements, and webhook outcomes.
 */
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

export interface DeliveryMetrics {
  readonly lateSettles: Counter
}

const OPEN_STATUSES = ['WAITING', 'CLAIMED', 'SENT', 'NEEDS_OPERATOR'] as const

/** Counting stops here, so a scrape's cost is limited. */
const COUNTED_MAX = 10_000

/** One state's value. `statuses.status` is the state's name. */
type Sample = RawBuilder<number>

const OPEN = sql`deliveries.status = statuses.status and deliveries.status not in ('SETTLED', 'FAILED')`

const IN_REVIEW = sql<number>`(
  select count(*)::integer from (
    select from deliveries where ${OPEN} and gates @> '[{"code": "REVIEW"}]' limit ${COUNTED_MAX}
  ) as held
)`

export function createDeliveryMetrics(registry: MetricsRegistry, db: Db): DeliveryMetrics {
  // Each gauge has its own query: the registry writes a gauge as soon as its own `collect` is done.
  const gauge = (name: string, help: string, sample: Sample): void => {
    new Gauge({
      name,
      help,
      labelNames: ['status'],
      registers: [registry],
      async collect() {
        const rows = await readOpen(db, sample)
        this.reset()
        for (const { status, value } of rows) this.set({ status }, value)
      },
    })
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
  new Gauge({
    name: 'tidegate_deliveries_in_review',
    help: `Payments above review_above.payments waiting for the operator’s release, counted up to ${COUNTED_MAX}`,
    registers: [registry],
    async collect() {
      const [row] = await readOpen(db, IN_REVIEW, ['WAITING'])
      this.reset()
      if (row !== undefined) this.set(row.value)
    },
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
  return new Counter({
    name: 'tidegate_deliveries_requests_total',
    help: 'Requests to deliveries.webhook_url by outcome. contradiction: the executor contradicts a recorded result',
    labelNames: ['outcome'],
    registers: [registry],
  })
}

/** Empty while the store has no tables yet, or is unavailable. Other metrics report that. */
async function readOpen(
  db: Db,
  sample: Sample,
  statuses: readonly string[] = OPEN_STATUSES,
): Promise<readonly { readonly status: string; readonly value: number }[]> {
  if (!db.available) return []
  try {
    const { rows } = await sql<{ readonly status: string; readonly value: number }>`
      select status, ${sample} as value from unnest(${[...statuses]}::text[]) as statuses (status)
    `.execute(db.tables())
    return rows
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StatementFailed) return []
    throw error
  }
}
