/**
 * How many requests of the token and the revocation endpoint a source address may make. Requests that prove a client
 * and requests that fail have separate budgets of the same size, so that a program that guesses behind a shared address
 * uses up its own. While the budget for failures is empty, a request is still checked, because it may be a right one;
 * a failure is then answered with 429. How many such checks there are is limited too, for each address and for the
 * node, and only small bodies are read for them: a check costs little, and this bounds the sum.
 */
import type { Clock } from '../base/clock.ts'
import { Problem } from '../http/problem.ts'
import { RateLimiter, type RateVerdict } from '../http/rate-limit.ts'

/** How many seconds of its rate an address may use at once: what a fleet of programs sends when it starts together. */
const BURST_SECONDS = 4
/** Checks beyond the budget for failures, as a multiple of the address's rate: 500 a second by default. */
const CHECKS_FACTOR = 10
/** Checks beyond the budgets for failures, of all addresses; each takes about 0.1 ms of processor time. */
const CHECKS_PER_SECOND_MAX = 2_000
/** Largest body that is read for such a check: a token request has about 300 bytes, a revocation about 1,200. */
const CHECKED_BODY_BYTES_MAX = 8_192
const NODE = 'node'

/** What may become of one request: exactly one of the two is called, once. */
export interface Admission {
  /** The request proved a client; returns fields of its answer. Throws `rate_limited` when there are too many. */
  succeed(): Readonly<Record<string, string>>
  /** The request failed; `undefined` when it is answered as it is, else the refusal to answer it with. */
  fail(): Problem | undefined
  /** Nothing is counted: the fault is ours. */
  cancel(): void
  /** Fields of the answer when the request fails. */
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
   * Before a body is read; throws `rate_limited`. A request counts as a failure until it has proved a client, so that
   * requests under way at the same moment, or never finished, count too.
   * @param bodyBytes undefined when the request does not tell
   */
  admit(address: string, bodyBytes: number | undefined): Admission {
    const verdict = this.#failures.take(address)
    const { headers } = verdict
    if (!verdict.allowed && !this.#mayCheck(address, bodyBytes)) throw refusal(verdict)
    const giveBack = () => {
      if (verdict.allowed) this.#failures.giveBack(address)
    }
    return {
      headers,
      succeed: () => {
        giveBack()
        const request = this.#requests.take(address)
        if (!request.allowed) throw refusal(request)
        return request.headers
      },
      fail: () => (verdict.allowed ? undefined : refusal(verdict)),
      cancel: giveBack,
    }
  }

  #mayCheck(address: string, bodyBytes: number | undefined): boolean {
    if (bodyBytes === undefined || bodyBytes > CHECKED_BODY_BYTES_MAX) return false
    return this.#checks.take(address).allowed && this.#checksOfNode.take(NODE).allowed
  }
}

function refusal({ retryAfterSeconds, headers }: RateVerdict): Problem {
  const seconds = `${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}`
  return new Problem('rate_limited', `too many requests: try again in ${seconds}`, { headers })
}
