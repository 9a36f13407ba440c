/**
 * Rate limits: a token bucket a key, and what the answers say about it: the `RateLimit` and `RateLimit-Policy` fields
 * of draft-ietf-httpapi-ratelimit-headers (structured fields), `Retry-After` when refused. The number of keys is
 * bounded. It never waits, and knows nothing of what a key stands for.
 */
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { TokenBucket } from '../base/token-bucket.ts'
import { Problem } from './problem.ts'

export interface RateLimit {
  /** Name of the policy in the header fields: lower-case letters, digits and `-`. */
  readonly name: string
  readonly perSecond: number
  /** What may come at once after a rest. */
  readonly burst: number
  /** Keys that are remembered; the reason stands at `KEYS_MAX`. */
  readonly keysMax?: number
}

export interface RateVerdict {
  readonly allowed: boolean
  /** Whole seconds until the next request is let through; 0 when this one was. */
  readonly retryAfterSeconds: number
  /** Fields of the answer, whatever it is; `retry-after` among them when refused. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * About 30 MB of keys and buckets. When more are seen, the least recently used is forgotten: it is the one that is full
 * first, and forgetting a full bucket changes nothing. Only when more keys than this come within the time that a bucket
 * takes to fill (burst / rate) does a forgotten one get a new burst; refusing strangers instead would let whoever owns
 * many addresses shut everybody out.
 */
const KEYS_MAX = 100_000
/** Full buckets that go with every new key: more than one, so that the memory of a flood is given back. */
const FORGOTTEN_AT_ONCE_MAX = 2

export class RateLimiter {
  readonly #clock: Clock
  readonly #limit: RateLimit
  readonly #keysMax: number
  readonly #policy: string
  /** By key, the least recently used first. */
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(clock: Clock, limit: RateLimit) {
    this.#clock = clock
    this.#limit = limit
    this.#keysMax = limit.keysMax ?? KEYS_MAX
    const { name, perSecond, burst } = limit
    this.#policy = `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`
  }

  /** Keys that are remembered now. */
  get size(): number {
    return this.#buckets.size
  }

  /** Counts one request of `key`. A refused one costs nothing. */
  take(key: string): RateVerdict {
    const bucket = this.#bucketOf(key)
    const waitMilliseconds = bucket.take()
    const allowed = waitMilliseconds === 0
    const retryAfterSeconds = Math.ceil(waitMilliseconds / 1000)
    // Until the quota is whole again; when refused, not later than what Retry-After names, as the draft asks.
    const resetSeconds = allowed ? Math.ceil(bucket.fullInMilliseconds / 1000) : retryAfterSeconds
    const headers = {
      'ratelimit-policy': this.#policy,
      ratelimit: `"${this.#limit.name}";r=${bucket.left};t=${resetSeconds}`,
      ...(allowed ? {} : { 'retry-after': String(retryAfterSeconds) }),
    }
    return { allowed, retryAfterSeconds, headers }
  }

  /** Takes back the count of one request of `key`; one whose bucket was forgotten meanwhile has a full one. */
  giveBack(key: string): void {
    this.#buckets.get(key)?.giveBack()
  }

  #bucketOf(key: string): TokenBucket {
    const present = this.#buckets.get(key)
    if (present === undefined) this.#forget()
    const bucket = present ?? new TokenBucket(this.#clock, this.#limit.perSecond, this.#limit.burst)
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    return bucket
  }

  #forget(): void {
    let forgotten = 0
    for (const [key, bucket] of this.#buckets) {
      const isFull = bucket.fullInMilliseconds === 0
      if (forgotten === FORGOTTEN_AT_ONCE_MAX || (!isFull && this.#buckets.size < this.#keysMax)) return
      this.#buckets.delete(key)
      forgotten++
    }
  }
}

/** A hook that counts a request before its body is read, and refuses it with `rate_limited` when there are too many. */
export function createRateLimitHook(
  limiter: RateLimiter,
  keyOf: (request: FastifyRequest) => string,
): onRequestAsyncHookHandler {
  return async (request, reply) => {
    const verdict = limiter.take(keyOf(request))
    reply.headers(verdict.headers)
    if (!verdict.allowed) throw rateLimited(verdict)
  }
}

/** The answer to a request that was not let through. */
export function rateLimited({ retryAfterSeconds, headers }: RateVerdict): Problem {
  const seconds = `${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}`
  return new Problem('rate_limited', `too many requests: try again in ${seconds}`, { headers })
}
