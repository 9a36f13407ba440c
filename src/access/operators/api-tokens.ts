/** The operators' API tokens, as the guard checks them. Tokens are created and revoked in `store`. */
import { includesRole } from '../../contract/operator-calls.ts'
import { type Clock, millisecondText } from '../../platform/base/clock.ts'
import type { Db } from '../../platform/store/db.ts'
import type { CallingOperator } from '../clients/operator-calls.ts'
import { hashRandomSecret } from './random-secrets.ts'
import type { OperatorTables } from './tables.ts'

export const API_TOKEN_PREFIX = 'tgo_'

/** The last-use time is written at most this often, for each token. */
const USE_NOTED_MILLISECONDS = 60_000

/** The operator holding this token, with the lower of both roles. Undefined when it is not valid. */
export async function operatorWithApiToken(db: Db, clock: Clock, token: string): Promise<CallingOperator | undefined> {
  const tables = db.tables<OperatorTables>()
  const row = await tables
    .selectFrom('operator_tokens')
    .innerJoin('operators', 'operators.id', 'operator_tokens.operator_id')
    .select(['operator_tokens.id', 'operator_tokens.role', 'operator_tokens.last_used_at'])
    .select(['operator_tokens.name as token_name', 'operator_tokens.sources', 'operator_tokens.assets'])
    .select(['operators.name', 'operators.role as operator_role', 'operators.enabled'])
    .select(['operators.issuers', 'operator_tokens.issuers as token_issuers'])
    .where('operator_tokens.hash', '=', hashRandomSecret(token))
    .executeTakeFirst()
  if (row === undefined || !row.enabled) return undefined
  const now = clock.wallInstant().milliseconds
  if (row.last_used_at === null || Date.parse(row.last_used_at) + USE_NOTED_MILLISECONDS <= now) {
    const change = tables.updateTable('operator_tokens').set({ last_used_at: millisecondText(now) })
    await change.where('id', '=', row.id).execute()
  }
  const role = includesRole(row.operator_role, row.role) ? row.role : row.operator_role
  const { name, sources, assets } = row
  const issuers = [...row.token_issuers, ...row.issuers]
  return { name, role, via: 'api_token', issuers, token: { name: row.token_name, sources, assets } }
}
