/** Notice metrics: how long the oldest one has waited, and the outcomes of attempts. */
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { createStoreGauge } from '../../platform/store/store-gauge.ts'

export function createNoticeMetrics(registry: MetricsRegistry, db: Db): Counter<'channel' | 'outcome'> {
  createStoreGauge(registry, db, {
    name: 'tidegate_notices_oldest_seconds',
    help: 'Age of the oldest notice to a security contact or to notices.url that is not sent yet (0: none)',
    sample: sql`
      select greatest(0, coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0))::float8 as value
      from notice_sends where status = 'WAITING'`,
  })
  return new Counter({
    name: 'tidegate_notices_sends_total',
    help: 'Attempts to send a notice, by channel and outcome. skipped: no setting says where to send it',
    labelNames: ['channel', 'outcome'],
    registers: [registry],
  })
}
