/** The client's errors. Each message states what happened and what to do. None contains a secret or a token. */

/** Errors that a retry cannot repair. The client repairs all others by itself. */
export type ErrorCode =
  /** An option or an argument is wrong. */
  | 'INVALID_ARGUMENT'
  /** This runtime has no WebSocket. */
  | 'NO_WEBSOCKET'
  /** The token endpoint rejected the credentials or the scope, or there is no token endpoint at the address. */
  | 'TOKEN_REFUSED'
  /** The handshake was rejected: the client may not stream, or there is no stream at the address. */
  | 'STREAM_REFUSED'
  /** The service revoked the client's access while it was connected. */
  | 'ACCESS_REVOKED'
  /** The service could not read what the client sent. */
  | 'PROTOCOL_ERROR'
  /**
   * The service does not have the market, or not with these params, or the connection has reached its subscription
   * limit.
   */
  | 'SUBSCRIPTION_REFUSED'
  /** The service no longer keeps the events after the given sequence. */
  | 'EVENTS_EXPIRED'
  /** A webhook request does not have a valid signature. */
  | 'INVALID_SIGNATURE'
  /** The program closed a subscription or the client while waiting for it. */
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

/** The text of any thrown value. Node.js hides the reason for a failed request in `cause`. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const { code, message } = (cause ?? error) as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? code : String(message ?? error)
}
