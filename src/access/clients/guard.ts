/**
 * The public REST API's guard: authenticates the client and checks whether it may use the operation. The checks run in
 * this order: token, client and customer enabled, scope, rates. They never read the store, so they do not depend on it.
 * Modules restrict records to the customer in `callerOf`.
 */
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts'
import type { Scope } from '../../contract/scopes.ts'
import { assert } from '../../platform/base/assert.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { insufficientScope, readBearerToken } from '../../platform/http/bearer.ts'
import { Problem } from '../../platform/http/problem.ts'
import { countRequest, RateLimiter } from '../../platform/http/rate-limit.ts'
import { authenticateBearer } from './bearer-authentication.ts'
import type { Directory } from './directory.ts'
import type { ClientRecord } from './directory-records.ts'
import type { HeldPlans, Plan } from './plans/plan.ts'
import type { AccessToken, TokenVerifier } from './token-verifier.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The row in the operations table. */
    operationId?: OperationId
  }
}

/** The customer whose records a request may use, and the calling client. */
export interface Caller {
  readonly customerId: string
  /** With an external issuer: the customer's id and the client's name there. */
  readonly clientId: string
  /** Absent: an external issuer's client unknown here. */
  readonly client?: ClientRecord
  /** The token's scopes still held by the client. */
  readonly scopes: readonly string[]
  readonly plans: HeldPlans
}

export interface GuardOptions {
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly clock: Clock
  /** The setting `rest.rate_per_second`: requests per client and operation. */
  readonly ratePerSecond: number
  /** Counts a client's requests. */
  readonly meter?: { of(caller: Caller): { readonly control: { restRequests: number } } }
}

/** The route options for an operation, with its guard. */
export interface GuardedRoute {
  readonly method: Operation['method']
  readonly url: string
  readonly config: { readonly operationId: OperationId }
  readonly onRequest: onRequestHookHandler
}

export type Guard = (operationId: OperationId) => GuardedRoute

/** Burst size, in seconds at the rate. */
const BURST_SECONDS = 2
/** `Retry-After` from an unready node. */
const RETRY_AFTER_SECONDS = 1

const callers = new WeakMap<FastifyRequest, Caller>()

export function createGuard({ directory, verifier, clock, ratePerSecond, meter }: GuardOptions): Guard {
  const authentication = { directory, verifier, retryAfterSeconds: RETRY_AFTER_SECONDS }
  const limitByPlans = planLimits(clock)
  return (operationId) => {
    const { method, path, scope } = OPERATIONS[operationId]
    const name = operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const limiter = new RateLimiter(clock, { name, perSecond: ratePerSecond, burst: BURST_SECONDS * ratePerSecond })
    const admit = (request: FastifyRequest, reply: FastifyReply, token: AccessToken | Problem): void => {
      if (token instanceof Problem) throw token
      const caller = callerWith(directory, token, scope)
      callers.set(request, caller)
      request.answeredClient = caller.clientId
      countRequest(limiter, caller.clientId, reply)
      limitByPlans(caller, reply)
      if (meter !== undefined) meter.of(caller).control.restRequests += 1
    }
    return {
      method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { operationId },
      onRequest(request, reply, done) {
        const token = authenticateBearer(readBearerToken(request.headers.authorization), authentication)
        if (token instanceof Promise) {
          token.then((later) => admit(request, reply, later)).then(() => done(), done)
        } else {
          admit(request, reply, token)
          done()
        }
      },
    }
  }
}

/** Counts a client's requests for all operations, once by each of its plans that has a rate. */
function planLimits(clock: Clock): (caller: Caller, reply: FastifyReply) => void {
  const limiters = new WeakMap<Plan, RateLimiter>()
  return ({ plans, clientId }, reply) => {
    // The customer's plan and the client's own may be the same one.
    for (const plan of new Set(plans.map((held) => held.plan))) {
      const { restRatePerSecond: perSecond } = plan
      if (perSecond === undefined) continue
      const limiter =
        limiters.get(plan) ?? new RateLimiter(clock, { name: 'plan', perSecond, burst: BURST_SECONDS * perSecond })
      limiters.set(plan, limiter)
      countRequest(limiter, clientId, reply)
    }
  }
}

/** The caller authenticated by the guard on this request's route. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request)
  assert(caller !== undefined, 'only a guarded route has a caller')
  return caller
}

/** A caller's name in the audit trail. */
export function actorOf({ clientId }: Caller): string {
  return `client:${clientId}`
}

/**
 * Checks the current directory, which may have changed since the token was issued.
 * @param scope undefined: the operation requires none
 */
function callerWith(directory: Directory, token: AccessToken, scope: Scope | undefined): Caller {
  const { customerId, clientId } = token
  const customer = directory.customer(customerId)
  const client = directory.clientOf(token)
  // An external issuer's clients need not be known here. Our client with that name limits their scopes.
  const isKnown = client !== undefined || token.outsideClientName !== undefined
  if (!isKnown || client?.enabled === false || customer?.enabled !== true) {
    throw new Problem('disabled', 'the client or its customer is disabled')
  }
  const scopes = [...token.scopes].filter((name) => client === undefined || client.scopes.has(name as Scope))
  if (scope !== undefined && !scopes.includes(scope)) {
    throw insufficientScope(`insufficient scopes: found '${scopes.join(' ')}', required one of '[${scope}]'`, scope)
  }
  const plans = directory.plansOf(token)
  return { customerId, clientId, scopes, plans, ...(client === undefined ? {} : { client }) }
}
