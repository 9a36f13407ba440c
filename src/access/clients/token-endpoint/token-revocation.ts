/**
 * Token revocation by the token's client (RFC 7009). An unknown or expired token, or another client's, is answered like
 * a revoked one, and nothing changes. The answer is sent when the revocation is stored and effective on this node. The
 * token's streams are closed on every node when its directory contains the revocation.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { TOKEN_CHARACTERS_MAX } from '../../../platform/http/bearer.ts'
import { type Db, StoreUnavailable } from '../../../platform/store/db.ts'
import { readAccessToken } from '../access-token.ts'
import type { Directory } from '../directory.ts'
import { revokeToken } from '../revoked-tokens.ts'
import type { AuthTables } from '../tables.ts'
import type { AuthenticatedRequest } from './client-authentication.ts'
import { TokenError, unavailable } from './token-errors.ts'

export interface RevocationContext {
  readonly directory: Directory
  readonly clock: Clock
  readonly db: Db
  /** Reads the directory's changes. Resolves also after a failure. */
  refreshDirectory(): Promise<void>
}

/** Resolves when the token is no longer accepted, or throws a `TokenError`. */
export async function revokeOwnToken(
  context: RevocationContext,
  { client, parameters }: AuthenticatedRequest,
): Promise<void> {
  const { directory, clock, db } = context
  const text = parameters.get('token')
  if (text === undefined) throw new TokenError('invalid_request', 'token is required')
  // Longer than any of our tokens: there is nothing to revoke.
  if (text.length > TOKEN_CHARACTERS_MAX) return
  const { authority } = directory
  if (authority === undefined) throw unavailable('the signing keys are not loaded yet')
  const reading = readAccessToken(text, directory, authority, clock.wallInstant().milliseconds)
  if (!reading.ok || reading.token.clientId !== client.clientId || directory.isRevoked(reading.token)) return
  const outcome = await db
    .transaction<AuthTables, 'revoked' | 'too-many'>((transaction) => revokeToken(transaction, reading.token))
    .catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error
      throw unavailable('the store is unavailable: the token may or may not be revoked')
    })
  if (outcome === 'too-many') {
    throw unavailable('this client has too many revoked tokens, each stored until 25 hours after it has expired', 60)
  }
  await context.refreshDirectory()
  if (!directory.isRevoked(reading.token))
    throw unavailable('the revocation is stored but not yet effective on this node')
}
