/**
 * The operator API's guard: authenticates a call's operator, checks that the role includes it, and records a call under
 * four eyes instead of carrying it out, by the table `OPERATOR_CALLS`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mayCall, OPERATOR_CALLS, type OperatorCallId, type OperatorRole } from '../../contract/operator-calls.ts'
import { assert } from '../../platform/base/assert.ts'
import { Problem } from '../../platform/http/problem.ts'
import { noteOperator, operatorActor, operatorOf } from '../clients/operator-calls.ts'
import type { OperatorAuthentication } from './authentication.ts'
import {
  answerWithRequest,
  type CallToConfirm,
  type FourEyesOptions,
  readCallToConfirm,
  withPendingRequests,
} from './four-eyes.ts'
import { type OwnCall, OwnCalls } from './own-calls.ts'

export interface OperatorGuardOptions extends FourEyesOptions {
  readonly authentication: OperatorAuthentication
}

/** Methods that change nothing, with which browsers send no `Origin` to their own. */
const SAFE_METHODS = ['GET', 'HEAD']

/**
 * Guards every route in `app`, each of which must be a row in the table. Returns the calls that the service makes
 * itself.
 */
export function guardOperatorCalls(app: FastifyInstance, options: OperatorGuardOptions): OwnCalls {
  const ownCalls = new OwnCalls()
  const own = new WeakSet<FastifyRequest>()
  const toConfirm = new WeakMap<FastifyRequest, CallToConfirm>()
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) {
      const call = callIdOf(name, url, app.prefix)
      assert(Object.hasOwn(OPERATOR_CALLS, call), `${call} is not in the table of operator calls`)
    }
  })
  app.addHook('onRequest', async (request) => {
    const known = ownCalls.take(request)
    if (known !== undefined) own.add(request)
    const isWrite = !SAFE_METHODS.includes(request.method)
    const operator = known ?? (await options.authentication.authenticate(request.raw, request.clientAddress, isWrite))
    noteOperator(request, operator)
    request.answeredClient = operatorActor(request)
    refuseRole(operator.role, callOf(request, app.prefix))
  })
  app.addHook('preValidation', async (request) => {
    const found = own.has(request) ? undefined : readCallToConfirm(request, callOf(request, app.prefix), options)
    if (found !== undefined) toConfirm.set(request, found)
  })
  app.addHook('preHandler', async (request, reply) => {
    const found = toConfirm.get(request)
    if (found === undefined) return
    const seen = (requested: OwnCall) => ownCalls.readRecord(app, operatorOf(request), requested)
    return await answerWithRequest(request, reply, { ...found, call: callOf(request, app.prefix) }, seen, options)
  })
  app.addHook('preSerialization', async (request, reply, payload) => {
    if (own.has(request) || reply.statusCode !== 200) return payload
    const { params, query } = request
    return await withPendingRequests(
      { params, query, operator: operatorOf(request) },
      callOf(request, app.prefix),
      payload,
      options,
    )
  })
  return ownCalls
}

function refuseRole(role: OperatorRole, call: OperatorCallId): void {
  if (mayCall(role, call)) return
  const needed = OPERATOR_CALLS[call].role
  throw new Problem('insufficient_role', `the role ${role} does not include this call, which needs ${needed}`, {
    meta: { role, needed },
  })
}

function callOf({ routeOptions }: FastifyRequest, prefix: string): OperatorCallId {
  const { method, url = '' } = routeOptions
  return callIdOf([method].flat()[0] ?? '', url, prefix)
}

/** A route's row. HEAD is served by the routes for GET. */
function callIdOf(method: string, url: string, prefix: string): OperatorCallId {
  return `${method === 'HEAD' ? 'GET' : method} ${url.slice(prefix.length)}` as OperatorCallId
}
