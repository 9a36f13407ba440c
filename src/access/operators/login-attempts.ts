/**
 * Attempts to sign in: the answers to failed ones, their count, and how many wrong codes a right password allows. The
 * secrets are checked first, so guessing locks out no person who knows them: failures are limited by name and address,
 * and a browser in which the person has signed in before has its own budget. Setup links and logins at an issuer have
 * theirs.
 *
 * Only a wrong code after the right password is limited before the next check, or a million codes could be tried: a
 * client at that limit knows the password.
 */
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../platform/base/clock.ts'
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { addressBlock } from '../../platform/http/client-address.ts'
import { Problem } from '../../platform/http/problem.ts'
import { RateLimiter, type RateVerdict, rateLimited } from '../../platform/http/rate-limit.ts'
import type { Caller } from './fair-queue.ts'

export interface LoginAttemptsOptions {
  readonly clock: Clock
  readonly metrics: MetricsRegistry
  /** Called for every failed attempt, with the operator's name if an operator has the name in the attempt. */
  readonly onFailedLogin: (clientAddress: string, operator: string | undefined) => void
  /** Writes the failed attempts so far to the audit trail, before a login reads those with its name. */
  readonly recordFailures: () => Promise<void>
}

/** A person mistypes a few times. */
const FAILURES = { name: 'operator-login', perSecond: 0.2, burst: 10 }
/** 17,000 wrong codes a day, out of a million with three valid at a time: one day finds a code with a 5 % chance. */
const CODES = { name: 'operator-code', perSecond: 0.2, burst: 10 }
/** The same rate over all addresses. The burst keeps one address from using it up. */
const CODES_OF_NAME = { ...CODES, burst: 100 }

/** What an attempt is made with. */
export type AttemptKind = 'password' | 'setup_link' | 'openid'

type LoginResult = 'succeeded' | 'failed' | 'limited'

/** An attempt, to be ended by `succeeded` or `failed`. */
export interface LoginAttempt {
  readonly caller: Caller
  /** To be called when the password was right, before the code is checked. Returns 429 after too many wrong codes. */
  countCode(): Problem | undefined
  /** @param opensSession false for a step before the login */
  succeeded(opensSession: boolean): void
  /**
   * Returns the answer: the given one, or 429.
   * @param operator the operator with the name in the attempt, if there is one
   */
  failed(answer: Problem, operator?: string): Problem
}

export class LoginAttempts {
  readonly #options: LoginAttemptsOptions
  readonly #failures: RateLimiter
  readonly #codes: RateLimiter
  readonly #codesOfName: RateLimiter
  readonly #logins: Counter<'result'>
  /** Connections with an attempt: one each, so a few connections cannot fill the queue. */
  readonly #sockets = new WeakSet<object>()

  constructor(options: LoginAttemptsOptions) {
    this.#options = options
    this.#failures = new RateLimiter(options.clock, FAILURES)
    this.#codes = new RateLimiter(options.clock, CODES)
    this.#codesOfName = new RateLimiter(options.clock, CODES_OF_NAME)
    this.#logins = new Counter({
      name: 'tidegate_operator_logins_total',
      help: 'People’s sign-in attempts at the operator listener, by result: succeeded, failed, limited',
      labelNames: ['result'],
      registers: [options.metrics],
    })
    for (const result of ['succeeded', 'failed', 'limited'] satisfies LoginResult[]) this.#logins.inc({ result }, 0)
  }

  /** To be called before a session is opened. */
  recordFailures(): Promise<void> {
    return this.#options.recordFailures()
  }

  /**
   * Runs an attempt, which must end it.
   * @param name the operator's name. Empty: it is not known yet
   * @param ownKey for a browser or session that the person has used before
   * @throws {Problem} 429 while the connection has another attempt
   */
  async run<Result>(
    request: FastifyRequest,
    {
      kind,
      name = '',
      ownKey,
    }: { readonly kind: AttemptKind; readonly name?: string; readonly ownKey?: string | undefined },
    work: (attempt: LoginAttempt) => Promise<Result>,
  ): Promise<Result> {
    const { socket } = request.raw
    if (this.#sockets.has(socket)) {
      throw new Problem('rate_limited', 'another attempt on this connection is still being checked', {
        headers: { 'retry-after': '1' },
      })
    }
    this.#sockets.add(socket)
    try {
      return await work(this.#begin(request, kind, name, ownKey))
    } finally {
      this.#sockets.delete(socket)
    }
  }

  #begin(request: FastifyRequest, kind: AttemptKind, name: string, ownKey: string | undefined): LoginAttempt {
    const { clientAddress } = request
    const sharedKey = `${kind}\n${addressBlock(clientAddress)}\n${name}`
    // Taken before the check: a known browser that fails too often is treated as an unknown one.
    const isOwn = ownKey !== undefined && this.#failures.take(ownKey).allowed
    const key = isOwn ? ownKey : sharedKey
    const codes: [RateLimiter, string][] = [[this.#codes, key]]
    if (!isOwn) codes.push([this.#codesOfName, name])
    return {
      caller: { holder: isOwn ? key : request.holder, key, isPreferred: isOwn, socket: request.raw.socket },
      countCode: () => takeAll(codes),
      succeeded: (opensSession) => {
        if (opensSession) this.#logins.inc({ result: 'succeeded' })
        if (isOwn) this.#failures.giveBack(key)
        for (const [limiter, codeKey] of codes) limiter.giveBack(codeKey)
      },
      failed: (answer, operator) => {
        const verdict = isOwn ? undefined : this.#failures.take(key)
        const isLimited = verdict?.allowed === false
        this.#logins.inc({ result: isLimited ? 'limited' : 'failed' })
        this.#options.onFailedLogin(clientAddress, operator)
        return isLimited ? rateLimited(verdict as RateVerdict) : answer
      },
    }
  }
}

/** Takes one of each. When one has none left, takes none and returns the refusal. */
function takeAll(limits: readonly (readonly [RateLimiter, string])[]): Problem | undefined {
  for (const [index, [limiter, key]] of limits.entries()) {
    const verdict = limiter.take(key)
    if (verdict.allowed) continue
    for (const [taken, takenKey] of limits.slice(0, index)) taken.giveBack(takenKey)
    return rateLimited(verdict)
  }
  return undefined
}
