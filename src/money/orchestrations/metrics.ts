/**
 * Orchestration metrics: a counter for this node's steps, and gauges for waiting orchestrations and the queue. The
 * gauges are read from the store at each scrape, through indexes that contain only unfinished orchestrations.
 */
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { createStoreGauge } from '../../platform/store/store-gauge.ts'

/** Counting stops here, which bounds the cost of a scrape. */
const COUNTED_MAX = 10_000

export interface StepMetrics {
  readonly steps: Counter<'result'>
}

export function createStepMetrics(registry: MetricsRegistry): StepMetrics {
  const steps = new Counter({
    name: 'tidegate_orchestration_steps',
    help: 'Steps of orchestrations by result: completed, delivering, waiting, failed, error (tried again), lost (another worker had it)',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of ['completed', 'delivering', 'waiting', 'failed', 'error', 'lost']) steps.inc({ result }, 0)
  return { steps }
}

/**
 * Gauges for waiting orchestrations and the queue. They have no values while the store is unavailable, which other
 * metrics report.
 */
export function createWaitingMetrics(registry: MetricsRegistry, db: Db): void {
  createStoreGauge(registry, db, {
    name: 'tidegate_orchestrations_waiting',
    help: `Waiting orchestrations by reason, counted up to ${COUNTED_MAX}`,
    labelName: 'waiting_for',
    sample: sql`select waiting_for as label, count(*)::integer as value from ${WAITING} group by waiting_for`,
  })
  createStoreGauge(registry, db, {
    name: 'tidegate_orchestrations_waiting_seconds',
    help: 'The longest-waiting orchestration’s time, by reason',
    labelName: 'waiting_for',
    sample: sql`
      select waiting_for as label, extract(epoch from clock_timestamp() - min(waiting_since))::float8 as value
      from ${WAITING} group by waiting_for`,
  })
  createStoreGauge(registry, db, {
    name: 'tidegate_orchestration_queue_length',
    help: `Orchestrations with work that is due now or later, counted up to ${COUNTED_MAX}`,
    sample: sql`
      select count(*)::integer as value
      from (select from orchestration_queue limit ${COUNTED_MAX}) as queue`,
  })
  createStoreGauge(registry, db, {
    name: 'tidegate_orchestration_queue_overdue_seconds',
    help: 'Time since the most overdue step was due (0: none)',
    sample: sql`
      select coalesce(greatest(0, extract(epoch from clock_timestamp() - min(next_attempt_at))), 0)::float8 as value
      from orchestration_queue`,
  })
}

const WAITING = sql`(
  select waiting_for, waiting_since from orchestrations where waiting_for is not null
  order by waiting_since limit ${COUNTED_MAX}
) as waiting`
