/**
 * Verifies access tokens in memory, with the issuer's keys and a cache for valid tokens: ES256 allows only some
 * thousand verifications per second, and thousands of clients may reconnect at once. The cache is bounded and contains
 * digests, never tokens. An entry is removed when the token expires, when its key is gone, or as the least recently
 * used, from its own client when that client has its part of the cache. Rejected tokens are not cached, so forged
 * tokens displace nothing. A revoked token is rejected. It never reads the store.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../platform/base/clock.ts'
import { SHARED_POOLS, SharedPool } from '../../platform/base/shared-pool.ts'
import { TOKEN_CHARACTERS_MAX } from '../../platform/http/bearer.ts'
import { type AccessToken, readAccessToken } from './access-token.ts'
import type { Directory } from './directory.ts'

export type { AccessToken } from './access-token.ts'

export type TokenVerdict =
  | { readonly ok: true; readonly token: AccessToken }
  /**
   * `reason` is for the client, after `the token is not valid:`. It never quotes the token. `unavailable`: it cannot be
   * verified now, which is not the client's fault.
   */
  | { readonly ok: false; readonly reason: string; readonly unavailable?: true }

export interface TokenVerifier {
  /** A promise only where an external issuer's token is not cached. */
  verify(token: string): TokenVerdict | Promise<TokenVerdict>
}

/** The token issuer: this service, or an external one. */
export interface TokenIssuer {
  /** Verifies a token without the cache. */
  read(text: string, nowMilliseconds: number): TokenVerdict | Promise<TokenVerdict>
  /** Whether a cached token may be accepted without verifying it again. */
  remembers(token: AccessToken, verifiedMilliseconds: number, nowMilliseconds: number): boolean
}

interface CachedToken {
  readonly token: AccessToken
  readonly verifiedMilliseconds: number
}

export function createTokenVerifier(options: {
  readonly directory: Directory
  readonly clock: Clock
  /** Absent: this service itself. */
  readonly issuer?: TokenIssuer
}): TokenVerifier {
  const { directory, clock, issuer = ownIssuer(directory) } = options
  /** Tokens by digest. The least recently used one is first. */
  const cache = new Map<string, CachedToken>()
  const pool = new SharedPool(SHARED_POOLS.verified_tokens.size)

  function drop(digest: string, { token }: CachedToken): void {
    cache.delete(digest)
    pool.add(token.clientId, -1)
  }

  function keep(digest: string, cached: CachedToken): void {
    const { clientId } = cached.token
    // Two requests may have verified the same token at once.
    const known = cache.get(digest)
    if (known !== undefined) drop(digest, known)
    const refusal = pool.refusal(clientId)
    for (const [oldest, other] of refusal === undefined ? [] : cache) {
      if (refusal === 'share' && other.token.clientId !== clientId) continue
      drop(oldest, other)
      break
    }
    cache.set(digest, cached)
    pool.add(clientId, 1)
  }

  function cachedToken(digest: string, nowMilliseconds: number): AccessToken | undefined {
    const cached = cache.get(digest)
    if (cached === undefined) return undefined
    const { token, verifiedMilliseconds } = cached
    const isLive = token.expiresAtMilliseconds > nowMilliseconds
    if (!isLive || !issuer.remembers(token, verifiedMilliseconds, nowMilliseconds)) {
      drop(digest, cached)
      return undefined
    }
    // As the most recently used.
    cache.delete(digest)
    cache.set(digest, cached)
    return token
  }

  function read(text: string, digest: string, nowMilliseconds: number): TokenVerdict | Promise<TokenVerdict> {
    const reading = issuer.read(text, nowMilliseconds)
    const accept = (verdict: TokenVerdict): TokenVerdict => {
      if (verdict.ok) keep(digest, { token: verdict.token, verifiedMilliseconds: nowMilliseconds })
      // After waiting: the token may have been revoked meanwhile.
      return verdict.ok ? unlessRevoked(verdict.token) : verdict
    }
    return reading instanceof Promise ? reading.then(accept) : accept(reading)
  }

  function unlessRevoked(token: AccessToken): TokenVerdict {
    return directory.isRevoked(token) ? { ok: false, reason: 'it has been revoked' } : { ok: true, token }
  }

  return {
    verify(text) {
      if (text.length > TOKEN_CHARACTERS_MAX) return { ok: false, reason: 'it is too long' }
      const nowMilliseconds = clock.wallInstant().milliseconds
      const digest = hash('sha256', text, 'base64')
      const cached = cachedToken(digest, nowMilliseconds)
      return cached === undefined ? read(text, digest, nowMilliseconds) : unlessRevoked(cached)
    },
  }
}

function ownIssuer(directory: Directory): TokenIssuer {
  return {
    read(text, nowMilliseconds) {
      const { authority } = directory
      if (authority === undefined)
        return { ok: false, reason: 'the signing keys are not loaded yet', unavailable: true }
      return readAccessToken(text, directory, authority, nowMilliseconds)
    },
    remembers: ({ keyId }) => directory.verificationKey(keyId) !== undefined,
  }
}
