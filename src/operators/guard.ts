/**
 * The guard of the operator API: authenticates the operator of a call, and checks that the role includes it, by the table
 * `OPERATOR_CALLS`. The single token is compared in constant time; the API tokens of operators are in the store. Wrong
 * tokens over a rate per source address are answered with 429; a right one is always accepted, so guessing cannot lock
 * operators out.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BUILT_IN_OPERATOR, type CallingOperator, noteOperator, operatorActor } from '../auth/operator-calls.ts'
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { includesRole, OPERATOR_CALLS, type OperatorCallId, type OperatorRole } from '../contract/operator-calls.ts'
import { invalidToken, readBearerToken } from '../http/bearer.ts'
import { addressBlock } from '../http/client-address.ts'
import { Problem } from '../http/problem.ts'
import { RateLimiter, rateLimited } from '../http/rate-limit.ts'
import { API_TOKEN_PREFIX } from './api-tokens.ts'

export interface OperatorGuardOptions {
  /** The single token: the setting `operator.token`. */
  readonly token: string
  /** The operator that holds an API token; undefined when it is not valid. */
  operatorWithToken(token: string): Promise<CallingOperator | undefined>
  readonly clock: Clock
  /** Called for every wrong token. */
  readonly onGuess: (clientAddress: string) => void
}

/** A typing error or a script with an old token gets a 401 with a reason; a program that guesses gets mostly 429. */
const GUESSES = { name: 'operator-token', perSecond: 1, burst: 10 }

/** Guards every route of `app`, each of which must be a row of the table. */
export function guardOperatorCalls(app: FastifyInstance, options: OperatorGuardOptions): void {
  const expected = digest(options.token)
  const limiter = new RateLimiter(options.clock, GUESSES)

  async function authenticate({ headers, clientAddress }: FastifyRequest): Promise<CallingOperator> {
    const sent = readBearerToken(headers.authorization)
    if (sent instanceof Problem) throw sent
    // Digests, because the comparison requires equal lengths.
    if (timingSafeEqual(digest(sent), expected)) return { name: BUILT_IN_OPERATOR, role: 'admin' }
    const operator = sent.startsWith(API_TOKEN_PREFIX) ? await options.operatorWithToken(sent) : undefined
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
