/**
 * Whether a verified token permits the stream, by the current directory. The handshake uses it, and the gateway after
 * every directory change, to close sessions whose access was revoked. Pure.
 */
import { STREAM_SCOPE } from '../../contract/scopes.ts'
import type { AccessToken } from './access-token.ts'
import type { Directory } from './directory.ts'

/**
 * - `not-loaded`: the directory is not loaded yet.
 * - `revoked`: the token was revoked, alone, with all its client's tokens, or with its key.
 * - `scope`: the token does not have the stream's scope, or its client no longer has it.
 * - `disabled`: the client or its customer is disabled or gone.
 * - `not-allowed`: the customer is not on the streaming allow list.
 */
export type StreamRefusal = 'not-loaded' | 'revoked' | 'scope' | 'disabled' | 'not-allowed'

/** The first reason to reject the token. `undefined`: access is permitted. */
export function streamRefusal(directory: Directory, token: AccessToken): StreamRefusal | undefined {
  if (!directory.loaded) return 'not-loaded'
  if (directory.isRevoked(token)) return 'revoked'
  if (!token.scopes.has(STREAM_SCOPE)) return 'scope'
  const customer = directory.customer(token.customerId)
  const client = directory.clientOf(token)
  // An external issuer's clients need not be known here. Our client with that name limits their scopes.
  const isKnown = client !== undefined || token.outsideClientName !== undefined
  if (!isKnown || customer === undefined) return 'disabled'
  if (client?.scopes.has(STREAM_SCOPE) === false) return 'scope'
  if (client?.enabled === false || !customer.enabled) return 'disabled'
  if (!customer.streaming) return 'not-allowed'
  return undefined
}
