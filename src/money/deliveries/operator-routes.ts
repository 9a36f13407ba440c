/** The delivery calls for the operator and the operator's executors. The operator guard runs before them. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { idOf, operatorActor, operatorOf, requireSeen } from '../../access/clients/operator-calls.ts'
import { isMachineRole } from '../../contract/operator-calls.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { pageDocument, readPageQuery } from '../../platform/http/page-query.ts'
import { answered, RawJson } from '../../platform/http/raw-json.ts'
import { type Db, StatementFailed, type Transaction } from '../../platform/store/db.ts'
import { DueSearch } from '../../platform/store/due-search.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { partiesFormFor } from '../screening/parties.ts'
import { executorName, refuseForeignDelivery, refuseForeignName } from './machine-limits.ts'
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
import { deliveryDocument, listDeliveries, lockDelivery } from './store.ts'
import type { DeliveryTables } from './tables.ts'
import type { Reporter } from './unknown-attempts.ts'

export interface DeliveryOperatorRoutesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly owners: DeliveryOwners
  /** Whether deliveries are sent to `deliveries.webhook_url`. If so, only deliveries claimed earlier can be claimed. */
  readonly hasWebhook: () => boolean
  readonly metrics: DeliveryMetrics
  /** Decrypts the payments’ parties. Absent: none can be read. */
  readonly encryptionKey?: EncryptionKey | undefined
}

interface ById {
  readonly Params: { readonly id: string }
}

/** Declares the routes, relative to the prefix of `app`. */
export function registerDeliveryOperatorRoutes(app: FastifyInstance, options: DeliveryOperatorRoutesOptions): void {
  const { db, owners, encryptionKey } = options
  const search = new DueSearch(options.clock)
  const write = <Result>(work: (transaction: Transaction<DeliveryTables>) => Promise<Result>) =>
    transactionWithRetries(db, work)
  app.get<{ Querystring: Static<typeof DeliveriesQuery> }>(
    '/deliveries',
    answered(DeliveryPage, { querystring: DeliveriesQuery }),
    async ({ query }) => pageDocument(await listDeliveries(db, readPageQuery(query), query)),
  )
  app.get<ById>('/deliveries/:id', answered(DeliveryWithAttempts), (request) =>
    deliveryDocument(db.tables(), idOf(request.params.id), encryptionKey, partiesFormFor(request)),
  )
  app.post<{ Body: Static<typeof ClaimBody> }>(
    '/deliveries/claim',
    answered(Claimed, { body: ClaimBody }),
    async (request) => {
      const actor = operatorActor(request)
      const hasWebhook = options.hasWebhook()
      const operator = operatorOf(request)
      refuseForeignName(operator, request.body.executor)
      const wanted = { ...request.body, assets: operator.token?.assets ?? null }
      // The shared search skips deliveries left by an earlier claim, but they may be in this claim's assets.
      const own = wanted.assets === null ? search : new DueSearch(options.clock)
      const claimed = await own.claim((isRecent) =>
        write((transaction) =>
          claimDeliveries(transaction, owners, actor, wanted, hasWebhook, isRecent, encryptionKey),
        ),
      )
      return { items: claimed.map(({ text }) => new RawJson(text)) }
    },
  )
  app.post<ById & { Body: Static<typeof ClaimOneBody> }>(
    '/deliveries/:id/claim',
    answered(DeliveryWithAttempts, { body: ClaimOneBody }),
    async (request) => {
      const id = idOf(request.params.id)
      const claimer = { actor: operatorActor(request), executor: executorName(operatorOf(request)) }
      const { lease_seconds } = request.body
      const hasWebhook = options.hasWebhook()
      return await write(async (transaction) => {
        await refuseForeignDelivery(transaction, operatorOf(request), id)
        await claimDelivery(transaction, owners, claimer, id, lease_seconds, hasWebhook)
        // Nothing is claimed when the parties cannot go with it.
        return await deliveryDocument(transaction, id, encryptionKey, 'sent')
      })
    },
  )
  registerReports(app, options, write)
}

type Write = <Result>(work: (transaction: Transaction<DeliveryTables>) => Promise<Result>) => Promise<Result>

/** The calls that report results. */
function registerReports(
  app: FastifyInstance,
  { db, owners, metrics, encryptionKey }: DeliveryOperatorRoutesOptions,
  write: Write,
): void {
  app.post<ById & { Body: Static<typeof SettleBody> }>(
    '/deliveries/:id/settle',
    answered(DeliveryWithAttempts, { body: SettleBody }),
    async (request) => {
      const id = idOf(request.params.id)
      const actor = operatorActor(request)
      const settled = await withUniqueReference(() =>
        write(async (transaction) => {
          await requireSeen(request, () => lockedDocument(transaction, id, encryptionKey))
          await refuseForeignDelivery(transaction, operatorOf(request), id, request.body.attempt)
          return await reportSettled(transaction, owners, actor, id, request.body)
        }),
      )
      if (settled === 'settled-late') metrics.lateSettles.inc()
      return await deliveryDocument(db.tables(), id, encryptionKey)
    },
  )
  app.post<ById & { Body: Static<typeof FailBody> }>(
    '/deliveries/:id/fail',
    answered(DeliveryWithAttempts, { body: FailBody }),
    async (request) => {
      const id = idOf(request.params.id)
      const reporter = reporterOf(request)
      await write(async (transaction) => {
        await requireSeen(request, () => lockedDocument(transaction, id, encryptionKey))
        await refuseForeignDelivery(transaction, operatorOf(request), id)
        await reportFailed(transaction, owners, reporter, id, request.body)
      })
      return await deliveryDocument(db.tables(), id, encryptionKey)
    },
  )
}

async function lockedDocument(
  transaction: Transaction<DeliveryTables>,
  id: string,
  encryptionKey: EncryptionKey | undefined,
): Promise<RawJson> {
  await lockDelivery(transaction, id)
  return await deliveryDocument(transaction, id, encryptionKey, 'kept')
}

/**
 * A machine reports for itself. Any other token reports for the executor for which it claimed. A person with a session
 * reports only claims under the person's own name.
 */
function reporterOf(request: FastifyRequest): Reporter {
  const operator = operatorOf(request)
  const { name, via, role } = operator
  const actor = operatorActor(request)
  if (isMachineRole(role)) return { actor, executor: executorName(operator), mayDecide: false }
  return via === 'session' ? { actor, executor: name, mayDecide: true } : { actor, mayDecide: true }
}

/**
 * When two concurrent reports give two deliveries the same reference, the second violates the unique constraint: 409.
 */
async function withUniqueReference<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StatementFailed && error.constraint === 'deliveries_reference') throw usedReference()
    throw error
  }
}
