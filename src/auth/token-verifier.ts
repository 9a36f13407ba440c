/**
 * Verifies access tokens from memory: the directory's keys, and a cache of what was verified, because ES256 allows only
 * some thousand verifications a second and reconnecting clients come in thousands. The cache is bounded, holds digests
 * and never tokens, and forgets with a token's expiry and with its key. It never reads the store.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { type AccessToken, readAccessToken } from './access-token.ts'
import type { Directory } from './directory.ts'

export type { AccessToken } from './access-token.ts'

export type TokenVerdict =
  | { readonly ok: true; readonly token: AccessToken }
  /** `reason` is for the client, after `the token is not valid:`; it never quotes the token. */
  | { readonly ok: false; readonly reason: string }

export interface TokenVerifier {
  verify(token: string): Promise<TokenVerdict>
}

interface CachedToken {
  readonly token: AccessToken
  readonly keyId: string
}

/** Distinct tokens remembered: one a client and some hours of reconnecting, at about 1 KB each. */
const CACHED_TOKENS_MAX = 10_000
/** Ours have about 700; longer ones are not worth hashing. */
const TOKEN_CHARACTERS_MAX = 16_384

export function createTokenVerifier(options: { readonly directory: Directory; readonly clock: Clock }): TokenVerifier {
  const { directory, clock } = options
  const cache = new Map<string, CachedToken>()
  return {
    async verify(text) {
      const { authority } = directory
      if (authority === undefined) return { ok: false, reason: 'it cannot be verified yet' }
      if (text.length > TOKEN_CHARACTERS_MAX) return { ok: false, reason: 'it is too long' }
      const nowMilliseconds = clock.wallInstant().milliseconds
      const digest = createHash('sha256').update(text).digest('base64')
      const cached = cache.get(digest)
      if (cached !== undefined) {
        const isExpired = cached.token.expiresAtMilliseconds <= nowMilliseconds
        if (!isExpired && directory.verificationKey(cached.keyId) !== undefined)
          return { ok: true, token: cached.token }
        cache.delete(digest)
      }
      const reading = await readAccessToken(text, directory, authority, nowMilliseconds)
      if (!reading.ok) return reading
      if (cache.size >= CACHED_TOKENS_MAX) cache.delete(cache.keys().next().value as string)
      cache.set(digest, reading)
      return { ok: true, token: reading.token }
    },
  }
}
