/** The calls for deliveries, for the operator and the executors that it runs. The operator guard runs before them. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type CallingOperator, idOf, operatorActor, operatorOf } from '../auth/operator-calls.ts'
import type { Clock } from '../base/clock.ts'
import { pageDocument, readPageQuery } from '../http/page-query.ts'
import { invalidRequest } from '../http/problem.ts'
import { answered, RawJson } from '../http/raw-json.ts'
import { type Db, StatementFailed, type Transaction } from '../store/db.ts'
import { DueSearch } from '../store/due-search.ts'
import { transactionWithRetries } from '../store/retry.ts'
import type { DeliveryMetrics } from './metrics.ts'
import type { DeliveryOwners } from './owner.ts'
import { claimDeliveries, claimDelivery, reportFailed, reportSettled, usedReference } from './reports.ts'
import {
  ClaimBody,
  Claimed,
  ClaimOneBody,
  DeliveriesQuery,
  DeliveryPage,
  DeliveryWithAttempts,
  FailBody,
  SettleBody,
} from './schemas.ts'
import { deliveryDocument, listDeliveries } from './store.ts'
import type { DeliveryTables } from './tables.ts'
import type { Reporter } from './unknown-attempts.ts'

export interface DeliveryOperatorRoutesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly owners: DeliveryOwners
  /** Whether deliveries are sent to `deliveries.webhook_url`; then only deliveries that were claimed before can be claimed. */
  readonly hasWebhook: () => boolean
  readonly metrics: DeliveryMetrics
}

interface ById {
  readonly Params: { readonly id: string }
}

/** Declares the routes, relative to the prefix of `app`. */
export function registerDeliveryOperatorRoutes(app: FastifyInstance, options: DeliveryOperatorRoutesOptions): void {
  const { db, owners } = options
  const search = new DueSearch(options.clock)
  const write = <Result>(work: (transaction: Transaction<DeliveryTables>) => Promise<Result>) =>
    transactionWithRetries(db, work)
  app.get<{ Querystring: Static<typeof DeliveriesQuery> }>(
    '/deliveries',
    answered(DeliveryPage, { querystring: DeliveriesQuery }),
    async ({ query }) => pageDocument(await listDeliveries(db, readPageQuery(query), query)),
  )
  app.get<ById>('/deliveries/:id', answered(DeliveryWithAttempts), ({ params }) =>
    deliveryDocument(db.tables(), idOf(params.id)),
  )
  app.post<{ Body: Static<typeof ClaimBody> }>(
    '/deliveries/claim',
    answered(Claimed, { body: ClaimBody }),
    async (request) => {
      const actor = operatorActor(request)
      refuseOtherName(request, request.body.executor)
      const hasWebhook = options.hasWebhook()
      const claimed = await search.claim((isRecent) =>
        write((transaction) => claimDeliveries(transaction, owners, actor, request.body, hasWebhook, isRecent)),
      )
      return { items: claimed.map(({ text }) => new RawJson(text)) }
    },
  )
  app.post<ById & { Body: Static<typeof ClaimOneBody> }>(
    '/deliveries/:id/claim',
    answered(DeliveryWithAttempts, { body: ClaimOneBody }),
    async (request) => {
      const id = idOf(request.params.id)
      const claimer = { actor: operatorActor(request), executor: executorOf(request) }
      const { lease_seconds } = request.body
      const hasWebhook = options.hasWebhook()
      await write((transaction) => claimDelivery(transaction, owners, claimer, id, lease_seconds, hasWebhook))
      return await deliveryDocument(db.tables(), id)
    },
  )
  app.post<ById & { Body: Static<typeof SettleBody> }>(
    '/deliveries/:id/settle',
    answered(DeliveryWithAttempts, { body: SettleBody }),
    async (request) => {
      const id = idOf(request.params.id)
      const actor = operatorActor(request)
      const settled = await withUniqueReference(() =>
        write((transaction) => reportSettled(transaction, owners, actor, id, request.body)),
      )
      if (settled === 'settled-late') options.metrics.lateSettles.inc()
      return await deliveryDocument(db.tables(), id)
    },
  )
  app.post<ById & { Body: Static<typeof FailBody> }>(
    '/deliveries/:id/fail',
    answered(DeliveryWithAttempts, { body: FailBody }),
    async (request) => {
      const id = idOf(request.params.id)
      const reporter = reporterOf(request)
      await write((transaction) => reportFailed(transaction, owners, reporter, id, request.body))
      return await deliveryDocument(db.tables(), id)
    },
  )
}

/** Machines have a role of their own, with which no person signs in. */
function isMachine({ role }: { readonly role: string }): boolean {
  return role === 'executor'
}

/** The name in which the caller claims: that of a machine's token, or that of a person. */
function executorOf(request: FastifyRequest): string {
  const operator: CallingOperator & { readonly token?: { readonly name: string } } = operatorOf(request)
  return isMachine(operator) && operator.token !== undefined ? operator.token.name : operator.name
}

function refuseOtherName(request: FastifyRequest, executor: string): void {
  const own = executorOf(request)
  if (!isMachine(operatorOf(request)) || executor === own) return
  throw invalidRequest([{ pointer: '/executor', detail: `must be ${own}, the name of the token` }])
}

/** A person's token reports for the executor that it claimed for; a session and a machine for the own name only. */
function reporterOf(request: FastifyRequest): Reporter {
  const operator = operatorOf(request)
  const [actor, executor] = [operatorActor(request), executorOf(request)]
  if (isMachine(operator)) return { actor, executor, mayDecide: false }
  return operator.via === 'session' ? { actor, executor, mayDecide: true } : { actor, mayDecide: true }
}

/** Of two concurrent reports of one reference for two deliveries, the second violates the unique constraint: 409. */
async function withUniqueReference<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StatementFailed && error.constraint === 'deliveries_reference') throw usedReference()
    throw error
  }
}
