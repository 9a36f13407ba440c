/** Gauges whose values are read from the store at each scrape. */
import { Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { type Db, type Kysely, StatementFailed, StoreUnavailable } from './db.ts'
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

/** Each gauge has its own query: the registry writes a gauge as soon as its own `collect` is done. */
export function createStoreGauge(registry: MetricsRegistry, db: Db, options: StoreGaugeOptions): void {
  const { name, help, labelName, sample } = options
  new Gauge({
    name,
    help,
    labelNames: labelName === undefined ? [] : [labelName],
    registers: [registry],
    async collect() {
      const samples = await readAtScrape(db, async (tables) => (await sample.execute(tables)).rows)
      this.reset()
      for (const { label, value } of samples) {
        this.set(labelName === undefined || label === undefined ? {} : { [labelName]: label }, value)
      }
    },
  })
}

/** Empty while the store has no tables yet, or is unavailable. Other metrics report that. */
export async function readAtScrape<Row>(
  db: Db,
  read: (tables: Kysely<object>) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  if (!db.available) return []
  try {
    return await read(db.tables())
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StatementFailed) return []
    throw error
  }
}
