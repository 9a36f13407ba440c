/**
 * Checks whether the store is the one a person has confirmed. A restored store, or a promoted standby, may have lost
 * records about payments already made, and would hand those payments out again. Its deliveries therefore stay paused
 * until a person has compared the records and resumes deliveries. The gates compare the identities in the transaction
 * that hands out a delivery, so the change need not be noticed earlier.
 */
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

/** The page for the operator, under `docs/`. */
export const RESTORED_STORE_PAGE = 'docs/how-to/backup.md#after-a-restore'

export interface StoreIdentity {
  /** Null before the first start. */
  readonly confirmed: string | null
  /** Server, timeline, database and table. `-` stands for parts the server does not report. */
  readonly present: string
  /** The last written position in the store's log. Null where the server does not report it. */
  readonly position: string | null
}

/** Where a process last saw the store, from a file beside it. */
export interface SeenPosition {
  readonly identity: string
  readonly position: string
}

export function isOtherStore({ confirmed, present }: Pick<StoreIdentity, 'confirmed' | 'present'>): boolean {
  return confirmed !== null && confirmed !== present
}

/** The identity's parts that the server does not report. */
export function unknownParts({ present, position }: StoreIdentity): readonly string[] {
  const [server, timeline] = present.split('/')
  return [
    ...(server === '-' ? ['system identifier'] : []),
    ...(timeline === '-' ? ['timeline'] : []),
    ...(position === null ? ['log position'] : []),
  ]
}

/**
 * The condition in a statement.
 *
 * @param seen where this process last saw the store, in case the store has not been examined since it came back
 */
export function isStoreOther(seen?: SeenPosition): RawBuilder<boolean> {
  const isBehind =
    seen === undefined
      ? sql<boolean>`false`
      : sql<boolean>`(identity = ${seen.identity} and store_position() < ${seen.position}::pg_lsn)`
  return sql<boolean>`exists (select from store_origin where identity <> store_identity() or ${isBehind})`
}

/**
 * Whether the store may have lost records of payments: it is not the confirmed one, or its log is behind where this
 * process last saw it.
 */
export async function isRestored<Tables>(tables: Kysely<Tables>, seen: SeenPosition | undefined): Promise<boolean> {
  const { rows } = await sql<{ readonly is_other: boolean }>`select ${isStoreOther(seen)} as is_other`.execute(tables)
  return rows[0]?.is_other === true
}

export async function readStoreIdentity<Tables>(tables: Kysely<Tables>): Promise<StoreIdentity> {
  const { rows } = await sql<StoreIdentity>`
    select identity as confirmed, store_identity() as present, store_position()::text as position from store_origin
  `.execute(tables)
  return rows[0] as StoreIdentity
}

/**
 * Runs in each process before it uses the store. A new store is confirmed as it is. A store whose log is behind the
 * seen position counts as another store from now on.
 *
 * @param seen undefined: this process has no file about the store. An embedded store has a single process, so the file
 * beside it is missing only when the store was brought from elsewhere.
 */
export async function examineStoreIdentity(db: Db, seen: SeenPosition | undefined): Promise<StoreIdentity> {
  return await transactionWithRetries(db, async (transaction) => {
    if (seen === undefined && db.engine === 'embedded') {
      await sql`update store_origin set identity = 'brought from elsewhere' where identity = store_identity()`.execute(
        transaction,
      )
    }
    if (seen !== undefined) await markIfBehind(transaction, seen)
    await sql`update store_origin set identity = store_identity() where identity is null`.execute(transaction)
    return await readStoreIdentity(transaction)
  })
}

/**
 * Runs before the migrations: what they write could bring a restored store's log past the seen position. A store
 * without this table is new, or was last used by a version that noted no position.
 */
export async function examineStoreBeforeMigrations(db: Db, seen: SeenPosition): Promise<void> {
  await transactionWithRetries(db, async (transaction) => {
    const { rows } = await sql<{ readonly exists: boolean }>`
      select to_regclass('store_origin') is not null as exists
    `.execute(transaction)
    if (rows[0]?.exists === true) await markIfBehind(transaction, seen)
  })
}

async function markIfBehind<Tables>(transaction: Transaction<Tables>, seen: SeenPosition): Promise<void> {
  await sql`
    update store_origin set identity = ${`the log was written up to ${seen.position}`}
    where identity = store_identity() and identity = ${seen.identity} and store_position() < ${seen.position}::pg_lsn
  `.execute(transaction)
}

/** Confirms the present identity and returns it. */
export async function confirmStoreIdentity<Tables>(transaction: Transaction<Tables>): Promise<string> {
  const { rows } = await sql<{ readonly identity: string }>`
    update store_origin set identity = store_identity() returning identity
  `.execute(transaction)
  return (rows[0] as { readonly identity: string }).identity
}
