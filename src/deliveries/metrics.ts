/** What an operator watches of deliveries: how many are not final, how long they wait, and what came out of requests. */
import { Counter, Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../store/db.ts'
import { sql } from '../store/sql.ts'

export interface DeliveryMetrics {
  readonly lateSettles: Counter
}

const OPEN_STATUSES = ['WAITING', 'CLAIMED', 'SENT', 'NEEDS_OPERATOR'] as const

/** So that a look costs the same however many there are. */
const COUNTED_MAX = 10_000

interface OpenRow {
  readonly status: string
  readonly count: number
  readonly oldest_seconds: number
}

export function createDeliveryMetrics(registry: MetricsRegistry, db: Db): DeliveryMetrics {
  const oldest = new Gauge({
    name: 'tidegate_deliveries_oldest_seconds',
    help: 'Age of the oldest delivery in each state that is not final; 0 when there is none',
    labelNames: ['status'],
    registers: [registry],
  })
  new Gauge({
    name: 'tidegate_deliveries_open',
    help: `Deliveries in each state that is not final, counted up to ${COUNTED_MAX}; NEEDS_OPERATOR ones wait for you`,
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      const rows = await readOpen(db)
      this.reset()
      oldest.reset()
      for (const { status, count, oldest_seconds } of rows) {
        this.set({ status }, count)
        oldest.set({ status }, oldest_seconds)
      }
    },
  })
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
async function readOpen(db: Db): Promise<readonly OpenRow[]> {
  if (!db.available) return []
  try {
    const { rows } = await sql<OpenRow>`
      select status, (
        select count(*)::integer from (
          select from deliveries where deliveries.status = statuses.status
            and deliveries.status not in ('SETTLED', 'FAILED') limit ${COUNTED_MAX}
        ) as open
      ) as count, greatest(0, coalesce(extract(epoch from clock_timestamp() - (
        select min(created_at) from deliveries where deliveries.status = statuses.status
          and deliveries.status not in ('SETTLED', 'FAILED')
      )), 0))::float8 as oldest_seconds
      from unnest(${[...OPEN_STATUSES]}::text[]) as statuses (status)
    `.execute(db.tables())
    return rows
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StatementFailed) return []
    throw error
  }
}
