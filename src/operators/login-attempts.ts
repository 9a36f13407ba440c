/**
 * Limits on attempts to sign in, by address and by name, and their count. An attempt that succeeds uses up nothing. Every way
 * to sign in shares the limits.
 */
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { Counter, type MetricsRegistry } from '../base/metrics.ts'
import { addressBlock } from '../http/client-address.ts'
import { RateLimiter, rateLimited } from '../http/rate-limit.ts'

export interface LoginAttemptsOptions {
  readonly clock: Clock
  readonly metrics: MetricsRegistry
  /** Called for every failed attempt. */
  readonly onFailedLogin: (clientAddress: string) => void
}

/** A person mistypes a few times; 0.2 per second are 17,000 guesses a day, of a million codes that change. */
const BY_ADDRESS = { name: 'operator-login', perSecond: 0.2, burst: 10 }
const BY_NAME = { name: 'operator-login-name', perSecond: 0.2, burst: 10 }

type LoginResult = 'succeeded' | 'failed' | 'limited'

/** An attempt that was admitted, to be ended by one of the two. */
export interface LoginAttempt {
  /** @param opensSession false for a step before the login */
  succeeded(opensSession: boolean): void
  failed(): void
}

export class LoginAttempts {
  readonly #options: LoginAttemptsOptions
  readonly #byAddress: RateLimiter
  readonly #byName: RateLimiter
  readonly #logins: Counter<'result'>

  constructor(options: LoginAttemptsOptions) {
    this.#options = options
    this.#byAddress = new RateLimiter(options.clock, BY_ADDRESS)
    this.#byName = new RateLimiter(options.clock, BY_NAME)
    this.#logins = new Counter({
      name: 'tidegate_operator_logins_total',
      help: 'Attempts of people to sign in to the operator listener, by result: succeeded, failed, limited',
      labelNames: ['result'],
      registers: [options.metrics],
    })
    for (const result of ['succeeded', 'failed', 'limited'] satisfies LoginResult[]) this.#logins.inc({ result }, 0)
  }

  /**
   * @param name empty: it is not known yet
   * @throws {Problem} 429
   */
  begin(request: FastifyRequest, name: string): LoginAttempt {
    const limits: [RateLimiter, string][] = [[this.#byAddress, addressBlock(request.clientAddress)]]
    if (name !== '') limits.push([this.#byName, name])
    for (const [limiter, key] of limits) {
      const verdict = limiter.take(key)
      if (verdict.allowed) continue
      this.#logins.inc({ result: 'limited' })
      throw rateLimited(verdict)
    }
    return {
      succeeded: (opensSession) => {
        if (opensSession) this.#logins.inc({ result: 'succeeded' })
        for (const [limiter, key] of limits) limiter.giveBack(key)
      },
      failed: () => {
        this.#logins.inc({ result: 'failed' })
        this.#options.onFailedLogin(request.clientAddress)
      },
    }
  }
}
