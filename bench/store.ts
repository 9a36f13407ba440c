/**
 * Both store engines through `Db`, as the modules use it: rows inserted and read per second by 1, 16 and 64 concurrent
 * callers. PostgreSQL runs on this machine with its default settings. Both sync a commit to the disk before they answer
 * it.
 */
import type { Db } from '../src/platform/store/db.ts'
import { sql } from '../src/platform/store/sql.ts'
import type { BenchResult } from './result.ts'
import { measureStores } from './stores.ts'

const CALLERS = [1, 16, 64]

export function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const milliseconds = quick ? 1_000 : 5_000
  return measureStores((engine, db) => measure(engine, db, milliseconds))
}

async function measure(engine: string, db: Db, milliseconds: number): Promise<BenchResult[]> {
  await sql`create table row (id bigint primary key, name text not null, created_at timestamptz not null default now())`.execute(
    db.tables(),
  )
  let inserted = 0
  const insert = () => sql`insert into row (id, name) values (${inserted++}, ${'a name'})`.execute(db.tables())
  const read = (index: number) =>
    sql`select id, name, created_at from row where id = ${(index * 7919) % inserted}`.execute(db.tables())
  const change = () =>
    db.transaction(async (transaction) => {
      await sql`insert into row (id, name) values (${inserted++}, ${'a name'})`.execute(transaction)
      await sql`select pg_notify('changes', 'row')`.execute(transaction)
    })
  const results: BenchResult[] = []
  for (const [what, work] of Object.entries({ insert, read, 'transaction with notification': change })) {
    for (const callers of CALLERS) {
      const rate = await perSecond(work, callers, milliseconds)
      results.push({ name: `${engine}: ${what}, ${callers} at once`, runs: [rate], unit: '/s' })
    }
  }
  return results
}

async function perSecond(work: (index: number) => Promise<unknown>, callers: number, milliseconds: number) {
  const start = performance.now()
  let done = 0
  const caller = async () => {
    while (performance.now() - start < milliseconds) {
      await work(done)
      done++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (done / (performance.now() - start)) * 1_000
}
