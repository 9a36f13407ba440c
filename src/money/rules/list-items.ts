/**
 * The JSON text of rules in lists, written by SQL. Members and their order equal those in `store`'s documents. Tests
 * compare the two.
 */
import type { BankInstructions } from '../../contract/bank-details.ts'
import {
  type ItemText,
  jsonbText,
  objectText,
  plainText,
  quotedText,
  timeText,
} from '../../platform/store/page-text.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { bankText } from '../deposit-instructions/fiat-instructions-list.ts'
import { DESTINATION_FORMS, SOURCE_FORMS } from './model.ts'

/**
 * The text of a jsonb column whose object has one member. The member is named after its form and has that form's
 * members.
 */
function formText(column: 'source' | 'destination', forms: Readonly<Record<string, readonly string[]>>) {
  const cases = Object.entries(forms).map(([form, names]): RawBuilder<unknown> => {
    const members = objectText(names.map((name) => [name, jsonbText(column, [form, name])]))
    return sql`when ${sql.ref(`record.${column}`)} -> ${sql.lit(form)} is not null then ${objectText([[form, members]])}`
  })
  return sql<string>`case ${sql.join(cases, sql` `)} end`
}

/** The source of a rule or an orchestration. */
export const SOURCE_TEXT = formText('source', SOURCE_FORMS)

/** The destination of a rule or an orchestration. */
export const DESTINATION_TEXT = formText('destination', DESTINATION_FORMS)

/** A rule's source. One with a memo also shows the configured bank details. */
function sourceText(banks: BankInstructions): RawBuilder<string> {
  const fiat = sql`record.source -> 'fiat'`
  const bank = bankText(banks, sql`${fiat} ->> 'network'`, sql`${fiat} ->> 'account_type'`)
  const members = SOURCE_FORMS.fiat.map((name) => [name, jsonbText('source', ['fiat', name])] as const)
  return sql<string>`case when ${fiat} ->> 'memo_id' is not null
    then ${objectText([['fiat', objectText([...members, ['bank', bank]])]])} else ${SOURCE_TEXT} end`
}

/**
 * A rule in a customer's list.
 * @param banks the setting `banking.instructions`
 */
export function ruleItem(banks: BankInstructions): ItemText {
  return {
    members: [
      ['id', plainText('id')],
      ['ref_id', quotedText('ref_id')],
      ['nickname', quotedText('nickname')],
      ['profile_id', plainText('profile_id')],
      ['identity_id', quotedText('identity_id')],
      ['account_id', plainText('account_id')],
      ['status', plainText('status')],
      ['reject_reason', quotedText('reject_reason')],
      ['source_asset', quotedText('source_asset')],
      ['destination_asset', quotedText('destination_asset')],
      ['source', sourceText(banks)],
      ['destination', DESTINATION_TEXT],
      ['created_at', timeText('created_at')],
    ],
    large: { text: ['ref_id', 'nickname', 'identity_id', 'reject_reason'], jsonb: ['destination'] },
  }
}

/** A rule in the operator's list. */
export function operatorRuleItem(banks: BankInstructions): ItemText {
  const item = ruleItem(banks)
  return { ...item, members: [...item.members, ['customer_id', plainText('customer_id')]] }
}
