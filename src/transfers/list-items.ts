/** The JSON of transfers, which the store writes, for lists and for single transfers. */
import { amountText } from '../ledger/amount-text.ts'
import { type ItemText, jsonbText, objectText, plainText, quotedText, rawText, timeText } from '../store/page-text.ts'
import { sql } from '../store/sql.ts'

/** A whole number. */
const numberText = (column: string) => sql<string>`${rawText(column)}::text`

const disposition = sql<string>`
  case when record.disposition is not null then ${objectText([['code', plainText('disposition')]])} end`

export const TRANSFER_ITEM: ItemText = {
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
