/**
 * Verifies access tokens in memory, with the issuer's keys and a cache of valid tokens: ES256 allows only some thousand
 * verifications per second, and thousands of clients may reconnect at once. The cache is bounded and contains digests, never
 * tokens; an entry is removed when the token expires, when its key is gone, or as the least recently used. Rejected tokens
 * are not cached, so that forged tokens displace nothing. A revoked token is rejected. It never reads the store.
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
   * `reason` is for the client, after `the token is not valid:`; it never quotes the token. `unavailable`: it
   * cannot be verified now, which is not the client's fault.
   */
  | { readonly ok: false; readonly reason: string; readonly unavailable?: true }

export interface TokenVerifier {
  verify(token: string): Promise<TokenVerdict>
}

/** The issuer of tokens: this service, or an external one. */
export interface TokenIssuer {
  /** Verifies a token without the cache. */
  read(text: string, nowMilliseconds: number): Promise<TokenVerdict>
  /** Whether a cached token may be accepted without verifying it again. */
  remembers(token: AccessToken, verifiedMilliseconds: number, nowMilliseconds: number): boolean
}

interface CachedToken {
  readonly token: AccessToken
  readonly verifiedMilliseconds: number
}

/** Size of the cache, at about 1 KB per token: several tokens per client within some hours. */
const CACHED_TOKENS_MAX = 10_000

export function createTokenVerifier(options: {
  readonly directory: Directory
  readonly clock: Clock
  /** Absent: this service itself. */
  readonly issuer?: TokenIssuer
}): TokenVerifier {
  const { directory, clock, issuer = ownIssuer(directory) } = options
  /** Tokens by digest; the least recently used one is first. */
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
      // After waiting: the token may have been revoked meanwhile.
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
