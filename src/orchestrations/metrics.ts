/**
 * What is measured of orchestrations: steps as this node takes them, and what waits, as the store has it. A gauge is read
 * when metrics are asked for, from indexes that hold only what is not finished.
 */
import { Counter, Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../store/db.ts'
import { type RawBuilder, sql } from '../store/sql.ts'

/** Counted up to this many, so that a look costs the same however much waits. */
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

/** What waits, and what is due; nothing while the store is unavailable, which other metrics report. */
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
    `Orchestrations that wait, by what they wait for, counted up to ${COUNTED_MAX}`,
    ['waiting_for'],
    sql`select waiting_for as label, count(*)::integer as value from ${WAITING} group by waiting_for`,
  )
  gauge(
    'tidegate_orchestrations_waiting_seconds',
    'For how long the one that has waited longest has waited, by what it waits for',
    ['waiting_for'],
    sql`
      select waiting_for as label, extract(epoch from clock_timestamp() - min(waiting_since))::float8 as value
      from ${WAITING} group by waiting_for`,
  )
  gauge(
    'tidegate_orchestration_queue_length',
    `Orchestrations that a worker has to do something for, now or later, counted up to ${COUNTED_MAX}`,
    [],
    sql`
      select null as label, count(*)::integer as value
      from (select from orchestration_queue limit ${COUNTED_MAX}) as queue`,
  )
  gauge(
    'tidegate_orchestration_queue_overdue_seconds',
    'How late the step is that is due longest; 0 when none is late',
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
