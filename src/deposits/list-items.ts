/** A deposit as the operator sees it: the store writes it, alone and in lists. */
import { amountText } from '../ledger/amount-text.ts'
import { type ItemText, objectText, plainText, quotedText, timeText } from '../store/page-text.ts'
import { sql } from '../store/sql.ts'

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

export const DEPOSIT_ITEM: ItemText = {
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
    ['reason', quotedText('reason')],
    ['crypto', crypto],
    ['fiat', fiat],
    ['deposit_address_id', plainText('deposit_address_id')],
    ['deposit_instructions_id', plainText('fiat_instructions_id')],
    ['orchestration_rule_id', plainText('rule_id')],
    ['orchestration_id', plainText('orchestration_id')],
    ['delivery_id', plainText('delivery_id')],
    ['confirmations', sql`record.confirmations::text`],
    ['occurred_at', timeText('occurred_at')],
    ['completed_at', timeText('completed_at')],
    ['created_at', timeText('created_at')],
    ['updated_at', timeText('updated_at')],
  ],
  large: { text: ['remittance', 'sender', 'reason'], jsonb: [] },
}
