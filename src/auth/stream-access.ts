/**
 * Whether a verified token opens the stream, by the directory as it is now. The handshake asks, and so does whoever
 * watches live sessions for what was taken away since. Pure.
 */
import { STREAM_SCOPE } from '../contract/scopes.ts'
import type { AccessToken } from './access-token.ts'
import type { Directory } from './directory.ts'

/**
 * - `not-loaded`: this node does not know anybody yet.
 * - `scope`: the token does not carry the stream's scope, or its client does not hold it any more.
 * - `disabled`: the client or its customer is disabled or gone.
 * - `not-allowed`: the customer is not on the streaming allow list.
 */
export type StreamRefusal = 'not-loaded' | 'scope' | 'disabled' | 'not-allowed'

/** The first reason that stands against it; `undefined`: come in. */
export function streamRefusal(directory: Directory, token: AccessToken): StreamRefusal | undefined {
  if (!directory.loaded) return 'not-loaded'
  if (!token.scopes.has(STREAM_SCOPE)) return 'scope'
  const client = directory.client(token.clientId)
  const customer = client && directory.customer(client.customerId)
  if (client === undefined || customer === undefined) return 'disabled'
  if (!client.scopes.has(STREAM_SCOPE)) return 'scope'
  if (!client.enabled || !customer.enabled) return 'disabled'
  if (!customer.streaming) return 'not-allowed'
  return undefined
}
