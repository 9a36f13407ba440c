/**
 * The guard of the public REST API: who calls, and whether that client may use this operation now. The checks stand in
 * the order in which they answer: token, client and customer in force, scope, rate. They read memory only, so a request
 * is refused or admitted whether or not the store is available; what belongs to whom is decided by the modules behind
 * it, by the caller that the guard leaves with the request. A header that is too long for a token is refused unread.
 */
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts'
import type { Scope } from '../contract/scopes.ts'
import { insufficientScope, readBearerToken } from '../http/bearer.ts'
import { Problem } from '../http/problem.ts'
import { createRateLimitHook, RateLimiter } from '../http/rate-limit.ts'
import { authenticateBearer } from './bearer-authentication.ts'
import type { Directory } from './directory.ts'
import type { AccessToken, TokenVerifier } from './token-verifier.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which row of the table of operations a route is. */
    operationId?: OperationId
  }
}

/** Whose records a request is about, and who asks. */
export interface Caller {
  readonly customerId: string
  /** Of an outside issuer: the customer's id and the client's name there. */
  readonly clientId: string
}

export interface GuardOptions {
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly clock: Clock
  /** The setting `rest.rate_per_second`: requests a client and operation. */
  readonly ratePerSecond: number
}

/** What the table of operations says about a route, and its guard; to be spread into the route's options. */
export interface GuardedRoute {
  readonly method: Operation['method']
  readonly url: string
  readonly config: { readonly operationId: OperationId }
  readonly onRequest: onRequestAsyncHookHandler
}

export type Guard = (operationId: OperationId) => GuardedRoute

/** How many seconds of its rate a client may use at once. */
const BURST_SECONDS = 2
/** Seconds after which a node that is not ready may be tried again. */
const RETRY_AFTER_SECONDS = 1

const callers = new WeakMap<FastifyRequest, Caller>()

export function createGuard({ directory, verifier, clock, ratePerSecond }: GuardOptions): Guard {
  const authentication = { directory, verifier, retryAfterSeconds: RETRY_AFTER_SECONDS }
  return (operationId) => {
    const { method, path, scope } = OPERATIONS[operationId]
    const name = operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const limiter = new RateLimiter(clock, { name, perSecond: ratePerSecond, burst: BURST_SECONDS * ratePerSecond })
    const limitRate = createRateLimitHook(limiter, (request) => callerOf(request).clientId)
    return {
      method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { operationId },
      async onRequest(request: FastifyRequest, reply: FastifyReply) {
        const token = await authenticateBearer(readBearerToken(request.headers.authorization), authentication)
        if (token instanceof Problem) throw token
        refuseAccess(directory, token, scope)
        callers.set(request, { customerId: token.customerId, clientId: token.clientId })
        request.answeredClient = token.clientId
        await limitRate.call(request.server, request, reply)
      },
    }
  }
}

/** Who was let in by the guard of this request's route. */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request)
  assert(caller !== undefined, 'only a guarded route has a caller')
  return caller
}

/** How the audit trail names a caller. */
export function actorOf({ clientId }: Caller): string {
  return `client:${clientId}`
}

/**
 * By the directory as it is now: what was taken away since the token was issued counts.
 * @param scope undefined: the operation needs none
 */
function refuseAccess(directory: Directory, token: AccessToken, scope: Scope | undefined): void {
  const customer = directory.customer(token.customerId)
  const client = directory.clientOf(token)
  // An outside issuer answers for its own clients; one of ours with that name limits what it gives.
  const isKnown = client !== undefined || token.outsideClientName !== undefined
  if (!isKnown || client?.enabled === false || customer?.enabled !== true) {
    throw new Problem('disabled', 'the client or its customer is disabled')
  }
  const held = [...token.scopes].filter((name) => client === undefined || client.scopes.has(name as Scope))
  if (scope === undefined || held.includes(scope)) return
  throw insufficientScope(`insufficient scopes: found '${held.join(' ')}', required one of '[${scope}]'`, scope)
}
