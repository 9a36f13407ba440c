/**
 * Rate limits for the token and revocation endpoints per source address. Successful and failed authentications have
 * separate budgets with the same size, so a guessing program does not affect other clients at a shared address. When
 * the failure budget is empty, a request is still checked, because it may succeed. A failure is then answered with 429.
 * These checks are limited too, per address and per node, and read only small bodies.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import type { Problem } from '../../../platform/http/problem.ts'
import { RateLimiter, rateLimited } from '../../../platform/http/rate-limit.ts'

/** Burst size, in seconds at the rate: a fleet of programs that starts at once. */
const BURST_SECONDS = 4
/** Checks beyond the failure budget, as a multiple of the address's rate: 500 per second by default. */
const CHECKS_FACTOR = 10
/** Checks beyond the failure budgets, for all addresses. Each takes about 0.1 ms of processor time. */
const CHECKS_PER_SECOND_MAX = 2_000
/** Largest body read for such a check: a token request has about 300 bytes, a revocation about 1,200. */
const CHECKED_BODY_BYTES_MAX = 8_192
const NODE = 'node'

/** One request's outcome: exactly one method is called, once. */
export interface Admission {
  /** The client was authenticated. Returns the answer's header fields. Throws `rate_limited` over the limit. */
  succeed(): Readonly<Record<string, string>>
  /** Authentication failed. Returns the 429 to answer with instead, if the budget is empty. */
  fail(): Problem | undefined
  /** Counts nothing: the service itself failed. */
  cancel(): void
  /** The answer's fields when the request fails. */
  readonly headers: Readonly<Record<string, string>>
}

export class TokenLimits {
  readonly #requests: RateLimiter
  readonly #failures: RateLimiter
  readonly #checks: RateLimiter
  readonly #checksOfNode: RateLimiter

  /** @param perSecond the setting `auth.token_rate_per_second` */
  constructor(clock: Clock, perSecond: number) {
    const limiter = (name: string, rate: number, burst: number) =>
      new RateLimiter(clock, { name, perSecond: rate, burst })
    const checks = CHECKS_FACTOR * perSecond
    this.#requests = limiter('token', perSecond, BURST_SECONDS * perSecond)
    this.#failures = limiter('token-failures', perSecond, BURST_SECONDS * perSecond)
    this.#checks = limiter('token-checks', checks, checks)
    this.#checksOfNode = limiter('token-checks', CHECKS_PER_SECOND_MAX, CHECKS_PER_SECOND_MAX)
  }

  /**
   * Called before a body is read. Throws `rate_limited`. A request counts as a failure until its client is
   * authenticated, so concurrent and unfinished requests count too.
   * @param bodyBytes undefined for a chunked body
   */
  admit(address: string, bodyBytes: number | undefined): Admission {
    const verdict = this.#failures.take(address)
    const { headers } = verdict
    if (!verdict.allowed && !this.#mayCheck(address, bodyBytes)) throw rateLimited(verdict)
    const giveBack = () => {
      if (verdict.allowed) this.#failures.giveBack(address)
    }
    return {
      headers,
      succeed: () => {
        giveBack()
        const request = this.#requests.take(address)
        if (!request.allowed) throw rateLimited(request)
        return request.headers
      },
      fail: () => (verdict.allowed ? undefined : rateLimited(verdict)),
      cancel: giveBack,
    }
  }

  #mayCheck(address: string, bodyBytes: number | undefined): boolean {
    if (bodyBytes === undefined || bodyBytes > CHECKED_BODY_BYTES_MAX) return false
    return this.#checks.take(address).allowed && this.#checksOfNode.take(NODE).allowed
  }
}
