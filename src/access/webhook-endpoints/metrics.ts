/** Metrics of customers' webhooks: endpoints by state, how long the oldest new event has waited, and requests. */
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { createStoreGauge, type StoreSample } from '../../platform/store/store-gauge.ts'

/** New events also wait behind a full backlog and for a disabled customer, otherwise for the key of the secrets. */
const WAITS_FOR_US = sql<boolean>`(
  not exists (select from webhook_backlogs where endpoint_id = endpoint.id)
    and exists (select from customers where customers.id = endpoint.customer_id and enabled)
)`

export function createWebhookMetrics(registry: MetricsRegistry, db: Db): Counter<'outcome'> {
  createStoreGauge(registry, db, {
    name: 'tidegate_webhooks_endpoints',
    help: 'Customers’ webhook endpoints per state. FAILING: ACTIVE, and its last requests all failed',
    labelName: 'state',
    sample: sql<StoreSample>`
      select state as label, (
        select count(*)::integer from webhook_endpoints where state = case
          when status = 'ACTIVE' and failures > 0 then 'FAILING' else status end
      ) as value
      from unnest(array['ACTIVE', 'FAILING', 'PAUSED', 'DISABLED']) as states (state)`,
  })
  createStoreGauge(registry, db, {
    name: 'tidegate_webhooks_oldest_seconds',
    help: 'Age of the oldest event that no request was made for, at endpoints whose requests succeed (0: none)',
    sample: sql<StoreSample>`
      select coalesce(greatest(0, extract(epoch from clock_timestamp() - min(event.created_at))), 0)::float8 as value
      from webhook_endpoints as endpoint join event_counters using (customer_id)
      join events as event on event.customer_id = endpoint.customer_id and event.sequence = passed_sequence + 1
      where endpoint.status = 'ACTIVE' and (not waits or ${WAITS_FOR_US}) and failures = 0
        and passed_sequence < last_sequence`,
  })
  return new Counter({
    name: 'tidegate_webhooks_requests_total',
    help: 'Requests to customers’ webhook endpoints, by outcome: accepted (2xx), refused (other status), no_answer',
    labelNames: ['outcome'],
    registers: [registry],
  })
}
