import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPoolMetrics } from '../../../src/money/deposit-instructions/pool-metrics.ts'
import { createMetricsRegistry, type MetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openTestStore } from '../../support/test-store.ts'

describe('the metric of free pool addresses', () => {
  let db: Db
  let registry: MetricsRegistry
  beforeAll(async () => {
    db = await openTestStore({ log: captureLog().log })
    registry = createMetricsRegistry()
    createPoolMetrics(registry, db)
  })
  afterAll(() => db?.close())

  it('the metric of free pool addresses is absent without an import, else their number, and 0 when all are assigned', async () => {
    expect(await samples()).toEqual([])
    await addToPool('solana', 3)
    expect(await samples()).toEqual(['tidegate_address_pool_free{network="SOLANA"} 3'])
    await addToPool('stellar', 1_200)
    expect(await samples()).toEqual([
      'tidegate_address_pool_free{network="SOLANA"} 3',
      'tidegate_address_pool_free{network="STELLAR"} 1000',
    ])
    await db.transaction(async (transaction) => {
      // The metric does not depend on the owners of assigned addresses.
      await sql`set local session_replication_role = replica`.execute(transaction)
      await sql`update address_pool set deposit_address_id = gen_random_uuid() where family = 'solana'`.execute(
        transaction,
      )
    })
    expect(await samples()).toEqual([
      'tidegate_address_pool_free{network="SOLANA"} 0',
      'tidegate_address_pool_free{network="STELLAR"} 1000',
    ])
  })

  it.each([
    ['is known to be away', { available: false }],
    [
      'goes away meanwhile',
      {
        available: true,
        tables: () => {
          throw new StoreUnavailable('the store is away')
        },
      },
    ],
  ])('the metric of free pool addresses is absent while the store %s', async (_, store) => {
    const other = createMetricsRegistry()
    createPoolMetrics(other, store as unknown as Db)
    expect(await samples(other)).toEqual([])
  })

  async function addToPool(family: string, count: number): Promise<void> {
    await sql`
      insert into address_pool (family, address)
      select ${family}, ${family} || place from generate_series(1, ${count}::integer) as places (place)
    `.execute(db.tables())
  }

  async function samples(from = registry): Promise<string[]> {
    return (await from.metrics()).split('\n').filter((line) => line.startsWith('tidegate_'))
  }
})
