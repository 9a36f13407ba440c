/** Counters of records that existed before they were counted, and writes of the previous version on the new schema. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { countCreation, nextCreationTime } from '../../../src/platform/store/creation-time.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { MIGRATIONS } from '../../../src/platform/store/migrations/index.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { fill } from '../../support/many-records.ts'
import { countersOf, recordsOf } from '../../support/quotas.ts'
import { openTestStore } from '../../support/test-store.ts'

const NAME = '202611220900-quotas'
const log = createLog('silent')
const [busy, quiet, stranger] = [newId(), newId(), newId()]

let db: Db
beforeAll(async () => {
  db = await openTestStore({ log, isMigrated: false })
  await migrate(
    db,
    log,
    MIGRATIONS.filter(({ name }) => name < NAME),
  )
  for (const id of [busy, quiet, stranger]) {
    await sql`insert into customers (id, name, streaming) values (${id}, ${id}, false)`.execute(db.tables())
  }
  await fill(db, { customerId: busy, count: 200, firstMilliseconds: Date.parse('2026-01-01T00:00:00Z') })
  await fill(db, { customerId: quiet, count: 40, firstMilliseconds: Date.parse('2026-02-01T00:00:00Z') })
  await before(busy)
  for (const family of ['solana', 'stellar']) {
    await sql`insert into address_pool (family, address)
      select ${family}, ${family} || place from generate_series(1, 10) as places (place)`.execute(db.tables())
  }
  await sql`update address_pool set deposit_address_id = deposit_addresses.id from deposit_addresses
    where address_pool.address = 'solana1' and ref_id = 'ref 1' and customer_id = ${busy}`.execute(db.tables())
  await migrate(db, log)
})
afterAll(() => db?.close())

/** The statement by which the previous version orders creations. */
async function before(customerId: string): Promise<string> {
  const { rows } = await sql<{ last_created_at: string }>`
    insert into customer_clocks (customer_id, last_created_at)
    values (${customerId}, date_trunc('milliseconds', clock_timestamp()))
    on conflict (customer_id) do update
      set last_created_at =
        greatest(date_trunc('milliseconds', clock_timestamp()), customer_clocks.last_created_at)
    returning last_created_at
  `.execute(db.tables())
  return (rows[0] as { last_created_at: string }).last_created_at
}

it('migrated counters equal the existing records, also of a customer without a creation time', async () => {
  for (const customerId of [busy, quiet]) {
    const { today, ...counters } = await countersOf(db, customerId)
    expect(counters).toEqual(await recordsOf(db, customerId))
    expect(today).toBe(0)
  }
  expect((await countersOf(db, busy)).accounts).toBe(200)
  expect(await countersOf(db, stranger)).toBeUndefined()
})

it('migrated counters increase from there, and creation times do not decrease', async () => {
  const newest = '2026-02-01T00:00:00.013Z'
  const { createdAt, totals, today } = await db.transaction((transaction) =>
    countCreation(transaction, quiet, { records: { accounts: 1, rules: 1 }, isByCustomer: true }),
  )
  expect([totals, today]).toEqual([{ accounts: 41, addresses: 40, rules: 41 }, 1])
  expect(createdAt > newest).toBe(true)
})

it('migrated counters do not change while the previous version writes, and its creation times are ordered with ours', async () => {
  const counters = await countersOf(db, busy)
  const times = [await before(busy), await db.transaction((transaction) => nextCreationTime(transaction, busy))]
  times.push(await before(busy))
  expect(times).toEqual(times.toSorted())
  expect(await countersOf(db, busy)).toEqual(counters)
  await before(stranger)
  expect(await countersOf(db, stranger)).toEqual({ accounts: 0, addresses: 0, rules: 0, today: 0 })
})

it('migrated counters of pools start with the number of free addresses', async () => {
  const { rows } = await sql`select * from address_pool_imports order by family`.execute(db.tables())
  expect(rows).toEqual([
    { family: 'solana', imports: 1, free_after_import: 9 },
    { family: 'stellar', imports: 1, free_after_import: 10 },
  ])
})
