/**
 * Whether a verified token permits publishing, and for which markets, by the current directory. Used when a publisher
 * connects, and after every directory change to end access that is no longer permitted. Pure.
 */
import { PUBLISH_SCOPE } from '../../contract/scopes.ts'
import type { AccessToken } from './access-token.ts'
import type { Directory } from './directory.ts'

/**
 * - `not-loaded`: the directory is not loaded yet.
 * - `revoked`: the token was revoked, alone, with all its client's tokens, or with its key.
 * - `scope`: the token does not have the scope for publishing, or its client no longer has it.
 * - `disabled`: the client or its customer is disabled or gone.
 */
export type PublishRefusal = 'not-loaded' | 'revoked' | 'scope' | 'disabled'

/** The first reason to reject the token. `undefined`: access is permitted. */
export function publishRefusal(directory: Directory, token: AccessToken): PublishRefusal | undefined {
  if (!directory.loaded) return 'not-loaded'
  if (directory.isRevoked(token)) return 'revoked'
  if (!token.scopes.has(PUBLISH_SCOPE)) return 'scope'
  const customer = directory.customer(token.customerId)
  const client = directory.clientOf(token)
  // An external issuer's client needs a record here too: without one there are no markets that it may publish.
  if (client === undefined || customer === undefined) return 'disabled'
  if (!client.scopes.has(PUBLISH_SCOPE)) return 'scope'
  if (!client.enabled || !customer.enabled) return 'disabled'
  return undefined
}

const NONE: ReadonlySet<string> = new Set()

/** Symbols of the markets that a token's client may publish. */
export function publishedMarkets(directory: Directory, token: AccessToken): ReadonlySet<string> {
  return directory.clientOf(token)?.publishMarkets ?? NONE
}
