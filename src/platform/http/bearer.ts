/**
 * Bearer credentials (RFC 6750): reads the token from an `Authorization` header, and builds the refusals with their
 * `WWW-Authenticate` challenges. Every listener uses it. It never verifies a token, and no detail repeats one.
 */
import { Problem } from './problem.ts'

/** Longest token that is read: ours have about 700 characters, external issuers' up to some thousand. */
export const TOKEN_CHARACTERS_MAX = 16_384

/** The scheme, and the spaces around the token. */
const SURROUNDING_CHARACTERS_MAX = 100

/**
 * The header's token, or the reason why there is none. A header with another scheme carries no token, so its challenge
 * names no error (RFC 6750 section 3.1). The cost does not grow with the header's length.
 */
export function readBearerToken(authorization: string | undefined): string | Problem {
  if (authorization === undefined || !/^Bearer(?: |$)/i.test(authorization)) {
    return new Problem('unauthorized', 'a bearer token is required', challenge('Bearer'))
  }
  const isTooLong = authorization.length > TOKEN_CHARACTERS_MAX + SURROUNDING_CHARACTERS_MAX
  const token = isTooLong ? undefined : /^Bearer +([!-~]+) *$/i.exec(authorization)?.[1]
  return token ?? invalidToken('the Authorization header does not have the form Bearer TOKEN, or is too long')
}

/** 401 for a token that is not accepted. */
export function invalidToken(detail: string): Problem {
  return new Problem('invalid_token', detail, challenge('Bearer error="invalid_token"'))
}

/** 403 for a valid token without the scope. */
export function insufficientScope(detail: string, scope: string): Problem {
  return new Problem('insufficient_scope', detail, challenge(`Bearer error="insufficient_scope", scope="${scope}"`))
}

function challenge(text: string): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { 'WWW-Authenticate': text } }
}
