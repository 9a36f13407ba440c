/**
 * Migrates a store's schema to the one that this version needs, and reports missing migrations. Every migration runs in
 * one transaction, in one process at a time, and records its name and checksum. It rejects a store with a newer
 * version's migrations, one whose applied migrations differ from this version's, and a server that is too old. It never
 * reverts a migration and never repairs one.
 */
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../base/log.ts'
import { type Db, type Kysely, StatementFailed, type Transaction } from './db.ts'
import { MIGRATIONS } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'
import { sql } from './sql.ts'

/** This version cannot work with the store's schema. */
export class SchemaProblem extends Error {
  override name = 'SchemaProblem'
}

/** A migration's statement may rewrite a large table. No client is served meanwhile. */
const STATEMENT_MILLISECONDS_MAX = 600_000
/** One number for all migrating processes, arbitrary but fixed: `tide` in ASCII. */
const MIGRATION_LOCK = 0x74696465

/**
 * While a migration waits for a long transaction, such as a backup's, the statements of running nodes wait behind it.
 * So it waits for less time than they may take, and lets them pass before it is tried again: ten minutes in all. It is
 * more than PostgreSQL's `deadlock_timeout` (1 s), after which an autovacuum gives way.
 */
const LOCK_MILLISECONDS_MAX = 1_500
const LOCK_PAUSE_MILLISECONDS = 5_000
const LOCK_ATTEMPTS_MAX = 100
const LOCK_NOT_AVAILABLE = '55P03'

const NAME = /^\d{12}-[a-z0-9-]+$/

interface MigrationTables {
  schema_migrations: { name: string; checksum: string }
}

/** The oldest PostgreSQL version for this service's SQL. */
const SERVER_VERSION_MIN = 15

/** The missing migrations. Throws `SchemaProblem` when this version cannot work with the schema. */
export async function readSchemaState(
  db: Db,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<'current' | { readonly missing: readonly string[] }> {
  const ordered = inNameOrder(migrations)
  await refuseOldServer(db.tables())
  const present = await sql<{
    present: boolean
  }>`select to_regclass('schema_migrations') is not null as present`.execute(db.tables())
  const missing = present.rows[0]?.present === true ? await findMissing(db.tables(), ordered) : ordered
  return missing.length === 0 ? 'current' : { missing: missing.map(({ name }) => name) }
}

/** Applies the missing migrations in name order, and returns those names. */
export async function migrate(
  db: Db,
  log: Log,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<{ applied: string[] }> {
  const ordered = inNameOrder(migrations)
  const applied: string[] = []
  await locked(db, async (transaction) => {
    // In this transaction, which has a long limit: a new folder's first statement can take seconds on a busy machine.
    await refuseOldServer(transaction)
    await sql`
      create table if not exists schema_migrations (
        name text primary key,
        checksum text not null,
        applied_at timestamptz(3) not null default clock_timestamp()
      )`.execute(transaction)
  })
  for (;;) {
    const name = await untilUnlocked(log, () => locked(db, (transaction) => applyNext(transaction, ordered)))
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

/** A transaction that holds the migration lock: one process migrates at a time. */
function locked<Result>(db: Db, work: (transaction: Transaction<MigrationTables>) => Promise<Result>): Promise<Result> {
  return db.transaction<MigrationTables, Result>(
    async (transaction) => {
      await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction)
      return await work(transaction)
    },
    { statementMillisecondsMax: STATEMENT_MILLISECONDS_MAX },
  )
}

/** Repeats `work` while it could not lock a table or row in time. */
async function untilUnlocked<Result>(log: Log, work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const isLocked = error instanceof StatementFailed && error.sqlState === LOCK_NOT_AVAILABLE
      if (!isLocked || attempt === LOCK_ATTEMPTS_MAX) throw error
      if (attempt === 1) log.warn({}, 'a migration waits for another transaction, such as a backup')
      await pause(LOCK_PAUSE_MILLISECONDS)
    }
  }
}

async function refuseOldServer(tables: Kysely<MigrationTables>): Promise<void> {
  const { rows } = await sql<{ version: number }>`
    select current_setting('server_version_num')::int / 10000 as version`.execute(tables)
  const version = rows[0]?.version ?? 0
  if (version < SERVER_VERSION_MIN) {
    throw new SchemaProblem(`the store runs on PostgreSQL ${version}: ${SERVER_VERSION_MIN} or newer is needed`)
  }
}

/** Applies the first missing migration and returns its name, or undefined when none is missing. */
async function applyNext(
  transaction: Transaction<MigrationTables>,
  ordered: readonly Migration[],
): Promise<string | undefined> {
  const [next] = await findMissing(transaction, ordered)
  if (next === undefined) return undefined
  await sql`select set_config('lock_timeout', ${`${LOCK_MILLISECONDS_MAX}ms`}, true)`.execute(transaction)
  await sql.raw(next.text).execute(transaction)
  await transaction
    .insertInto('schema_migrations')
    .values({ name: next.name, checksum: checksumOf(next) })
    .execute()
  return next.name
}

/** The unapplied migrations, in name order. Throws when an applied one differs or is unknown. */
async function findMissing(
  tables: Kysely<MigrationTables>,
  ordered: readonly Migration[],
): Promise<readonly Migration[]> {
  const rows = await tables.selectFrom('schema_migrations').select(['name', 'checksum']).orderBy('name').execute()
  for (const { name, checksum } of rows) {
    const known = ordered.find((migration) => migration.name === name)
    if (known === undefined) {
      throw new SchemaProblem(`the store has migration ${name}, which this version does not know: use a newer version`)
    }
    if (checksumOf(known) !== checksum) {
      throw new SchemaProblem(`the applied migration ${name} differs from this version’s (checksum)`)
    }
  }
  const present = new Set(rows.map(({ name }) => name))
  return ordered.filter(({ name }) => !present.has(name))
}

function checksumOf({ text }: Migration): string {
  return createHash('sha256').update(text).digest('hex')
}
