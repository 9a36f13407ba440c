/**
 * The operator's calls for accounts and profiles: reviews over all customers, review notes, profiles without an
 * account, and each customer's quota usage. The operator guard runs before them.
 */
import type { FastifyInstance } from 'fastify'
import type { Static } from 'typebox'
import { getCustomer } from '../../access/clients/customers.ts'
import { idOf, operatorActor, requireSeen } from '../../access/clients/operator-calls.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { PageQuery, pageDocument, readPageQuery } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { reviewedAccountDocument } from './documents.ts'
import { listAllAccounts } from './lists.ts'
import { ensureProfile, listProfiles } from './profiles.ts'
import type { Quotas } from './quotas.ts'
import { registerNoteRoutes } from './review-notes.ts'
import {
  CustomerProfile,
  CustomerProfilePage,
  NewProfileBody,
  QuotaAnswer,
  REVIEW_FILTERS,
  ReviewBody,
  ReviewedAccount,
  ReviewedAccountPage,
} from './schemas.ts'
import { getAccount, lockAccount, reviewAccount } from './store.ts'
import type { AccountTables } from './tables.ts'

interface ById {
  readonly Params: { readonly id: string }
}
interface Listed {
  readonly Querystring: Static<typeof PageQuery>
}

/** Resume what waited for a profile's account, in the transaction that approves it, around the account's lock. */
export interface ApprovalHooks {
  before<Tables>(transaction: Transaction<Tables>, ownerId: string): Promise<void>
  after<Tables>(transaction: Transaction<Tables>, ownerId: string): Promise<void>
}

export interface AccountOperatorOptions {
  readonly db: Db
  readonly quotas: Quotas
  readonly onApproval: ApprovalHooks
}

/** Declares the routes, relative to the prefix of `app`. */
export function registerAccountOperatorRoutes(
  app: FastifyInstance,
  { db, quotas, onApproval }: AccountOperatorOptions,
): void {
  app.get<{ Querystring: ListQuery<typeof REVIEW_FILTERS> }>(
    '/accounts',
    {
      ...readsListQuery(REVIEW_FILTERS),
      ...answered(ReviewedAccountPage, { querystring: listQuerySchema(REVIEW_FILTERS) }),
    },
    async ({ query }) => pageDocument(await listAllAccounts(db, query)),
  )
  app.get<ById>('/accounts/:id', answered(ReviewedAccount), async (request) => {
    const row = await getAccount(db, idOf(request.params.id))
    return reviewedAccountDocument(row ?? noAccount())
  })
  app.patch<ById & { Body: Static<typeof ReviewBody> }>(
    '/accounts/:id',
    answered(ReviewedAccount, { body: ReviewBody }),
    async (request) => {
      const id = idOf(request.params.id)
      const isApproval = request.body.summary_status === 'APPROVED'
      const approved = isApproval ? (await getAccount(db, id))?.profile_id : undefined
      const row = await db.transaction(async (transaction: Transaction<AccountTables>) => {
        if (approved) await onApproval.before(transaction, approved)
        await requireSeen(request, async () =>
          reviewedAccountDocument((await lockAccount(transaction, id)) ?? noAccount()),
        )
        const reviewed = await reviewAccount(transaction, operatorActor(request), id, request.body)
        if (approved) await onApproval.after(transaction, approved)
        return reviewed
      })
      return reviewedAccountDocument(row ?? noAccount())
    },
  )
  registerNoteRoutes(app, db, 'account')
  app.post<ById & { Body: Static<typeof NewProfileBody> }>(
    '/customers/:id/profiles',
    answered(CustomerProfile, { body: NewProfileBody }),
    async (request) => {
      const { id: customerId } = await getCustomer(db, idOf(request.params.id))
      return await db.transaction(async (transaction: Transaction<AccountTables>) => {
        const { profile, isNew } = await ensureProfile(
          transaction,
          operatorActor(request),
          customerId,
          request.body.nickname,
        )
        if (isNew) return profile
        throw new Problem('already_exists', 'nickname: the customer has a profile with this nickname', {
          meta: { existing: profile },
        })
      })
    },
  )
  app.get<ById & Listed>(
    '/customers/:id/profiles',
    answered(CustomerProfilePage, { querystring: PageQuery }),
    async (request) => {
      const { id: customerId } = await getCustomer(db, idOf(request.params.id))
      return await listProfiles(db, customerId, readPageQuery(request.query))
    },
  )
  app.get<ById>('/customers/:id/quotas', answered(QuotaAnswer), async (request) => {
    const { id: customerId } = await getCustomer(db, idOf(request.params.id))
    return await quotas.read(db, customerId)
  })
}

function noAccount(): never {
  throw new Problem('not_found', 'there is no account with this id')
}
