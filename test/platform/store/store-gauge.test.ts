import { afterAll, beforeAll, expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { type RawBuilder, sql } from '../../../src/platform/store/sql.ts'
import { createStoreGauge, type StoreSample } from '../../../src/platform/store/store-gauge.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openTestStore } from '../../support/test-store.ts'

const names = ['tidegate_first', 'tidegate_second'] as const
const UNKNOWN_COLUMN = new StatementFailed('column "text" does not exist', '42703')

let db: Db
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  // Until its first answer, the store does not count as available.
  await sql`select`.execute(db.tables())
})
afterAll(() => db?.close())

/** Two gauges without labels, whose statement has the outcome that is set last. */
function twoGauges(store = db) {
  const registry = createMetricsRegistry()
  let outcome: number | Error = 0
  const sample = {
    async execute() {
      if (typeof outcome !== 'number') throw outcome
      return { rows: [{ value: outcome }] }
    },
  } as unknown as RawBuilder<StoreSample>
  for (const name of names) createStoreGauge(registry, store, { name, help: 'A test.', sample })
  return async (next: number | Error) => {
    outcome = next
    return (await registry.metrics()).split('\n').filter((line) => line.startsWith('tidegate_'))
  }
}

it('a gauge that is read from the store shows the statement’s value, also 0', async () => {
  const read = twoGauges()
  expect(await read(7)).toEqual(['tidegate_first 7', 'tidegate_second 7'])
  expect(await read(0)).toEqual(['tidegate_first 0', 'tidegate_second 0'])
})

it('a gauge whose statement fails is left out and counted, until the statement succeeds', async () => {
  const read = twoGauges()
  await read(7)
  await read(UNKNOWN_COLUMN)
  const failed = await read(UNKNOWN_COLUMN)
  expect(failed.filter((line) => !line.startsWith('tidegate_store_gauge_failures_total'))).toEqual([])
  const counted = await read(8)
  expect(counted).toEqual(
    expect.arrayContaining([
      'tidegate_first 8',
      ...names.map((name) => `tidegate_store_gauge_failures_total{metric="${name}",sqlstate="42703"} 2`),
    ]),
  )
})

it('a gauge is left out, and no failure is counted, while the store does not answer', async () => {
  const read = twoGauges()
  await read(7)
  await read(new StoreUnavailable('no answer'))
  expect(await read(new StoreUnavailable('no answer'))).toEqual([])
})

it('a gauge is left out while the store is known to be unavailable', async () => {
  expect(await twoGauges({ available: false } as Db)(7)).toEqual([])
})

it('a gauge is left out, and no failure is counted, while the store lacks a migration', async () => {
  const read = twoGauges()
  await read(7)
  await sql`delete from schema_migrations where name = (select max(name) from schema_migrations)`.execute(db.tables())
  await read(UNKNOWN_COLUMN)
  expect(await read(UNKNOWN_COLUMN)).toEqual([])
})
