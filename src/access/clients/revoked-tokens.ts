/**
 * Revoked tokens in the store: single ones by their ids, and all a client's tokens by an instant. Writes run in the
 * caller's transaction. A revocation writes an audit row and a numbered change, the deletion of old ones only the
 * change. The rows are bounded: a client may have a limited number of revoked tokens, and a row is deleted when no node
 * can accept its token any more, by the store's clock alone.
 */
import { millisecondText } from '../../platform/base/clock.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { readStoreTime } from '../../platform/store/store-clock.ts'
import { type AccessToken, TOKEN_SECONDS_MAX } from './access-token.ts'
import { announceChange, recordChange } from './changes.ts'
import type { RevokedToken } from './directory-records.ts'
import type { AuthTables } from './tables.ts'

/**
 * Stored revocations per client, at most. Every node has them all in memory, about 150 bytes each. A client that needs
 * more has lost its secret, and the operator should revoke all its tokens at once.
 */
const REVOKED_TOKENS_PER_CLIENT_MAX = 10_000
/**
 * How long a revocation is stored after its token expired or was revoked, whichever is later: longer than any token's
 * lifetime. A node whose clock is up to a day slow still rejects the token, and so does the node that issued it,
 * whatever its clock. The additional hour is for nodes that were disconnected from the store.
 */
const KEPT_MILLISECONDS = TOKEN_SECONDS_MAX * 1000 + 3_600_000

/** All revocations, or only for the named tokens. */
export async function readRevokedTokens(db: Db, tokenIds?: readonly string[]): Promise<RevokedToken[]> {
  let query = db.tables<AuthTables>().selectFrom('revoked_tokens').select(['token_id', 'client_id', 'expires_at'])
  if (tokenIds !== undefined) query = query.where('token_id', 'in', tokenIds)
  const rows = await query.execute()
  /** One text per client, because it may have thousands of revoked tokens. */
  const clientIds = new Map(rows.map(({ client_id }) => [client_id, client_id]))
  return rows.map(({ token_id, client_id, expires_at }) => ({
    tokenId: token_id,
    clientId: clientIds.get(client_id) as string,
    expiresAtMilliseconds: Date.parse(expires_at),
  }))
}

/** Revokes one of the calling client's tokens. `too-many`: the client has reached its limit for revoked tokens. */
export async function revokeToken(
  transaction: Transaction<AuthTables>,
  { tokenId, clientId, issuedAtSeconds, expiresAtMilliseconds }: AccessToken,
): Promise<'revoked' | 'too-many'> {
  const { count } = await transaction
    .selectFrom('revoked_tokens')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('client_id', '=', clientId)
    .executeTakeFirstOrThrow()
  if (Number(count) >= REVOKED_TOKENS_PER_CLIENT_MAX) return 'too-many'
  const made = await transaction
    .insertInto('revoked_tokens')
    .values({
      token_id: tokenId,
      client_id: clientId,
      expires_at: millisecondText(expiresAtMilliseconds),
      issued_at: millisecondText(issuedAtSeconds * 1000),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('token_id')
    .executeTakeFirst()
  if (made !== undefined) {
    const entry = { actor: clientId, action: 'token.revoke', subject: tokenId, detail: {} }
    await recordChange(transaction, entry, { kind: 'token', id: tokenId })
  }
  return 'revoked'
}

/**
 * Revokes every token issued to a client until now. A token names the last such revocation that its issuer knew, so no
 * clock matters. For tokens that name none, issue times are compared: they are whole seconds, so the first one accepted
 * again is the next second by the store's clock. A node that has not read the revocation yet grants tokens that are
 * revoked too. Covered single revocations are deleted, except for tokens from a node
 * whose clock is fast.
 */
export async function revokeAllTokens(
  transaction: Transaction<AuthTables>,
  actor: string,
  client: { readonly id: string; readonly validFromSeconds: number },
): Promise<string> {
  const nowSeconds = Math.floor((await readStoreTime(transaction)) / 1000)
  const validFrom = millisecondText((Math.max(nowSeconds, client.validFromSeconds) + 1) * 1000)
  await transaction.updateTable('clients').set({ tokens_valid_from: validFrom }).where('id', '=', client.id).execute()
  const covered = await transaction
    .deleteFrom('revoked_tokens')
    .where('client_id', '=', client.id)
    .where('issued_at', '<', validFrom)
    .returning('token_id')
    .execute()
  const entry = { actor, action: 'client.revoke_tokens', subject: client.id, detail: { tokens_valid_from: validFrom } }
  await recordChange(transaction, entry, { kind: 'client', id: client.id })
  if (covered.length > 0) await announceChange(transaction, { kind: 'everything' })
  return validFrom
}

/** Whether a token expired long enough ago to delete its revocation. */
export function isRevocationOver({ expiresAtMilliseconds }: RevokedToken, storeMilliseconds: number): boolean {
  return expiresAtMilliseconds + KEPT_MILLISECONDS <= storeMilliseconds
}

/** Deletes the revocations whose tokens no node can accept any more. Returns how many. */
export async function deleteOldRevocations(transaction: Transaction<AuthTables>): Promise<number> {
  const deleted = await transaction
    .deleteFrom('revoked_tokens')
    .where(
      sql<boolean>`greatest(expires_at, created_at) + ${KEPT_MILLISECONDS} * interval '1 millisecond' <= clock_timestamp()`,
    )
    .returning('token_id')
    .execute()
  if (deleted.length > 0) await announceChange(transaction, { kind: 'everything' })
  return deleted.length
}
