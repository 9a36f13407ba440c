/**
 * A publisher as a market sees it: one WebSocket connection, or one client's POSTs. It is one line in each of its
 * markets.
 */
import type { AccessToken } from '../../access/clients/token-verifier.ts'

export interface Publisher {
  readonly id: string
  readonly token: AccessToken
  /** For the operator: how and from where it publishes. */
  readonly description: string
  /** The market needs a SNAPSHOT. Its messages change no book until then. */
  requestSnapshot(market: string, reason: string): void
  /** A message was not accepted. `market` is undefined where it is not known. */
  reject(market: string | undefined, message: string): void
  /** A message changed no book, because an earlier requested SNAPSHOT has not arrived. */
  waits(market: string): void
  /** A market no longer holds a message from this publisher, so it may be read again. */
  released(): void
}
