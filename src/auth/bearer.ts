/** Reads the bearer token of an Authorization header (RFC 6750 section 2.1) at a cost that does not grow with it. Pure. */
import { TOKEN_CHARACTERS_MAX } from './access-token.ts'

/** The scheme, and the blanks around the token. */
const AROUND_CHARACTERS_MAX = 100

/** `undefined` when the header is of another form, or longer than one with a token can be: that is refused unread. */
export function bearerTokenOf(authorization: string): string | undefined {
  if (authorization.length > TOKEN_CHARACTERS_MAX + AROUND_CHARACTERS_MAX) return undefined
  return /^Bearer +([!-~]+) *$/i.exec(authorization)?.[1]
}
