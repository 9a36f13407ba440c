/** Reads ledger entries by id and in lists. Read-only. */
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import { readFilteredPage } from '../../platform/store/filtered-list.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { isMadeWithin } from '../../platform/store/page.ts'
import {
  type ItemText,
  jsonbText,
  plainText,
  quotedText,
  readItemText,
  type TextPage,
  timeText,
} from '../../platform/store/page-text.ts'
import { sql } from '../../platform/store/sql.ts'
import type { ENTRY_FILTERS } from './entry-schemas.ts'

/** One entry's JSON text. Undefined when no entry has this id. */
export async function entryText<Tables>(tables: Kysely<Tables>, id: string): Promise<string | undefined> {
  // The caller knows only its own tables. This folder's tables are in the same store.
  const ours = tables as unknown as Kysely<EntryTables>
  return await readItemText(ours, ours.selectFrom('ledger_entries').selectAll().where('id', '=', id), ENTRY_ITEM)
}

/** Like `entryText`, but locks the entry until the transaction ends, so no other transaction reverses it. */
export async function lockedEntryText<Tables>(
  transaction: Transaction<Tables>,
  id: string,
): Promise<string | undefined> {
  await sql`select from ledger_entries where id = ${id} ${forUpdate(transaction, 'ledger entry', [id])}`.execute(
    transaction,
  )
  return await entryText(transaction, id)
}

/** One page of entries. */
export async function listEntries(
  db: Db,
  { filters, binding, ...paging }: ListQuery<typeof ENTRY_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<EntryTables>()
  const { kind, reference, profile_id, created_at, ...left } = filters
  left satisfies AllApplied
  const all = tables.selectFrom('ledger_entries').selectAll()
  return await readFilteredPage(tables, {
    query: created_at === undefined ? all : all.where(isMadeWithin(created_at)),
    filters: [
      { column: 'reference', type: 'text', values: reference, index: 'one' },
      { column: 'profile_id', type: 'uuid', values: profile_id, index: 'filter' },
      { column: 'kind', type: 'text', values: kind, index: 'filter' },
    ],
    item: ENTRY_ITEM,
    request: {
      ...paging,
      operation: 'ledgerEntries',
      owner: 'operator',
      filters: binding,
      idType: 'uuid',
      indexes: 'all',
    },
  })
}

const ENTRY_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['kind', plainText('kind')],
    ['legs', jsonbText('legs')],
    ['profile_id', plainText('profile_id')],
    ['reference', quotedText('reference')],
    ['reason', quotedText('reason')],
    ['effective_at', timeText('effective_at')],
    ['reverses', plainText('reverses')],
    ['reversed_by', sql`(select '"' || id || '"' from ledger_entries as later where later.reverses = record.id)`],
    ['created_at', timeText('created_at')],
  ],
  large: { text: ['reason'], jsonb: [] },
}

/** The table, as the query builder sees it. The migration `ledger-entries` defines it. */
interface EntryTables {
  ledger_entries: {
    id: string
    kind: string
    legs: unknown
    profile_id: string | null
    reference: string | null
    reason: string
    effective_at: string | null
    reverses: string | null
    created_at: string
  }
}
