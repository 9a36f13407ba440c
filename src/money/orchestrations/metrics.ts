/**
 * Orchestration metrics: a counter for this node's steps, and gauges for waiting orchestrations and the queue. The
 * gauges are read from the store at each scrape, through indexes that contain only unfinished orchestrations.
 */
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

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
  const gauge = (name: string, help: string, labelNames: readonly string[], sample: Sample): void => {
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        this.reset()
        for (const { label, value } of await read(db, sample))
          this.set(label === null ? {} : { waiting_for: label }, value)
      },
    })
  }
  gauge(
    'tidegate_orchestrations_waiting',
    `Waiting orchestrations by reason, counted up to ${COUNTED_MAX}`,
    ['waiting_for'],
    sql`select waiting_for as label, count(*)::integer as value from ${WAITING} group by waiting_for`,
  )
  gauge(
    'tidegate_orchestrations_waiting_seconds',
    'The longest-waiting orchestration’s time, by reason',
    ['waiting_for'],
    sql`
      select waiting_for as label, extract(epoch from clock_timestamp() - min(waiting_since))::float8 as value
      from ${WAITING} group by waiting_for`,
  )
  gauge(
    'tidegate_orchestration_queue_length',
    `Orchestrations with work that is due now or later, counted up to ${COUNTED_MAX}`,
    [],
    sql`
      select null as label, count(*)::integer as value
      from (select from orchestration_queue limit ${COUNTED_MAX}) as queue`,
  )
  gauge(
    'tidegate_orchestration_queue_overdue_seconds',
    'Time since the most overdue step was due (0: none)',
    [],
    sql`
      select null as label,
        coalesce(greatest(0, extract(epoch from clock_timestamp() - min(next_attempt_at))), 0)::float8 as value
      from orchestration_queue`,
  )
}

type Sample = RawBuilder<{ readonly label: string | null; readonly value: number }>

const WAITING = sql`(
  select waiting_for, waiting_since from orchestrations where waiting_for is not null
  order by waiting_since limit ${COUNTED_MAX}
) as waiting`

async function read(
  db: Db,
  sample: Sample,
): Promise<readonly { readonly label: string | null; readonly value: number }[]> {
  if (!db.available) return []
  try {
    return (await sample.execute(db.tables())).rows
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StatementFailed) return []
    throw error
  }
}
