/** Reads screenings by id and in lists. Read-only. */
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import type { Db, Kysely } from '../../platform/store/db.ts'
import { readFilteredPage } from '../../platform/store/filtered-list.ts'
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
import { amountText } from '../ledger/amount-text.ts'
import type { SCREENING_FILTERS } from './schemas.ts'

/** One screening's JSON text. Undefined when none has this id. */
export async function screeningText<Tables>(tables: Kysely<Tables>, id: string): Promise<string | undefined> {
  // The caller knows only its own tables. This folder's table is in the same store.
  const ours = tables as unknown as Kysely<ScreeningTables>
  return await readItemText(ours, ours.selectFrom('screenings').selectAll().where('id', '=', id), SCREENING_ITEM)
}

/** One page of all customers' screenings. */
export async function listScreenings(
  db: Db,
  { filters, binding, ...paging }: ListQuery<typeof SCREENING_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<ScreeningTables>()
  const { status, customer_id, movement_id, ...left } = filters
  left satisfies AllApplied
  return await readFilteredPage(tables, {
    query: tables.selectFrom('screenings').selectAll(),
    filters: [
      { column: 'movement_id', type: 'uuid', values: movement_id, index: 'one' },
      { column: 'status', type: 'text', values: status, index: 'filter', leftOut: ['ALLOWED', 'CLOSED'] },
      { column: 'customer_id', type: 'uuid', values: customer_id },
    ],
    item: SCREENING_ITEM,
    request: {
      ...paging,
      operation: 'screenings',
      owner: 'operator',
      filters: binding,
      idType: 'uuid',
      indexes: 'all',
    },
  })
}

const SCREENING_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['kind', plainText('kind')],
    ['status', plainText('status')],
    ['deposit_id', sql`case when record.kind = 'deposit' then ${plainText('movement_id')} end`],
    ['orchestration_id', sql`case when record.kind = 'payment' then ${plainText('movement_id')} end`],
    ['customer_id', plainText('customer_id')],
    ['profile_id', plainText('profile_id')],
    ['asset', quotedText('asset')],
    ['amount', amountText('amount')],
    ['destination', jsonbText('destination')],
    ['revision', sql`record.revision::text`],
    ['asked_at', timeText('asked_at')],
    ['attempts', sql`record.attempt::text`],
    ['fault', quotedText('fault')],
    ['decided_by', quotedText('decided_by')],
    ['decided_at', timeText('decided_at')],
    ['reason', quotedText('reason')],
    ['decisions', jsonbText('decisions')],
    ['facts', jsonbText('facts')],
    ['created_at', timeText('created_at')],
  ],
  large: { text: [], jsonb: ['destination', 'decisions', 'facts'] },
}

/** The table, as the query builder sees it. The migration `screenings` defines it. */
interface ScreeningTables {
  screenings: {
    id: string
    kind: string
    movement_id: string
    customer_id: string
    profile_id: string
    asset: string
    amount: string
    destination: unknown
    revision: number
    status: string
    asked_at: string
    facts: unknown
    attempt: number
    fault: string | null
    decided_by: string | null
    decided_at: string | null
    reason: string | null
    decisions: unknown
    created_at: string
  }
}
