/**
 * The audit trail: one row for every requested change, written in the change's own transaction, so neither exists
 * without the other. Rows are only added. Callers never put secrets into the detail.
 */
import type { Db, Transaction } from './db.ts'
import { readFilteredPage } from './filtered-list.ts'
import type { PageOrder } from './page.ts'
import { type ItemText, jsonbText, quotedText, type TextPage, timeText } from './page-text.ts'
import { type Generated, type RawBuilder, sql } from './sql.ts'
import { inserting } from './unnested.ts'

/** An actor, an action and the changed record. */
export interface AuditEntry {
  /** `operator`, or `client:` and the client's id. */
  readonly actor: string
  /** Noun and verb, such as `customer.create`. */
  readonly action: string
  /** The changed record's id. */
  readonly subject: string
  /** The requested change: small, without secrets. */
  readonly detail: Readonly<Record<string, unknown>>
}

/** An entry matches when it equals every given filter. */
interface AuditFilters {
  readonly actor?: string
  readonly subject?: string
}

interface AuditTables {
  audit: {
    id: Generated<string>
    created_at: Generated<string>
    actor: string
    action: string
    subject: string
    detail: Readonly<Record<string, unknown>>
  }
}

export async function writeAudit<Tables>(
  transaction: Transaction<Tables>,
  { actor, action, subject, detail }: AuditEntry,
): Promise<void> {
  // The transaction has the types for the caller's tables. This module's table is in the same store.
  const ours = transaction as unknown as Transaction<AuditTables>
  await ours.insertInto('audit').values({ actor, action, subject, detail }).execute()
}

/** Part of a statement: writes the entry when `source` has a row, which is one at most. */
export function auditInsert(
  { actor, action, subject, detail }: AuditEntry,
  source: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    insert into audit (actor, action, subject, detail)
    select ${actor}, ${action}, ${subject}, ${JSON.stringify(detail)}::jsonb from ${source}`
}

/** Writes several entries with one statement, in this order. */
export async function writeAudits<Tables>(
  transaction: Transaction<Tables>,
  entries: readonly AuditEntry[],
): Promise<void> {
  if (entries.length === 0) return
  await inserting('audit', entries, [
    ['actor', 'text', ({ actor }) => actor],
    ['action', 'text', ({ action }) => action],
    ['subject', 'text', ({ subject }) => subject],
    ['detail', 'jsonb', ({ detail }) => JSON.stringify(detail)],
  ]).execute(transaction)
}

export async function listAudit(
  db: Db,
  request: { readonly limit?: number; readonly order: PageOrder; readonly pageCursor?: string },
  filters: AuditFilters = {},
): Promise<TextPage> {
  const { actor, subject } = filters
  const tables = db.tables<AuditTables>()
  const values = (value: string | undefined) => (value === undefined ? undefined : [value])
  const binding = { operation: 'audit', owner: 'operator', filters: { actor, subject }, idType: 'bigint' } as const
  return await readFilteredPage(tables, {
    query: tables.selectFrom('audit').select(['id', 'created_at', 'actor', 'action', 'subject', 'detail']),
    filters: [
      { column: 'subject', type: 'text', values: values(subject), index: 'owner' },
      { column: 'actor', type: 'text', values: values(actor), index: 'owner', leftOut: ['operator', 'worker'] },
    ],
    item: ITEM,
    request: { ...request, ...binding },
  })
}

const ITEM: ItemText = {
  members: [
    ['id', sql`'"' || record.id || '"'`],
    ['created_at', timeText('created_at')],
    ['actor', quotedText('actor')],
    ['action', quotedText('action')],
    ['subject', quotedText('subject')],
    ['detail', jsonbText('detail')],
  ],
  large: { text: ['subject'], jsonb: ['detail'] },
}
