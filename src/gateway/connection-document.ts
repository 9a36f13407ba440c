/** A connection as the operator API shows it. */
import { millisecondText } from '../base/clock.ts'
import type { Session } from './session.ts'

export interface ConnectionDocument extends SessionDocument {
  /** Name of the node that serves it. */
  readonly node: string
}

/** What the process that serves a connection says of it. */
export interface SessionDocument {
  readonly id: string
  readonly client_id: string
  readonly customer_id: string
  readonly client_address: string
  /** Absent where none was selected: the base protocol. */
  readonly subprotocol?: string
  readonly created_at: string
  /** Number of subscribed channels. */
  readonly subscriptions: number
  /** Whether it lags: it is above its high-water mark and gets conflated updates when it has drained. */
  readonly behind: boolean
  /** Bytes that wait in this process. */
  readonly queued_bytes: number
  /** Bytes written to its socket since it was opened. */
  readonly bytes_out: number
}

export function sessionDocument(session: Session): SessionDocument {
  const { clientAddress, subprotocol, bytesWritten } = session.transport
  return {
    id: session.id,
    client_id: session.token.clientId,
    customer_id: session.token.customerId,
    client_address: clientAddress,
    ...(subprotocol === '' ? {} : { subprotocol }),
    created_at: millisecondText(session.createdMilliseconds),
    subscriptions: session.subscriptionCount,
    behind: session.isLagging,
    queued_bytes: session.queuedBytes,
    bytes_out: bytesWritten,
  }
}
