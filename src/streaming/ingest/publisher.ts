/**
 * What a market knows of a publisher: one WebSocket connection, or the POSTs of one client. A publisher is one line of each
 * market that it publishes.
 */
import type { AccessToken } from '../../access/clients/token-verifier.ts'

export interface Publisher {
  readonly id: string
  readonly token: AccessToken
  /** For the operator: how and from where it publishes. */
  readonly description: string
  /** A SNAPSHOT of the market is needed; its messages change no book until then. */
  requestSnapshot(market: string, reason: string): void
  /** A message was not accepted. `market` is undefined where it is not known. */
  reject(market: string | undefined, message: string): void
  /** A message changed no book, because a SNAPSHOT that was requested before has not arrived. */
  waits(market: string): void
  /** A market does not hold a message of this publisher any more: it may be read again. */
  released(): void
}
