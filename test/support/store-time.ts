/**
 * A store clock set by a test: the database's `clock_timestamp()` and `statement_timestamp()` return a row's value. It
 * has to be installed before the schema, so that the tables' defaults use it too.
 */
import type { Db } from '../../src/platform/store/db.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { withClient } from './postgres.ts'

/** Functions are looked up here first, and among the built-in ones afterwards. */
const SEARCH_PATH = 'public, pg_catalog'

/** On PostgreSQL, before the first connection: the store's connections search schemas in this order. */
export async function prepareStoreClock(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query('select current_database() as name')
    await client.query(`alter database ${rows[0].name} set search_path = ${SEARCH_PATH}`)
  })
}

/** Gives an empty store a clock that remains at `milliseconds` until it is set again. */
export async function createStoreClock(db: Db, milliseconds: number): Promise<void> {
  const statements = [
    ...(db.engine === 'embedded' ? [`set search_path = ${SEARCH_PATH}`] : []),
    'create table test_clock (at timestamptz not null)',
    'insert into test_clock values (now())',
    `create function public.clock_timestamp() returns timestamptz language sql volatile as 'select at from public.test_clock'`,
    `create function public.statement_timestamp() returns timestamptz language sql stable as 'select at from public.test_clock'`,
  ]
  for (const statement of statements) await sql.raw(statement).execute(db.tables())
  await setStoreClock(db, milliseconds)
}

export async function setStoreClock(db: Db, milliseconds: number): Promise<void> {
  await sql`update test_clock set at = ${new Date(milliseconds).toISOString()}::timestamptz`.execute(db.tables())
}
