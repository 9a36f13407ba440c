/** Reads deposits for the operator, by id and in lists. Read-only. */
import { isUuid } from '../../platform/base/ids.ts'
import type { PageParameters } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Kysely } from '../../platform/store/db.ts'
import { isEqual, recordsOf } from '../../platform/store/page.ts'
import {
  type ItemText,
  jsonbText,
  objectText,
  plainText,
  quotedText,
  readTextPage,
  type TextPage,
  timeText,
} from '../../platform/store/page-text.ts'
import { sql } from '../../platform/store/sql.ts'
import type { StoredGate } from '../gates/model.ts'
import { amountText } from '../ledger/amount-text.ts'
import type { Disposition } from './dispositions.ts'
import type { Correction, DepositTables } from './tables.ts'
import type { DepositSecondaryStatus, DepositStatus } from './transitions.ts'

/** A deposit in the operator API. */
export interface DepositDocument {
  readonly id: string
  readonly customer_id?: string
  readonly profile_id?: string
  readonly account_id?: string
  readonly asset: string
  readonly amount: string
  readonly status: DepositStatus
  readonly secondary_status?: DepositSecondaryStatus
  readonly disposition?: { readonly code: Disposition }
  readonly gates?: readonly StoredGate[]
  readonly reason?: string
  readonly crypto?: {
    readonly network: string
    readonly address: string
    readonly tx_hash: string
    readonly tx_index: number
  }
  readonly fiat?: {
    readonly network: string
    readonly memo_id?: string
    readonly remittance?: string
    readonly bank_reference?: string
    readonly sender?: string
  }
  readonly deposit_address_id?: string
  readonly deposit_instructions_id?: string
  readonly orchestration_rule_id?: string
  readonly orchestration_id?: string
  readonly delivery_id?: string
  readonly confirmations?: number
  readonly corrections?: readonly Correction[]
  readonly occurred_at: string
  readonly completed_at?: string
  readonly created_at: string
  readonly updated_at: string
  readonly version: string
}

/** A deposit matches when it equals every given filter. */
export interface DepositFilters {
  readonly status?: string | undefined
  readonly secondary_status?: string | undefined
  readonly disposition?: string | undefined
  readonly customer_id?: string | undefined
  readonly profile_id?: string | undefined
  readonly asset?: string | undefined
  readonly unattributed?: 'true' | 'false' | undefined
}

/** The deposits with these ids, by id. */
export async function readDeposits<Tables>(
  tables: Kysely<Tables>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DepositDocument>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ readonly id: string; readonly text: string }>`
    select record.id, ${objectText(DEPOSIT_ITEM.members)} as text from deposits as record
    where record.id = any(${[...new Set(ids)]}::uuid[])
  `.execute(tables)
  return new Map(rows.map(({ id, text }) => [id, JSON.parse(text) as DepositDocument]))
}

/** A deposit by id. Throws 404 when there is none. */
export async function readDeposit<Tables>(tables: Kysely<Tables>, id: string): Promise<DepositDocument> {
  return (await readDeposits(tables, [id])).get(id) ?? noDeposit()
}

export function noDeposit(): never {
  throw new Problem('not_found', 'there is no deposit with this id')
}

/** All customers' deposits, and unattributed ones, in pages. */
export async function listDeposits(db: Db, filters: DepositFilters, paging: PageParameters): Promise<TextPage> {
  const { unattributed, customer_id, ...columns } = filters
  const tables = db.tables<DepositTables>()
  let query = tables.selectFrom('deposits').selectAll()
  for (const [column, value] of Object.entries({ ...columns, customer_id })) {
    if (value === undefined) continue
    const isId = column.endsWith('_id')
    // Text that is not an id matches no deposit.
    if (isId && !isUuid(value)) query = query.where(sql<boolean>`false`)
    else query = query.where(isEqual(column, isId ? value.toLowerCase() : value, isId ? 'uuid' : 'text'))
  }
  if (unattributed !== undefined) {
    query = query.where(
      unattributed === 'true' ? sql<boolean>`profile_id is null` : sql<boolean>`profile_id is not null`,
    )
  }
  const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
  const request = {
    ...paging,
    operation: 'deposits',
    owner: 'operator',
    filters: given,
    idType: 'uuid',
    indexes: customer_id === undefined ? 'all' : 'owner',
  } as const
  return await readTextPage(tables, recordsOf(query, request), DEPOSIT_ITEM, request)
}

const crypto = sql<string>`case when record.tx_hash is not null then ${objectText([
  ['network', plainText('network')],
  ['address', quotedText('address')],
  ['tx_hash', quotedText('tx_hash')],
  ['tx_index', sql`record.tx_index::text`],
])} end`

const fiat = sql<string>`case when record.tx_hash is null then ${objectText([
  ['network', plainText('network')],
  ['memo_id', quotedText('memo_id')],
  ['remittance', quotedText('remittance')],
  ['bank_reference', quotedText('bank_reference')],
  ['sender', quotedText('sender')],
])} end`

const disposition = sql<string>`case when record.disposition is not null then ${objectText([
  ['code', plainText('disposition')],
])} end`

/** A deposit's JSON text in the operator API. */
const DEPOSIT_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['customer_id', plainText('customer_id')],
    ['profile_id', plainText('profile_id')],
    ['account_id', plainText('account_id')],
    ['asset', quotedText('asset')],
    ['amount', amountText('amount')],
    ['status', plainText('status')],
    ['secondary_status', plainText('secondary_status')],
    ['disposition', disposition],
    ['gates', sql`case when record.secondary_status = 'HELD' then ${jsonbText('gates')} end`],
    ['reason', quotedText('reason')],
    ['crypto', crypto],
    ['fiat', fiat],
    ['deposit_address_id', plainText('deposit_address_id')],
    ['deposit_instructions_id', plainText('fiat_instructions_id')],
    ['orchestration_rule_id', plainText('rule_id')],
    ['orchestration_id', plainText('orchestration_id')],
    ['delivery_id', plainText('delivery_id')],
    ['confirmations', sql`record.confirmations::text`],
    ['corrections', sql`case when record.corrections <> '[]' then ${jsonbText('corrections')} end`],
    ['occurred_at', timeText('occurred_at')],
    ['completed_at', timeText('completed_at')],
    ['created_at', timeText('created_at')],
    ['updated_at', timeText('updated_at')],
    ['version', timeText('updated_at')],
  ],
  large: { text: ['remittance', 'sender', 'reason'], jsonb: ['corrections'] },
}
