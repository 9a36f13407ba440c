/**
 * Brings the schema of a store to what this version needs. Every migration runs in one transaction, alone over all
 * processes, and leaves its name and checksum. It refuses a store that a newer version has written and one whose
 * applied migrations differ from ours; it never goes back and never repairs.
 */
import { createHash } from 'node:crypto'
import type { Log } from '../base/log.ts'
import type { Db, Transaction } from './db.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'
import { sql } from './sql.ts'

/** The schema is not one that this version can work with. */
export class SchemaProblem extends Error {
  override name = 'SchemaProblem'
}

/** A statement of a migration may rewrite a big table; nobody is served meanwhile who could be kept waiting. */
const STATEMENT_MILLISECONDS_MAX = 600_000
/** One number for everyone who migrates, arbitrary but fixed: `tide` in ASCII. */
const MIGRATION_LOCK = 0x74696465

const NAME = /^\d{12}-[a-z0-9-]+$/

interface MigrationTables {
  schema_migrations: { name: string; checksum: string }
}

/** Applies what is missing, in name order, and says what that was. */
export async function migrate(
  db: Db,
  log: Log,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<{ applied: string[] }> {
  const ordered = inNameOrder(migrations)
  const applied: string[] = []
  await locked(db, async (transaction) => {
    await sql`
      create table if not exists schema_migrations (
        name text primary key,
        checksum text not null,
        applied_at timestamptz(3) not null default clock_timestamp()
      )`.execute(transaction)
  })
  for (;;) {
    const name = await locked(db, (transaction) => applyNext(transaction, ordered))
    if (name === undefined) return { applied }
    log.info({ migration: name }, 'migration applied')
    applied.push(name)
  }
}

function inNameOrder(migrations: readonly Migration[]): Migration[] {
  const ordered = [...migrations].sort((left, right) => (left.name < right.name ? -1 : 1))
  for (const [index, { name }] of ordered.entries()) {
    if (!NAME.test(name)) throw new SchemaProblem(`the migration ${name} is not named <UTC minute>-<topic>`)
    if (ordered[index + 1]?.name === name) throw new SchemaProblem(`two migrations are named ${name}`)
  }
  return ordered
}

/** A transaction that no other process that migrates runs beside; the lock ends with it. */
function locked<Result>(db: Db, work: (transaction: Transaction<MigrationTables>) => Promise<Result>): Promise<Result> {
  return db.transaction<MigrationTables, Result>(
    async (transaction) => {
      await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction)
      return await work(transaction)
    },
    { statementMillisecondsMax: STATEMENT_MILLISECONDS_MAX },
  )
}

/** Applies the first migration that is missing; all others were applied by an equal version, or this throws. */
async function applyNext(
  transaction: Transaction<MigrationTables>,
  ordered: readonly Migration[],
): Promise<string | undefined> {
  const rows = await transaction.selectFrom('schema_migrations').select(['name', 'checksum']).orderBy('name').execute()
  const present = new Map(rows.map(({ name, checksum }) => [name, checksum]))
  for (const { name, checksum } of rows) {
    const known = ordered.find((migration) => migration.name === name)
    if (known === undefined) {
      throw new SchemaProblem(`the store has migration ${name} that this version does not know: use a newer version`)
    }
    if (checksumOf(known) !== checksum) {
      throw new SchemaProblem(`migration ${name} was applied with another text than this version has`)
    }
  }
  const next = ordered.find(({ name }) => !present.has(name))
  if (next === undefined) return undefined
  await sql.raw(next.text).execute(transaction)
  await transaction
    .insertInto('schema_migrations')
    .values({ name: next.name, checksum: checksumOf(next) })
    .execute()
  return next.name
}

function checksumOf({ text }: Migration): string {
  return createHash('sha256').update(text).digest('hex')
}
