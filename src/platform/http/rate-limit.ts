/**
 * Rate limits: one token bucket per key, and its header fields: `RateLimit` and `RateLimit-Policy` from
 * draft-ietf-httpapi-ratelimit-headers (structured fields), and `Retry-After` when a request is rejected. The number of
 * keys is bounded. It never waits and does not interpret keys. Failed logins are counted here too. The caller either
 * checks the secret first and then takes a token for the failure, or takes one for the attempt and gives it back after
 * a success.
 */
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { KeyedBuckets } from '../base/keyed-buckets.ts'
import { TokenBucket } from '../base/token-bucket.ts'
import { Problem } from './problem.ts'

export interface RateLimit {
  /** The policy's name in the header fields: lower-case letters, digits and `-`. */
  readonly name: string
  readonly perSecond: number
  /** Requests accepted at once after an idle period. */
  readonly burst: number
  /** The number of remembered keys. Default: KEYS_MAX. */
  readonly keysMax?: number
}

export interface RateVerdict {
  readonly allowed: boolean
  /** Whole seconds until the next request is accepted, or 0 when this one was. */
  readonly retryAfterSeconds: number
  /** The answer's header fields. They include `retry-after` when the request is rejected. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * About 30 MB in keys and buckets. Only when more keys than this appear within a bucket's fill time (burst / rate) does
 * a dropped one get a new burst. Rejecting new keys instead would let a client with many addresses shut out all others.
 */
const KEYS_MAX = 100_000

export class RateLimiter {
  readonly #limit: RateLimit
  readonly #policy: string
  readonly #buckets: KeyedBuckets<TokenBucket>

  constructor(clock: Clock, limit: RateLimit) {
    this.#limit = limit
    const { name, perSecond, burst, keysMax = KEYS_MAX } = limit
    this.#buckets = new KeyedBuckets(() => new TokenBucket(clock, perSecond, burst), { keysMax })
    this.#policy = `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`
  }

  /** The number of remembered keys. */
  get size(): number {
    return this.#buckets.size
  }

  /** Counts one request for `key`. A rejected request takes no token. */
  take(key: string): RateVerdict {
    const bucket = this.#buckets.use(key)
    const waitMilliseconds = bucket.take()
    const allowed = waitMilliseconds === 0
    const retryAfterSeconds = Math.ceil(waitMilliseconds / 1000)
    // Until the bucket is full again. When rejected, not later than Retry-After, as the draft requires.
    const resetSeconds = allowed ? Math.ceil(bucket.fullInMilliseconds / 1000) : retryAfterSeconds
    const headers = {
      'ratelimit-policy': this.#policy,
      ratelimit: `"${this.#limit.name}";r=${bucket.left};t=${resetSeconds}`,
      ...(allowed ? {} : { 'retry-after': String(retryAfterSeconds) }),
    }
    return { allowed, retryAfterSeconds, headers }
  }

  /** Undoes the count for one request. A key that was dropped meanwhile has a full bucket anyway. */
  giveBack(key: string): void {
    this.#buckets.get(key)?.giveBack()
  }
}

/** A hook that counts a request before its body is read, and rejects it with `rate_limited` over the limit. */
export function createRateLimitHook(
  limiter: RateLimiter,
  keyOf: (request: FastifyRequest) => string,
): onRequestAsyncHookHandler {
  return async (request, reply) => countRequest(limiter, keyOf(request), reply)
}

/** Counts one request for `key` and sets its header fields. Throws `rate_limited` over the limit. */
export function countRequest(limiter: RateLimiter, key: string, reply: FastifyReply): void {
  const verdict = limiter.take(key)
  reply.headers(verdict.headers)
  if (!verdict.allowed) throw rateLimited(verdict)
}

/** The answer to a rejected request. */
export function rateLimited({ retryAfterSeconds, headers }: RateVerdict): Problem {
  const seconds = `${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}`
  return new Problem('rate_limited', `too many requests: try again in ${seconds}`, { headers })
}
