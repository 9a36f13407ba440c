/**
 * Rules of lists as the store writes them, with the members of the documents in `store`: for customers in the order of
 * their schema, required ones first, and for the operator in that of the document. The tests hold them against the
 * answers about single rules.
 */
import { type ItemText, jsonbText, objectText, plainText, quotedText, timeText } from '../store/page-text.ts'
import { type RawBuilder, sql } from '../store/sql.ts'

/** The members of each form that a source or a destination may have, in their order. */
const SOURCE_FORMS = {
  crypto: ['network', 'address_id', 'address'],
  fiat: ['network', 'account_type', 'deposit_instructions_id', 'memo_id'],
  profile: ['profile_id'],
}
const DESTINATION_FORMS = {
  crypto: ['address', 'network'],
  fiat: ['fiat_account_id', 'memo'],
  profile: ['profile_id'],
}

/** A jsonb column whose object has one member, the name of its form. */
function formText(column: 'source' | 'destination', forms: Readonly<Record<string, readonly string[]>>) {
  const cases = Object.entries(forms).map(([form, names]): RawBuilder<unknown> => {
    const members = objectText(names.map((name) => [name, jsonbText(column, [form, name])]))
    return sql`when ${sql.ref(`record.${column}`)} -> ${sql.lit(form)} is not null then ${objectText([[form, members]])}`
  })
  return sql<string>`case ${sql.join(cases, sql` `)} end`
}

/** A rule of a customer's list. */
export const RULE_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['ref_id', quotedText('ref_id')],
    ['profile_id', plainText('profile_id')],
    ['status', plainText('status')],
    ['source_asset', quotedText('source_asset')],
    ['destination_asset', quotedText('destination_asset')],
    ['source', formText('source', SOURCE_FORMS)],
    ['destination', formText('destination', DESTINATION_FORMS)],
    ['created_at', timeText('created_at')],
    ['nickname', quotedText('nickname')],
    ['identity_id', quotedText('identity_id')],
    ['account_id', plainText('account_id')],
  ],
  large: { text: ['ref_id', 'nickname', 'identity_id'], jsonb: ['destination'] },
}

/** A rule of the operator's list. */
export const OPERATOR_RULE_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['ref_id', quotedText('ref_id')],
    ['nickname', quotedText('nickname')],
    ['profile_id', plainText('profile_id')],
    ['identity_id', quotedText('identity_id')],
    ['account_id', plainText('account_id')],
    ['status', plainText('status')],
    ['source_asset', quotedText('source_asset')],
    ['destination_asset', quotedText('destination_asset')],
    ['source', jsonbText('source')],
    ['destination', jsonbText('destination')],
    ['created_at', timeText('created_at')],
    ['customer_id', plainText('customer_id')],
    ['reject_reason', quotedText('reject_reason')],
  ],
  large: { text: ['ref_id', 'nickname', 'identity_id', 'reject_reason'], jsonb: ['destination'] },
}
