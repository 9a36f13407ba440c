/**
 * Whether a verified token opens the stream, by the directory as it is now. The handshake asks, and so does whoever
 * watches live sessions for what was taken away since. Pure.
 */
import { STREAM_SCOPE } from '../contract/scopes.ts'
import type { AccessToken } from './access-token.ts'
import type { Directory } from './directory.ts'

/**
 * - `not-loaded`: this node does not know anybody yet.
 * - `revoked`: the token was taken back, alone, with all of its client, or with its key.
 * - `scope`: the token does not carry the stream's scope, or its client does not hold it any more.
 * - `disabled`: the client or its customer is disabled or gone.
 * - `not-allowed`: the customer is not on the streaming allow list.
 */
export type StreamRefusal = 'not-loaded' | 'revoked' | 'scope' | 'disabled' | 'not-allowed'

/** The first reason that stands against it; `undefined`: come in. */
export function streamRefusal(directory: Directory, token: AccessToken): StreamRefusal | undefined {
  if (!directory.loaded) return 'not-loaded'
  if (directory.isRevoked(token)) return 'revoked'
  if (!token.scopes.has(STREAM_SCOPE)) return 'scope'
  const customer = directory.customer(token.customerId)
  const client = directory.clientOf(token)
  // An outside issuer answers for its own clients; one of ours with that name limits what it gives.
  const isKnown = client !== undefined || token.outsideClientName !== undefined
  if (!isKnown || customer === undefined) return 'disabled'
  if (client?.scopes.has(STREAM_SCOPE) === false) return 'scope'
  if (client?.enabled === false || !customer.enabled) return 'disabled'
  if (!customer.streaming) return 'not-allowed'
  return undefined
}
