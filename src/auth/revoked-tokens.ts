/**
 * Revoked tokens in the store: single ones by their ids, and all of a client by an instant. Writes run in the caller's
 * transaction and leave an audit row and a notice. What is kept is bounded: a row goes a while after its token has
 * expired, and a client may have so many and no more.
 */
import { millisecondText } from '../base/clock.ts'
import type { Db, Transaction } from '../store/db.ts'
import type { AccessToken } from './access-token.ts'
import { announceChange, recordChange } from './changes.ts'
import type { RevokedToken } from './directory.ts'
import type { AuthTables } from './tables.ts'

/**
 * Revocations of one client whose tokens have not expired. Every node holds all of them, about 150 bytes each; a client
 * that needs more has lost its secret, and then its operator revokes all of its tokens at once.
 */
const REVOKED_TOKENS_PER_CLIENT_MAX = 10_000
/** Kept so long after the expiry, so that a node that was cut off from the store still closes what the token opened. */
const KEPT_MILLISECONDS = 3_600_000

export async function readRevokedTokens(db: Db): Promise<RevokedToken[]> {
  const rows = await db.tables<AuthTables>().selectFrom('revoked_tokens').select(['token_id', 'expires_at']).execute()
  return rows.map(({ token_id, expires_at }) => ({
    tokenId: token_id,
    expiresAtMilliseconds: Date.parse(expires_at),
  }))
}

/** Revokes one token of the client that asks; `too-many`: its client has as many revoked ones as it may. */
export async function revokeToken(
  transaction: Transaction<AuthTables>,
  { tokenId, clientId, expiresAtMilliseconds }: AccessToken,
): Promise<'revoked' | 'too-many'> {
  const { count } = await transaction
    .selectFrom('revoked_tokens')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('client_id', '=', clientId)
    .executeTakeFirstOrThrow()
  if (Number(count) >= REVOKED_TOKENS_PER_CLIENT_MAX) return 'too-many'
  const made = await transaction
    .insertInto('revoked_tokens')
    .values({ token_id: tokenId, client_id: clientId, expires_at: millisecondText(expiresAtMilliseconds) })
    .onConflict((conflict) => conflict.doNothing())
    .returning('token_id')
    .executeTakeFirst()
  if (made !== undefined) {
    await recordChange(transaction, { actor: clientId, action: 'token.revoke', subject: tokenId, detail: {} })
  }
  return 'revoked'
}

/**
 * Revokes every token of a client that was issued until now. Times of issue are whole seconds, so the first that is
 * good again is the next one, and what is issued before it comes carries it already.
 */
export async function revokeAllTokens(
  transaction: Transaction<AuthTables>,
  actor: string,
  client: { readonly id: string; readonly validFromSeconds: number },
  nowMilliseconds: number,
): Promise<string> {
  const validFromSeconds = Math.max(Math.floor(nowMilliseconds / 1000), client.validFromSeconds) + 1
  const validFrom = millisecondText(validFromSeconds * 1000)
  await transaction.updateTable('clients').set({ tokens_valid_from: validFrom }).where('id', '=', client.id).execute()
  await transaction.deleteFrom('revoked_tokens').where('client_id', '=', client.id).execute()
  const detail = { tokens_valid_from: validFrom }
  await recordChange(transaction, { actor, action: 'client.revoke_tokens', subject: client.id, detail })
  return validFrom
}

/** Whether a revocation has done what it was for. Pure. */
export function isRevocationOver({ expiresAtMilliseconds }: RevokedToken, nowMilliseconds: number): boolean {
  return expiresAtMilliseconds + KEPT_MILLISECONDS <= nowMilliseconds
}

/** Forgets the revocations that are over. */
export async function forgetRevokedTokens(
  transaction: Transaction<AuthTables>,
  nowMilliseconds: number,
): Promise<void> {
  const before = millisecondText(nowMilliseconds - KEPT_MILLISECONDS)
  await transaction.deleteFrom('revoked_tokens').where('expires_at', '<=', before).execute()
  await announceChange(transaction)
}
