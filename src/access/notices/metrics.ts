/** Notice metrics: how long the oldest one has waited, and the outcomes of attempts. */
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

export function createNoticeMetrics(registry: MetricsRegistry, db: Db): Counter<'channel' | 'outcome'> {
  new Gauge({
    name: 'tidegate_notices_oldest_seconds',
    help: 'Age of the oldest notice to a security contact or to notices.url that is not sent yet (0: none)',
    registers: [registry],
    async collect() {
      const seconds = await readOldestSeconds(db)
      this.reset()
      if (seconds !== undefined) this.set(seconds)
    },
  })
  return new Counter({
    name: 'tidegate_notices_sends_total',
    help: 'Attempts to send a notice, by channel and outcome. skipped: no setting says where to send it',
    labelNames: ['channel', 'outcome'],
    registers: [registry],
  })
}

/** Undefined while the store has no tables yet, or is unavailable. Other metrics report that. */
async function readOldestSeconds(db: Db): Promise<number | undefined> {
  if (!db.available) return undefined
  try {
    const { rows } = await sql<{ readonly seconds: number }>`
      select greatest(0, coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0))::float8 as seconds
      from notice_sends where status = 'WAITING'
    `.execute(db.tables())
    return rows[0]?.seconds
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StatementFailed) return undefined
    throw error
  }
}
