/**
 * The guard of the operator API: authenticates the operator of a call, and checks that the role includes it, by the table
 * `OPERATOR_CALLS`. The single token is compared in constant time; the API tokens and sessions of operators are in the store. Wrong
 * tokens over a rate per source address are answered with 429; a right one is always accepted, so guessing cannot lock
 * operators out.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BUILT_IN_OPERATOR, type CallingOperator, noteOperator, operatorActor } from '../auth/operator-calls.ts'
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { includesRole, OPERATOR_CALLS, type OperatorCallId, type OperatorRole } from '../contract/operator-calls.ts'
import { invalidToken, readBearerToken } from '../http/bearer.ts'
import { addressBlock } from '../http/client-address.ts'
import { Problem } from '../http/problem.ts'
import { RateLimiter, rateLimited } from '../http/rate-limit.ts'
import type { Db } from '../store/db.ts'
import { API_TOKEN_PREFIX, operatorWithApiToken } from './api-tokens.ts'
import { type ChannelOptions, channelOf, isOwnOrigin } from './channel.ts'
import { readSessionCookie } from './cookies.ts'
import { findSession, isCsrfToken } from './sessions.ts'

export interface OperatorGuardOptions {
  /** The single token: the setting `operator.token`. */
  readonly token: string
  /** Has the API tokens and the sessions of operators. */
  readonly db: Db
  readonly clock: Clock
  readonly channel: ChannelOptions
  /** Called for every wrong token. */
  readonly onGuess: (clientAddress: string) => void
}

/** A typing error or a script with an old token gets a 401 with a reason; a program that guesses gets mostly 429. */
const GUESSES = { name: 'operator-token', perSecond: 1, burst: 10 }

/** Guards every route of `app`, each of which must be a row of the table. */
export function guardOperatorCalls(app: FastifyInstance, options: OperatorGuardOptions): void {
  const { db, clock, channel } = options
  const expected = digest(options.token)
  const limiter = new RateLimiter(clock, GUESSES)

  async function authenticate(request: FastifyRequest): Promise<CallingOperator> {
    const { headers, clientAddress } = request
    const secret = headers.authorization === undefined ? sessionSecretOf(request.raw, channel) : undefined
    if (secret !== undefined) return await operatorOfSession(request, secret, options)
    const sent = readBearerToken(headers.authorization)
    if (sent instanceof Problem) throw sent
    // Digests, because the comparison requires equal lengths.
    if (timingSafeEqual(digest(sent), expected))
      return { name: BUILT_IN_OPERATOR, role: 'admin', via: 'operator_token' }
    const operator = sent.startsWith(API_TOKEN_PREFIX) ? await operatorWithApiToken(db, clock, sent) : undefined
    if (operator !== undefined) return operator
    options.onGuess(clientAddress)
    const verdict = limiter.take(addressBlock(clientAddress))
    if (!verdict.allowed) throw rateLimited(verdict)
    throw invalidToken('Authorization: this is not the operator token, and not a valid token of an operator')
  }

  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) {
      const call = callIdOf(name, url, app.prefix)
      assert(Object.hasOwn(OPERATOR_CALLS, call), `${call} is not in the table of operator calls`)
    }
  })
  app.addHook('onRequest', async (request) => {
    const operator = await authenticate(request)
    noteOperator(request, operator)
    request.answeredClient = operatorActor(request)
    const { method, url = '' } = request.routeOptions
    const call = callIdOf([method].flat()[0] ?? '', url, app.prefix)
    refuseRole(operator.role, OPERATOR_CALLS[call].role)
  })
}

/** Methods that change nothing, which a page may send without proof that it is ours. */
const SAFE_METHODS = ['GET', 'HEAD']

function sessionSecretOf(request: IncomingMessage, channel: ChannelOptions): string | undefined {
  return readSessionCookie(request.headers.cookie, channelOf(request, channel))
}

/** The operator of a session; a call that changes something must come from a page of this listener. */
async function operatorOfSession(
  request: FastifyRequest,
  secret: string,
  { db, clock, channel }: OperatorGuardOptions,
): Promise<CallingOperator> {
  if (!SAFE_METHODS.includes(request.method)) {
    if (!isOwnOrigin(request.raw, channel)) throw new Problem('csrf_failed', 'Origin: must be that of this listener')
    if (!isCsrfToken(secret, request.headers['x-csrf-token'])) {
      throw new Problem('csrf_failed', 'X-CSRF-Token: must be the csrf_token of the session')
    }
  }
  const session = await findSession(db, secret, clock.wallInstant().milliseconds, true)
  if (session === undefined) throw new Problem('session_ended', 'the session has ended: sign in again')
  const { name, role, expiresAt } = session
  return { name, role, via: 'session', session: { secret, expiresAt } }
}

function refuseRole(role: OperatorRole, needed: OperatorRole): void {
  if (includesRole(role, needed)) return
  throw new Problem('insufficient_role', `the role ${role} does not include this call, which needs ${needed}`, {
    meta: { role, needed },
  })
}

/** The row of a route; HEAD is served by the routes for GET. */
function callIdOf(method: string, url: string, prefix: string): OperatorCallId {
  return `${method === 'HEAD' ? 'GET' : method} ${url.slice(prefix.length)}` as OperatorCallId
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
