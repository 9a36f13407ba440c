/** Orchestrations as the store writes them, in lists and one at a time: the only place that knows how one is shown. */
import { amountText } from '../ledger/amount-text.ts'
import { DESTINATION_TEXT, SOURCE_TEXT } from '../rules/list-items.ts'
import { type ItemText, jsonbText, objectText, plainText, quotedText, timeText } from '../store/page-text.ts'
import { type RawBuilder, sql } from '../store/sql.ts'

/** An object that is there when a column has a value. */
function objectIf(column: string, members: Parameters<typeof objectText>[0]): RawBuilder<string | null> {
  return sql`case when ${sql.ref(`record.${column}`)} is not null then ${objectText(members)} end`
}

/** An entry of the statement that the orchestration made or came from, with its status now. */
function transferText(column: 'source_transfer_id' | 'destination_transfer_id'): RawBuilder<string | null> {
  return sql`(
    select ${objectText([
      ['transfer_id', sql`'"' || linked.id || '"'`],
      ['status', sql`'"' || linked.status || '"'`],
    ])}
    from transfers as linked where linked.id = ${sql.ref(`record.${column}`)}
  )`
}

const destinationAmount = amountText('destination_amount', 'destination_asset')
const sourceAmount = amountText('source_amount', 'source_asset')

/** An orchestration as its customer sees it. */
export const ORCHESTRATION_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['customer_id', plainText('customer_id')],
    ['profile_id', plainText('profile_id')],
    ['identity_id', quotedText('identity_id')],
    ['account_id', plainText('account_id')],
    ['ref_id', quotedText('ref_id')],
    ['orchestration_rule_id', plainText('rule_id')],
    ['deposit_id', plainText('deposit_id')],
    ['retry_of', plainText('retry_of')],
    ['source_asset', quotedText('source_asset')],
    ['source_amount', sourceAmount],
    ['destination_asset', quotedText('destination_asset')],
    ['destination_amount', destinationAmount],
    ['price', plainText('price')],
    ['price_source', quotedText('price_source')],
    [
      'receipt',
      objectIf('destination_amount', [
        ['initial_amount', sourceAmount],
        ['fee_amount', amountText('fee_amount', 'source_asset')],
        ['converted_amount', amountText('converted_amount', 'source_asset')],
        ['rate', plainText('price')],
        ['outgoing_amount', destinationAmount],
      ]),
    ],
    ['status', plainText('status')],
    ['waiting_for', plainText('waiting_for')],
    ['expires_at', timeText('expires_at')],
    [
      'fail_reason',
      objectIf('fail_code', [
        ['code', plainText('fail_code')],
        ['detail', quotedText('fail_detail')],
      ]),
    ],
    ['source', SOURCE_TEXT],
    ['destination', DESTINATION_TEXT],
    ['source_transfer', transferText('source_transfer_id')],
    ['destination_transfer', transferText('destination_transfer_id')],
    ['metadata', jsonbText('metadata')],
    ['created_at', timeText('created_at')],
    ['updated_at', timeText('updated_at')],
  ],
  large: { text: ['identity_id', 'ref_id', 'fail_detail'], jsonb: ['destination', 'metadata'] },
}

/** The same as the operator sees it. */
export const OPERATOR_ORCHESTRATION_ITEM: ItemText = {
  ...ORCHESTRATION_ITEM,
  members: [
    ...ORCHESTRATION_ITEM.members,
    ['step', plainText('step')],
    ['waiting_detail', quotedText('waiting_detail')],
    ['waiting_since', timeText('waiting_since')],
  ],
}
