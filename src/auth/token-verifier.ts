/**
 * Verifies access tokens from memory: the issuer's keys, and a cache of tokens that were valid, because ES256 allows
 * only some thousand verifications a second and reconnecting clients come in thousands. The cache is bounded, holds
 * digests and never tokens, and forgets a token with its expiry, with its key, and when it was used longest ago. What
 * was refused is not kept, so that forged tokens displace nothing. A token that was revoked is refused. It never reads
 * the store.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { TOKEN_CHARACTERS_MAX } from '../http/bearer.ts'
import { type AccessToken, readAccessToken } from './access-token.ts'
import type { Directory } from './directory.ts'

export type { AccessToken } from './access-token.ts'

export type TokenVerdict =
  | { readonly ok: true; readonly token: AccessToken }
  /**
   * `reason` is for the client, after `the token is not valid:`; it never quotes the token. `unavailable`: nothing can
   * be said about it now, which is no fault of the client's.
   */
  | { readonly ok: false; readonly reason: string; readonly unavailable?: true }

export interface TokenVerifier {
  verify(token: string): Promise<TokenVerdict>
}

/** Who issues the tokens: this service, or an issuer that it trusts. */
export interface TokenIssuer {
  /** Checks a token as if it had never been seen. */
  read(text: string, nowMilliseconds: number): Promise<TokenVerdict>
  /** Whether a token that was valid may be accepted without checking it again. */
  remembers(token: AccessToken, verifiedMilliseconds: number, nowMilliseconds: number): boolean
}

interface CachedToken {
  readonly token: AccessToken
  readonly verifiedMilliseconds: number
}

/** Distinct tokens remembered: one a client and some hours of reconnecting, at about 1 KB each. */
const CACHED_TOKENS_MAX = 10_000

export function createTokenVerifier(options: {
  readonly directory: Directory
  readonly clock: Clock
  /** Absent: this service itself. */
  readonly issuer?: TokenIssuer
}): TokenVerifier {
  const { directory, clock, issuer = ownIssuer(directory) } = options
  /** By digest, the one that was used longest ago first. */
  const cache = new Map<string, CachedToken>()

  async function read(text: string): Promise<TokenVerdict> {
    if (text.length > TOKEN_CHARACTERS_MAX) return { ok: false, reason: 'it is too long' }
    const nowMilliseconds = clock.wallInstant().milliseconds
    const digest = createHash('sha256').update(text).digest('base64')
    const cached = cache.get(digest)
    if (cached !== undefined) {
      const { token, verifiedMilliseconds } = cached
      const isLive = token.expiresAtMilliseconds > nowMilliseconds
      cache.delete(digest)
      if (isLive && issuer.remembers(token, verifiedMilliseconds, nowMilliseconds)) {
        cache.set(digest, cached)
        return { ok: true, token }
      }
    }
    const reading = await issuer.read(text, nowMilliseconds)
    if (!reading.ok) return reading
    if (cache.size >= CACHED_TOKENS_MAX) cache.delete(cache.keys().next().value as string)
    cache.set(digest, { token: reading.token, verifiedMilliseconds: nowMilliseconds })
    return reading
  }

  return {
    async verify(text) {
      const verdict = await read(text)
      // After every wait: what was revoked meanwhile is refused.
      if (verdict.ok && directory.isRevoked(verdict.token)) return { ok: false, reason: 'it has been revoked' }
      return verdict
    },
  }
}

function ownIssuer(directory: Directory): TokenIssuer {
  return {
    async read(text, nowMilliseconds): Promise<TokenVerdict> {
      const { authority } = directory
      if (authority === undefined)
        return { ok: false, reason: 'the signing keys are not loaded yet', unavailable: true }
      return await readAccessToken(text, directory, authority, nowMilliseconds)
    },
    remembers: ({ keyId }) => directory.verificationKey(keyId) !== undefined,
  }
}
