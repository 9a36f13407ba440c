/**
 * The JSON text of accounts and profiles in lists, written by SQL. Members and their order match the documents in
 * `documents` and `profiles`. Tests compare the two.
 */
import { flagText, type ItemText, plainText, quotedText, rawText, timeText } from '../../platform/store/page-text.ts'
import { sql } from '../../platform/store/sql.ts'

/** An account's members. PostgreSQL writes a space after each comma in `roles`, and role names contain none. */
const members = sql<string>`(
  select concat('[', string_agg(concat('{"identity_id":', member -> 'identity_id', ',"roles":',
    replace((member -> 'roles')::text, ', ', ','), ',"id":', member -> 'id', '}'), ','), ']')
  from jsonb_array_elements(record.members) as member
)`

/** An account in a customer's list. */
export const ACCOUNT_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['identity_id', quotedText('identity_id')],
    ['description', quotedText('description')],
    ['admin_disabled', flagText('admin_disabled')],
    ['user_disabled', flagText('user_disabled')],
    ['metadata', rawText('metadata')],
    ['ref_id', quotedText('ref_id')],
    ['members', members],
    ['created_at', timeText('created_at')],
    ['updated_at', timeText('updated_at')],
    ['profile_id', plainText('profile_id')],
  ],
  large: { text: ['metadata', 'description'], jsonb: ['members'] },
}

/** An account in the operator's list. */
export const REVIEWED_ACCOUNT_ITEM: ItemText = {
  ...ACCOUNT_ITEM,
  members: [
    ...ACCOUNT_ITEM.members,
    [
      'summary_status',
      sql`case when record.admin_disabled or record.user_disabled then '"DISABLED"' else ${plainText('review_status')} end`,
    ],
    ['type', plainText('type')],
    ['customer_id', plainText('customer_id')],
  ],
}

/** A profile in a customer's list. */
export const PROFILE_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['nickname', quotedText('nickname')],
    ['type', plainText('type')],
    ['account_id', sql`(select '"' || accounts.id || '"' from accounts where accounts.profile_id = record.id)`],
    ['created_at', timeText('created_at')],
  ],
  large: { text: ['nickname'], jsonb: [] },
}
