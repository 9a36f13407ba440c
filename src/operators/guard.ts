/**
 * The guard of the operator API: authenticates the operator of a call, checks that the role includes it, and records a call
 * under four eyes instead of carrying it out, by the table `OPERATOR_CALLS`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { noteOperator, operatorActor } from '../auth/operator-calls.ts'
import { assert } from '../base/assert.ts'
import { includesRole, OPERATOR_CALLS, type OperatorCallId, type OperatorRole } from '../contract/operator-calls.ts'
import { Problem } from '../http/problem.ts'
import type { OperatorAuthentication } from './authentication.ts'
import { answerWithRequest, Confirmations, type FourEyesOptions, fourEyesKindOf } from './four-eyes.ts'

export interface OperatorGuardOptions extends FourEyesOptions {
  readonly authentication: OperatorAuthentication
}

/** Methods that change nothing, with which browsers send no `Origin` to their own. */
const SAFE_METHODS = ['GET', 'HEAD']

/** Guards every route of `app`, each of which must be a row of the table; returns the calls that were confirmed. */
export function guardOperatorCalls(app: FastifyInstance, options: OperatorGuardOptions): Confirmations {
  const confirmations = new Confirmations()
  const confirmed = new WeakSet<FastifyRequest>()
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) {
      const call = callIdOf(name, url, app.prefix)
      assert(Object.hasOwn(OPERATOR_CALLS, call), `${call} is not in the table of operator calls`)
    }
  })
  app.addHook('onRequest', async (request) => {
    const confirming = confirmations.take(request)
    if (confirming !== undefined) confirmed.add(request)
    const isWrite = !SAFE_METHODS.includes(request.method)
    const operator =
      confirming ?? (await options.authentication.authenticate(request.raw, request.clientAddress, isWrite))
    noteOperator(request, operator)
    request.answeredClient = operatorActor(request)
    refuseRole(operator.role, OPERATOR_CALLS[callOf(request, app.prefix)].role)
  })
  app.addHook('preHandler', async (request, reply) => {
    const call = callOf(request, app.prefix)
    const kind = confirmed.has(request) ? undefined : fourEyesKindOf(call, options)
    if (kind !== undefined) return await answerWithRequest(request, reply, call, kind, options)
  })
  return confirmations
}

function refuseRole(role: OperatorRole, needed: OperatorRole): void {
  if (includesRole(role, needed)) return
  throw new Problem('insufficient_role', `the role ${role} does not include this call, which needs ${needed}`, {
    meta: { role, needed },
  })
}

function callOf({ routeOptions }: FastifyRequest, prefix: string): OperatorCallId {
  const { method, url = '' } = routeOptions
  return callIdOf([method].flat()[0] ?? '', url, prefix)
}

/** The row of a route; HEAD is served by the routes for GET. */
function callIdOf(method: string, url: string, prefix: string): OperatorCallId {
  return `${method === 'HEAD' ? 'GET' : method} ${url.slice(prefix.length)}` as OperatorCallId
}
