/** Reads a customer's transfers: one page, or a single transfer. */
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import type { Db } from '../../platform/store/db.ts'
import { readFilteredPage } from '../../platform/store/filtered-list.ts'
import { isMadeWithin, isOwnedBy } from '../../platform/store/page.ts'
import {
  type ItemText,
  jsonbText,
  objectText,
  plainText,
  quotedText,
  rawText,
  readItemText,
  type TextPage,
  timeText,
} from '../../platform/store/page-text.ts'
import { type ColumnType, sql } from '../../platform/store/sql.ts'
import { amountText } from '../ledger/amount-text.ts'
import type { TransferDirection, TransferSecondaryStatus, TransferStatus, TransferType } from './model.ts'
import type { TRANSFER_FILTERS } from './schemas.ts'

/** The JSON text of one customer's transfer. Undefined when the customer has none with this id. */
export async function getTransfer(db: Db, customerId: string, id: string): Promise<string | undefined> {
  const tables = db.tables<TransferTables>()
  const query = tables.selectFrom('transfers').selectAll().where('id', '=', id).where('customer_id', '=', customerId)
  return await readItemText(tables, query, TRANSFER_ITEM)
}

/** One page of a customer's transfers. Items have the same members as in `getTransfer`. */
export async function listTransfers(
  db: Db,
  customerId: string,
  { filters, binding, ...paging }: ListQuery<typeof TRANSFER_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<TransferTables>()
  const { created_at, updated_at, ids, group_id, profile_id, status, type, asset, ...left } = filters
  left satisfies AllApplied
  const owned = tables.selectFrom('transfers').selectAll().where(isOwnedBy(customerId))
  return await readFilteredPage(tables, {
    query: created_at === undefined ? owned : owned.where(isMadeWithin(created_at)),
    range:
      updated_at === undefined ? undefined : { column: 'updated_at', range: updated_at, owned, created: created_at },
    filters: [
      { column: 'id', type: 'uuid', values: ids, index: 'one' },
      { column: 'group_id', type: 'uuid', values: group_id, index: 'filter' },
      { column: 'profile_id', type: 'uuid', values: profile_id, index: 'filter' },
      { column: 'status', type: 'text', values: status, index: 'filter', leftOut: ['COMPLETED'] },
      { column: 'type', type: 'text', values: type },
      { column: 'asset', type: 'text', values: asset },
    ],
    item: TRANSFER_ITEM,
    request: { ...paging, operation: 'listTransfers', owner: customerId, filters: binding, idType: 'uuid' },
  })
}

/** A whole number. */
const numberText = (column: string) => sql<string>`${rawText(column)}::text`

const disposition = sql<string>`
  case when record.disposition is not null then ${objectText([['code', plainText('disposition')]])} end`

/** A transfer's JSON text. */
const TRANSFER_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['customer_id', plainText('customer_id')],
    ['profile_id', plainText('profile_id')],
    ['account_id', plainText('account_id')],
    ['asset', plainText('asset')],
    ['amount', amountText('amount')],
    ['fee', amountText('fee')],
    ['total', amountText(sql`(record.amount + record.fee)`)],
    ['direction', plainText('direction')],
    ['type', plainText('type')],
    ['status', plainText('status')],
    ['secondary_status', plainText('secondary_status')],
    ['disposition', disposition],
    ['crypto_network', plainText('crypto_network')],
    ['crypto_tx_hash', quotedText('crypto_tx_hash')],
    ['crypto_tx_index', numberText('crypto_tx_index')],
    ['confirmations', numberText('confirmations')],
    ['destination_address', quotedText('destination_address')],
    ['memo', quotedText('memo')],
    ['group_id', plainText('group_id')],
    ['metadata', jsonbText('metadata')],
    ['created_at', timeText('created_at')],
    ['updated_at', timeText('updated_at')],
  ],
  large: { text: ['crypto_tx_hash', 'destination_address', 'memo'], jsonb: ['metadata'] },
}

interface TransfersTable {
  id: string
  customer_id: string
  profile_id: string
  account_id: string | null
  asset: string
  amount: string
  fee: string
  direction: TransferDirection
  type: TransferType
  status: TransferStatus
  secondary_status: TransferSecondaryStatus | null
  disposition: string | null
  crypto_network: string | null
  crypto_tx_hash: string | null
  crypto_tx_index: number | null
  confirmations: number | null
  destination_address: string | null
  memo: string | null
  group_id: string
  metadata: ColumnType<Readonly<Record<string, unknown>>, string, never>
  created_at: string
  updated_at: string
}

/** The table `transfers`, as the query builder sees it. The migration `ledger` defines it. */
interface TransferTables {
  transfers: TransfersTable
}
