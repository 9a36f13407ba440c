/** Gauges whose values are read from the store at each scrape. One without an answer is left out: it never shows 0. */
import { Counter, Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { type Db, type Kysely, StatementFailed, StoreUnavailable } from './db.ts'
import { readSchemaState, SchemaProblem } from './migrate.ts'
import type { RawBuilder } from './sql.ts'

export interface StoreGaugeOptions {
  readonly name: string
  readonly help: string
  /** Absent: the gauge has one value. */
  readonly labelName?: string
  /** One row for each label. */
  readonly sample: RawBuilder<StoreSample>
}

export interface StoreSample {
  readonly label?: string
  readonly value: number
}

const FAILURES = 'tidegate_store_gauge_failures_total'

/** Each gauge has its own query: the registry writes a gauge as soon as its own `collect` is done. */
export function createStoreGauge(registry: MetricsRegistry, db: Db, options: StoreGaugeOptions): void {
  const { name, help, labelName, sample } = options
  const readSamples = scrapeReader(registry, db, name)
  new Gauge({
    name,
    help,
    labelNames: labelName === undefined ? [] : [labelName],
    registers: [registry],
    async collect() {
      const samples = await readSamples(async (tables) => (await sample.execute(tables)).rows)
      this.reset()
      // `reset` gives a gauge without labels the value 0.
      this.remove({})
      for (const { label, value } of samples) {
        this.set(labelName === undefined || label === undefined ? {} : { [labelName]: label }, value)
      }
    },
  })
}

/**
 * Returns a gauge's reader. It reads no rows while the store lacks migrations or is unavailable, which other metrics
 * report, and when a statement fails for another reason: that is a bug, and it is counted.
 */
export function scrapeReader(
  registry: MetricsRegistry,
  db: Db,
  metric: string,
): <Row>(read: (tables: Kysely<object>) => Promise<readonly Row[]>) => Promise<readonly Row[]> {
  const failures = failuresOf(registry)
  return async (read) => {
    if (!db.available) return []
    try {
      return await read(db.tables())
    } catch (error) {
      if (error instanceof StoreUnavailable) return []
      if (!(error instanceof StatementFailed)) throw error
      if (!(await lacksMigrations(db))) failures.inc({ metric, sqlstate: error.sqlState })
      return []
    }
  }
}

/** A node may run, and be scraped, before `migrate` has made the tables and columns that its version reads. */
async function lacksMigrations(db: Db): Promise<boolean> {
  try {
    return (await readSchemaState(db)) !== 'current'
  } catch (error) {
    if (error instanceof StoreUnavailable) return true
    // A newer version has migrated the store, and the older one's statements must succeed all the same.
    if (error instanceof SchemaProblem) return false
    throw error
  }
}

/** One counter for all gauges in a registry. */
function failuresOf(registry: MetricsRegistry): Counter<'metric' | 'sqlstate'> {
  const known = registry.getSingleMetric(FAILURES) as Counter<'metric' | 'sqlstate'> | undefined
  return (
    known ??
    new Counter({
      name: FAILURES,
      help: 'Statements that failed for a metric, which /metrics left out, by SQLSTATE',
      labelNames: ['metric', 'sqlstate'],
      registers: [registry],
    })
  )
}
