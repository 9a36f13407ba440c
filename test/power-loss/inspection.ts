/** The invariants of a store after a loss of power, and the tables that the workload needs for them. */
import { createLog } from '../../src/platform/base/log.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { openEmbedded } from '../../src/platform/store/embedded.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { createSlowClock } from '../support/slow-clock.ts'

/** Numbers of transactions, by the marks recorded before the loss. */
export interface Marks {
  readonly started: ReadonlySet<number>
  readonly answered: ReadonlySet<number>
}

const TABLES = `
  create table account (id int primary key, balance int not null);
  insert into account select i, 1000 from generate_series(1, 40) i;
  create table entry (id bigserial primary key, tx bigint not null, amount int not null, note text);
  create index entry_tx on entry (tx);
  create index entry_amount on entry (amount, id);
  create table large (tx bigint primary key, hash text not null, data text not null);
  alter table large alter column data set storage external;
  create table side (name text primary key, n int not null);
  create table scratch (n int primary key, t text);
  create index scratch_hash on scratch using hash (t);
  create table scratch_rows (n int not null);
  insert into scratch_rows values (0);
  create table counter (n bigint not null);
  insert into counter values (0);
  create table done (tx bigint primary key, place bigint not null unique, kept int not null)`

/** Queries whose result has to be 0. */
const CHECKS: Readonly<Record<string, string>> = {
  'transactions that are missing before others': 'select (select n from counter) - count(*) as n from done',
  'places that are missing': 'select coalesce(max(place), 0) - count(*) as n from done',
  'balances in sum': 'select sum(balance) - 40000 as n from account',
  'rows that were rolled back': `select count(*) as n from entry where note = 'never'`,
  'transactions with other rows than they left': `select count(*) as n from done
    left join (select tx, count(*) as rows from entry group by tx) as found using (tx)
    where kept <> coalesce(rows, 0)`,
  'rows of no transaction': 'select count(*) as n from entry left join done using (tx) where done.tx is null',
  'large values that changed': 'select count(*) as n from large where md5(data) <> hash',
  'rows of the truncated table': 'select (select n from scratch_rows) - count(*) as n from scratch',
}

const BY_INDEX = 'set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off'
const BY_TABLE =
  'set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off'
/** Queries that must return the same by index and by table scan. */
const BOTH_WAYS = [
  'select count(*) as n, sum(amount) as s from (select amount from entry order by amount, id) as ordered',
  'select count(*) as n, sum(amount) as s from (select id, amount from entry order by id) as ordered',
  'select count(*) as n, sum(tx) as s from (select tx from entry order by tx) as ordered',
  'select count(*) as n, sum(place) as s from (select place from done order by place) as ordered',
]

const open = (folder: string): Promise<Db> =>
  openEmbedded({ folder, log: createLog('silent'), clock: createSlowClock() })

/** Creates a new store with the tables of the workload. */
export async function makeStore(folder: string): Promise<void> {
  const db = await open(folder)
  await sql.raw(TABLES).execute(db.tables())
  await db.close()
}

/**
 * Returns every violated invariant of the store in that folder; the store is written to, closed and opened once more.
 */
export async function problemsOf(folder: string, marks: Marks): Promise<string[]> {
  let db: Db
  try {
    db = await open(folder)
  } catch (error) {
    return [`it does not open: ${(error as Error & { cause?: Error }).cause?.message ?? error}`]
  }
  try {
    const problems = await contentProblems(db, marks)
    await sql
      .raw(`insert into entry (tx, amount, note) select 0, i, 'after' from generate_series(1, 50) i`)
      .execute(db.tables())
    await sql.raw('create table after_loss (n serial primary key); checkpoint').execute(db.tables())
    return problems
  } catch (error) {
    return [`a statement fails: ${(error as Error).message}`]
  } finally {
    await db.close()
  }
}

async function contentProblems(db: Db, { started, answered }: Marks): Promise<string[]> {
  const problems: string[] = []
  const { rows } = await sql<{ tx: number }>`select tx::int from done`.execute(db.tables())
  const present = new Set(rows.map(({ tx }) => tx))
  const lost = [...answered].filter((tx) => !present.has(tx))
  if (lost.length > 0) problems.push(`${lost.length} answered transactions are lost, such as ${lost[0]}`)
  const invented = [...present].filter((tx) => !started.has(tx))
  if (invented.length > 0) problems.push(`transaction ${invented[0]} never began`)
  for (const [name, text] of Object.entries(CHECKS)) {
    const result = await sql.raw<{ n: string }>(text).execute(db.tables())
    if (Number(result.rows[0]?.n) !== 0) problems.push(`${name}: ${result.rows[0]?.n}`)
  }
  for (const text of BOTH_WAYS) {
    const [byIndex, byTable] = [await counted(db, BY_INDEX, text), await counted(db, BY_TABLE, text)]
    if (byIndex !== byTable) problems.push(`by index ${byIndex}, by table ${byTable}: ${text}`)
  }
  const sides = await sql<{ name: string; n: number }>`select name, n from side`.execute(db.tables())
  for (const { name, n } of sides.rows) {
    const found = await sql<{ n: number }>`select count(*)::int as n from ${sql.table(name)}`.execute(db.tables())
    if (found.rows[0]?.n !== n) problems.push(`${name} has ${found.rows[0]?.n} rows, not ${n}`)
  }
  return problems
}

function counted(db: Db, settings: string, text: string): Promise<string> {
  return db.transaction(async (transaction) => {
    await sql.raw(settings).execute(transaction)
    return JSON.stringify((await sql.raw(text).execute(transaction)).rows)
  })
}
