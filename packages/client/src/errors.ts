/** The errors of the client. Each message states what happened and what to do; none contains a secret or a token. */

/** What cannot be repaired by trying again. Everything else, the client repairs by itself. */
export type ErrorCode =
  /** An option or an argument is wrong. */
  | 'INVALID_ARGUMENT'
  /** This runtime has no WebSocket. */
  | 'NO_WEBSOCKET'
  /** The token endpoint rejected the credentials or the scope, or there is none at the address. */
  | 'TOKEN_REFUSED'
  /** The handshake was rejected: the client may not stream, or there is no stream at the address. */
  | 'STREAM_REFUSED'
  /** The service revoked the access of the client while it was connected. */
  | 'ACCESS_REVOKED'
  /** The service could not read what the client sent. */
  | 'PROTOCOL_ERROR'
  /** The service does not have the market, or not with these params; or the connection has as many subscriptions as it may. */
  | 'SUBSCRIPTION_REFUSED'
  /** A webhook request does not have a valid signature. */
  | 'INVALID_SIGNATURE'
  /** The program closed a subscription, or the client, while it waited for it. */
  | 'CLOSED'
  /** The service could not be reached, or did not answer. */
  | 'UNREACHABLE'

export class TidegateError extends Error {
  override name = 'TidegateError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The text of anything that was thrown; requests of Node.js hide the reason in `cause`. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const { code, message } = (cause ?? error) as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? code : String(message ?? error)
}
