/**
 * Errors at the token and revocation endpoints: the table with their codes and statuses, and the error thrown by a
 * check. A description never quotes a secret, and contains no character that RFC 6749 forbids.
 */

/**
 * Error codes (RFC 6749 section 5.2, RFC 7009 section 2.2.1) with their statuses, unless a more specific HTTP status
 * applies.
 */
export const TOKEN_ERRORS = {
  invalid_request: {
    status: 400,
    meaning:
      'a parameter is missing or sent twice, credentials come in two places, or the body is broken. ' +
      '405, 408, 413 or 415 where that status is more specific',
  },
  invalid_client: { status: 401, meaning: 'client authentication failed or is missing, or the client is disabled' },
  unsupported_grant_type: { status: 400, meaning: '`grant_type` must be `client_credentials`' },
  invalid_scope: { status: 400, meaning: '`scope` is missing, does not exist, or is not held by the client' },
  server_error: { status: 500, meaning: 'an error on our side' },
  temporarily_unavailable: {
    status: 503,
    meaning:
      'the clients are not loaded yet, or a revocation cannot be stored. 429: too many requests, or ' +
      'more than five failed authentications per minute for one client and address. `Retry-After` gives the delay',
  },
} as const

export type TokenErrorCode = keyof typeof TOKEN_ERRORS

export class TokenError extends Error {
  override name = 'TokenError'
  readonly code: TokenErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  /** @param status a more specific HTTP status than the code's own */
  constructor(
    code: TokenErrorCode,
    description: string,
    headers: Readonly<Record<string, string>> = {},
    status: number = TOKEN_ERRORS[code].status,
  ) {
    super(description)
    this.code = code
    this.status = status
    this.headers = headers
  }
}

/** A temporary failure. */
export function unavailable(description: string, retryAfterSeconds = 1, status?: 429): TokenError {
  return new TokenError('temporarily_unavailable', description, { 'retry-after': String(retryAfterSeconds) }, status)
}

/** Text allowed in a description: RFC 6749 section 5.2 allows printable ASCII without quote and backslash. */
export function printable(text: string): string {
  return text.slice(0, 100).replace(/[^ !#-[\]-~]/g, '?')
}
