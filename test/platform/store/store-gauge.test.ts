import { expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../../../src/platform/store/db.ts'
import type { RawBuilder } from '../../../src/platform/store/sql.ts'
import { createStoreGauge, type StoreSample } from '../../../src/platform/store/store-gauge.ts'

const names = ['tidegate_first', 'tidegate_second'] as const

/** Two gauges without labels, whose statement has the outcome that is set last. */
function twoGauges(available = true) {
  const registry = createMetricsRegistry()
  let outcome: number | Error = 0
  const sample = {
    async execute() {
      if (typeof outcome !== 'number') throw outcome
      return { rows: [{ value: outcome }] }
    },
  } as unknown as RawBuilder<StoreSample>
  const db = { available, tables: () => ({}) } as unknown as Db
  for (const name of names) createStoreGauge(registry, db, { name, help: 'A test.', sample })
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
  await read(new StatementFailed('column "text" does not exist', '42703'))
  const failed = await read(new StatementFailed('column "text" does not exist', '42703'))
  expect(failed.filter((line) => !line.startsWith('tidegate_store_gauge_failures_total'))).toEqual([])
  const counted = await read(8)
  expect(counted).toEqual(
    expect.arrayContaining([
      'tidegate_first 8',
      ...names.map((name) => `tidegate_store_gauge_failures_total{metric="${name}",sqlstate="42703"} 2`),
    ]),
  )
})

it.each([
  ['has no tables yet', new StatementFailed('relation "deposits" does not exist', '42P01')],
  ['does not answer', new StoreUnavailable('no answer')],
])('a gauge is left out, and no failure is counted, while the store %s', async (_, error) => {
  const read = twoGauges()
  await read(7)
  await read(error)
  expect(await read(error)).toEqual([])
})

it('a gauge is left out while the store is known to be unavailable', async () => {
  expect(await twoGauges(false)(7)).toEqual([])
})
