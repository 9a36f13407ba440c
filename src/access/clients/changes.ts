/**
 * Records changes to customers, clients, secrets, tokens and keys, in the write's transaction: one audit row, and one
 * numbered row that names the changed record. Every node is notified after the commit and reads only these records.
 * Versions are in commit order without gaps, because the row that counts them stays locked until the transaction ends.
 * A transaction that needs further locks must take them before it records its change.
 */
import { type AuditEntry, writeAudit } from '../../platform/store/audit.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { AuthTables } from './tables.ts'

/** The notification channel for directory changes. The payload is the change's version. */
export const DIRECTORY_CHANNEL = 'tidegate_directory'

/**
 * The kinds of change: one customer, one client with its secrets, one token's revocation, one plan, the token and
 * receipt keys, or anything, which makes every node read everything.
 */
export type DirectoryChange =
  | { readonly kind: 'customer' | 'client' | 'token' | 'plan'; readonly id: string }
  | { readonly kind: 'keys' | 'everything' }

/** The number of kept rows. A node that has missed more reads everything, which then takes less time. */
const CHANGES_KEPT = 10_000
/** Changes applied one by one. When more were missed, reading everything takes less time. */
const CHANGES_APPLIED_MAX = 500

export async function recordChange(
  transaction: Transaction<AuthTables>,
  entry: AuditEntry,
  change: DirectoryChange,
): Promise<void> {
  await writeAudit(transaction, entry)
  await announceChange(transaction, change)
}

/** Records a change without an audit row, for changes that no caller requested. */
export async function announceChange(transaction: Transaction<AuthTables>, change: DirectoryChange): Promise<void> {
  const id = 'id' in change ? change.id : null
  await sql`
    with next as (
      update directory_version set version = version + 1 returning version
    ), added as (
      insert into directory_changes (version, kind, record_id) select version, ${change.kind}, ${id} from next
    ), removed as (
      delete from directory_changes using next where directory_changes.version <= next.version - ${CHANGES_KEPT}::bigint
    )
    select pg_notify(${DIRECTORY_CHANNEL}, version::text) from next
  `.execute(transaction)
}

/** The last committed change's version. */
export async function readDirectoryVersion(db: Db): Promise<number> {
  const query = db.tables<AuthTables>().selectFrom('directory_version').select('version')
  return Number((await query.executeTakeFirstOrThrow()).version)
}

export interface LaterChanges {
  /** The last change's version. */
  readonly version: number
  readonly changes: readonly DirectoryChange[]
  /** False when more than the named records changed: everything must be read. */
  readonly isComplete: boolean
}

/** The changes after `version`, in order. `undefined`: too many, or some are no longer kept. */
export async function readChangesAfter(db: Db, version: number): Promise<LaterChanges | undefined> {
  const rows = await db
    .tables<AuthTables>()
    .selectFrom('directory_changes')
    .select(['version', 'kind', 'record_id'])
    .where('version', '>', String(version))
    .orderBy('version')
    .limit(CHANGES_APPLIED_MAX + 1)
    .execute()
  if (rows.length > CHANGES_APPLIED_MAX || (rows[0] !== undefined && Number(rows[0].version) !== version + 1)) {
    return undefined
  }
  const changes = rows.flatMap(({ kind, record_id }) => changeOf(kind, record_id))
  return { version: version + rows.length, changes, isComplete: changes.length === rows.length }
}

/** Undefined for `everything`, and for a kind added by a later version. */
function changeOf(kind: string, id: string | null): readonly DirectoryChange[] {
  if (kind === 'keys') return [{ kind }]
  const isRecord = kind === 'customer' || kind === 'client' || kind === 'token' || kind === 'plan'
  if (isRecord && id !== null) return [{ kind, id }]
  return []
}
