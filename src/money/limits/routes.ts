/** The public list of a customer's limits, and the operator's calls to show and replace them. */
import type { FastifyInstance } from 'fastify'
import type { Static } from 'typebox'
import { callerOf, type Guard } from '../../access/clients/guard.ts'
import { operatorActor, requireSeen } from '../../access/clients/operator-calls.ts'
import type { Asset } from '../../contract/assets.ts'
import { IGNORES_PARAMETERS } from '../../platform/http/list-query.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { customerLimits, knownCustomer, lockOwnLimits, readLimits, replaceLimits } from './documents.ts'
import type { LimitSettings } from './gate.ts'
import { CustomerLimits, LimitsBody, LimitsQuery, LimitUses } from './schemas.ts'

export interface LimitRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  /** The current settings. */
  settings(): LimitSettings
}

export interface LimitOperatorRoutesOptions extends Omit<LimitRoutesOptions, 'guard'> {
  /** The current assets. */
  assets(): readonly Asset[]
  /** Makes due whatever waits for the customer's limits, in the same transaction as the change. */
  wake(transaction: Transaction<unknown>, customerIds: readonly string[]): Promise<void>
}

/** Declares the route, with the path from the operations table. */
export function registerLimitRoutes(app: FastifyInstance, { db, guard, settings }: LimitRoutesOptions): void {
  app.route({
    ...guard('listLimits'),
    ...IGNORES_PARAMETERS,
    schema: { response: { 200: LimitUses } },
    async handler(request) {
      const { use } = await customerLimits(db.tables(), callerOf(request).customerId, settings().limits)
      return { items: use }
    },
  })
}

/** Declares the routes, relative to the prefix of `app`. */
export function registerLimitOperatorRoutes(app: FastifyInstance, options: LimitOperatorRoutesOptions): void {
  const { db, settings, assets, wake } = options
  app.get<{ Querystring: Static<typeof LimitsQuery> }>(
    '/limits',
    answered(CustomerLimits, { querystring: LimitsQuery }),
    async ({ query }) => {
      const id = await knownCustomer(db.tables(), query.customer_id, { parameter: 'customer_id' })
      return await customerLimits(db.tables(), id, settings().limits)
    },
  )
  app.put<{ Body: Static<typeof LimitsBody> }>('/limits', answered(CustomerLimits, { body: LimitsBody }), (request) => {
    const limits = readLimits(request.body.limits, assets())
    const { limits: defaults } = settings()
    return transactionWithRetries(db, async (transaction: Transaction<unknown>) => {
      const id = await knownCustomer(transaction, request.body.customer_id, { pointer: '/customer_id' })
      await lockOwnLimits(transaction, id)
      const before = await customerLimits(transaction, id, defaults)
      await requireSeen(request, async () => before)
      const after = await replaceLimits(transaction, operatorActor(request), before, limits, defaults, assets())
      await wake(transaction, [id])
      return after
    })
  })
}
