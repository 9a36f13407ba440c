/** In whose name executors claim and report: machines in that of their token, people in their own. */
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type CallingOperator, noteOperator } from '../../../src/access/clients/operator-calls.ts'
import { createDeliveryMetrics } from '../../../src/money/deliveries/metrics.ts'
import { registerDeliveryOperatorRoutes } from '../../../src/money/deliveries/operator-routes.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { Problem } from '../../../src/platform/http/problem.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addDeliveries, letPass, recordingOwners } from '../../support/deliveries.ts'
import { addAssets, addOwner } from '../../support/ledger.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** Callers as the guard notes them. */
const CALLERS = {
  alpha: { name: 'payments', role: 'executor', via: 'api_token', token: { name: 'alpha' } },
  beta: { name: 'payments', role: 'executor', via: 'api_token', token: { name: 'beta' } },
  ines: { name: 'ines', role: 'treasurer', via: 'session' },
  script: { name: 'ines', role: 'treasurer', via: 'api_token', token: { name: 'script' } },
  token: { name: 'token', role: 'admin', via: 'operator_token' },
} as const
type Caller = keyof typeof CALLERS

let db: Db
let app: FastifyInstance
let id: string
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, { USDC: 6 })
  app = Fastify()
  app.addHook('onRequest', async (request) => {
    noteOperator(request, CALLERS[request.headers.caller as Caller] as unknown as CallingOperator)
  })
  app.setErrorHandler((error, _, reply) => {
    const isProblem = error instanceof Problem
    return reply.status(isProblem ? error.status : 500).send({ code: isProblem ? error.code : String(error) })
  })
  const metrics = createDeliveryMetrics(createMetricsRegistry(), db)
  const clock = new VirtualClock(Date.now())
  registerDeliveryOperatorRoutes(app, { db, clock, owners: recordingOwners(), hasWebhook: () => false, metrics })
})
afterAll(async () => {
  await app?.close()
  await db?.close()
})
beforeEach(async () => {
  ;[id = ''] = await addDeliveries(db, await addOwner(db), 1)
})

async function post(caller: Caller, call: string, body: object) {
  const answer = await app.inject({ method: 'POST', url: `/deliveries/${call}`, headers: { caller }, payload: body })
  return answer.json()
}

const claimOne = (caller: Caller) => post(caller, `${id}/claim`, { lease_seconds: 60 })
const fail = (caller: Caller, attempt: number, statement: object = {}) =>
  post(caller, `${id}/fail`, { reason: 'closed', attempt, ...statement })
const NOT_PAID = { earlier_attempts: 'not_paid' }

it('a machine claims in the name of its token, and in no other', async () => {
  const claim = (executor: string) => post('alpha', 'claim', { executor, limit: 100, lease_seconds: 60 })
  expect(await claim('beta')).toEqual({ code: 'invalid_request' })
  expect((await claim('alpha')).items).toContainEqual(expect.objectContaining({ id, executor: 'alpha' }))
})

it.each<[Caller, string]>([
  ['alpha', 'alpha'],
  ['ines', 'ines'],
  ['script', 'ines'],
  ['token', 'token'],
])('%s claims one delivery as %s', async (caller, executor) => {
  expect(await claimOne(caller)).toMatchObject({ status: 'CLAIMED', attempt: 1, executor })
})

it('a machine cannot fail a delivery that another machine holds or has held, whatever it states', async () => {
  await claimOne('alpha')
  expect(await fail('beta', 1, NOT_PAID)).toEqual({ code: 'earlier_attempt_unknown' })
  await letPass(db, [id], 61)
  await claimOne('beta')
  expect(await fail('beta', 2)).toEqual({ code: 'earlier_attempt_unknown' })
  expect(await fail('beta', 2, NOT_PAID)).toEqual({ code: 'earlier_attempt_unknown' })
  expect(await fail('alpha', 2, NOT_PAID)).toEqual({ code: 'earlier_attempt_unknown' })
  expect(await fail('ines', 2, NOT_PAID)).toMatchObject({ status: 'FAILED' })
})

it('a machine states that its own earlier attempt was not paid', async () => {
  await claimOne('alpha')
  await letPass(db, [id], 61)
  await claimOne('alpha')
  expect(await fail('alpha', 2)).toEqual({ code: 'earlier_attempt_unknown' })
  expect(await fail('alpha', 2, NOT_PAID)).toMatchObject({ status: 'FAILED' })
})

it('a machine cannot report a payment as made that was never handed out, and a person can', async () => {
  expect(await fail('ines', 0)).toMatchObject({ status: 'FAILED' })
  const settle = (caller: Caller) => post(caller, `${id}/settle`, { reference: id, attempt: 0, late: true })
  expect(await settle('alpha')).toEqual({ code: 'outside_binding' })
  expect(await settle('ines')).toMatchObject({ status: 'SETTLED', late: true })
})

it('only a person settles a payment that was never claimed, in a store that was restored since', async () => {
  const settle = (caller: Caller) => post(caller, `${id}/settle`, { reference: `paid ${id}`, attempt: 0 })
  expect(await settle('ines')).toEqual({ code: 'invalid_state' })
  await sql`update store_origin set identity = 'another store'`.execute(db.tables())
  expect(await settle('alpha')).toEqual({ code: 'outside_binding' })
  expect(await settle('ines')).toMatchObject({ status: 'SETTLED', attempt: 0 })
  await sql`update store_origin set identity = null`.execute(db.tables())
})
