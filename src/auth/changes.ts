/**
 * What every write of this room leaves in its own transaction beside the new state: one audit row, and one notice that
 * makes every node read its directory anew when the transaction has committed.
 */
import { type AuditEntry, writeAudit } from '../store/audit.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { AuthTables } from './tables.ts'

/** Notification channel on which changes of the directory announce themselves. */
export const DIRECTORY_CHANNEL = 'tidegate_directory'

export async function recordChange(transaction: Transaction<AuthTables>, entry: AuditEntry): Promise<void> {
  await writeAudit(transaction, entry)
  await announceChange(transaction)
}

/** The notice alone, for what nobody asked for. */
export async function announceChange(transaction: Transaction<AuthTables>): Promise<void> {
  await sql`select pg_notify(${DIRECTORY_CHANNEL}, '')`.execute(transaction)
}
