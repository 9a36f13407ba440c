/** What an operator watches of deliveries: how many are not final, how long they wait, and what came out of requests. */
import { Counter, Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../store/db.ts'
import { type RawBuilder, sql } from '../store/sql.ts'

export interface DeliveryMetrics {
  readonly lateSettles: Counter
}

const OPEN_STATUSES = ['WAITING', 'CLAIMED', 'SENT', 'NEEDS_OPERATOR'] as const

/** So that a look costs the same however many there are. */
const COUNTED_MAX = 10_000

/** What there is now of one state, whose name is `statuses.status`. */
type Sample = RawBuilder<number>

const OPEN = sql`deliveries.status = statuses.status and deliveries.status not in ('SETTLED', 'FAILED')`

export function createDeliveryMetrics(registry: MetricsRegistry, db: Db): DeliveryMetrics {
  // Each reads for itself: the registry writes a gauge as soon as its own reading is done.
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
    'Age of the oldest delivery in each state that is not final; 0 when there is none',
    sql`greatest(0, coalesce(extract(epoch from clock_timestamp() - (
      select min(created_at) from deliveries where ${OPEN}
    )), 0))::float8`,
  )
  gauge(
    'tidegate_deliveries_open',
    `Deliveries in each state that is not final, counted up to ${COUNTED_MAX}; NEEDS_OPERATOR ones wait for you`,
    sql`(select count(*)::integer from (select from deliveries where ${OPEN} limit ${COUNTED_MAX}) as open)`,
  )
  const lateSettles = new Counter({
    name: 'tidegate_deliveries_late_settles_total',
    help: 'Deliveries that were settled after they had failed, and their money had gone back to the profile',
    registers: [registry],
  })
  return { lateSettles }
}

/** Requests by what became of their deliveries. */
export function createRequestCounter(registry: MetricsRegistry): Counter<'outcome'> {
  return new Counter({
    name: 'tidegate_deliveries_requests_total',
    help: 'Requests to deliveries.webhook_url by what became of them; contradiction: the executor contradicts a result that is recorded',
    labelNames: ['outcome'],
    registers: [registry],
  })
}

/** Nothing while the store is away (which other metrics tell) or has no tables yet. */
async function readOpen(
  db: Db,
  sample: Sample,
): Promise<readonly { readonly status: string; readonly value: number }[]> {
  if (!db.available) return []
  try {
    const { rows } = await sql<{ readonly status: string; readonly value: number }>`
      select status, ${sample} as value from unnest(${[...OPEN_STATUSES]}::text[]) as statuses (status)
    `.execute(db.tables())
    return rows
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StatementFailed) return []
    throw error
  }
}
