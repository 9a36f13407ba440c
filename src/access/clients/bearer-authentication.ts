/**
 * Bearer authentication for customers' requests, the same for REST and for the stream's handshake. It never reads the
 * store, so a valid token is accepted while the store is unavailable.
 */
import { invalidToken } from '../../platform/http/bearer.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Directory } from './directory.ts'
import type { AccessToken, TokenVerdict, TokenVerifier } from './token-verifier.ts'

export interface Authentication {
  readonly directory: Directory
  readonly verifier: TokenVerifier
  /** `Retry-After` in refusals with 503. */
  readonly retryAfterSeconds: number
}

/**
 * Verifies a request's token.
 * @param credentials the token, or the refusal for a request without one, which is returned unchanged
 * @returns the verified token, or `invalid_token` (401) or `unavailable` (503: nothing can be verified now). No promise
 *   for a token that was verified before
 */
export function authenticateBearer(
  credentials: string | Problem,
  { directory, verifier, retryAfterSeconds }: Authentication,
): AccessToken | Problem | Promise<AccessToken | Problem> {
  if (credentials instanceof Problem) return credentials
  // Without the directory no token can be verified. A 401 would blame the client.
  if (!directory.loaded) return unavailable('the client directory is not loaded yet', retryAfterSeconds)
  const verdict = verifier.verify(credentials)
  if (verdict instanceof Promise) return verdict.then((later) => answerOf(later, retryAfterSeconds))
  return answerOf(verdict, retryAfterSeconds)
}

function answerOf(verdict: TokenVerdict, retryAfterSeconds: number): AccessToken | Problem {
  if (verdict.ok) return verdict.token
  if (verdict.unavailable) return unavailable(`the token cannot be verified: ${verdict.reason}`, retryAfterSeconds)
  return invalidToken(`the token is not valid: ${verdict.reason}`)
}

function unavailable(detail: string, retryAfterSeconds: number): Problem {
  return new Problem('unavailable', detail, { headers: { 'Retry-After': String(retryAfterSeconds) } })
}
