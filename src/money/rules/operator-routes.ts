/**
 * The operator's calls for all customers' rules: list, approve, reject, delete, and notes about them. The operator
 * guard runs first.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { idOf, operatorActor, requireSeen } from '../../access/clients/operator-calls.ts'
import { PageQuery, pageDocument, readPageQuery } from '../../platform/http/page-query.ts'
import { answered } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { registerNoteRoutes } from '../accounts/review-notes.ts'
import type { AddressSupply } from '../deposit-instructions/allocation.ts'
import { type OperatorRuleDocument, RULE_STATUSES } from './model.ts'
import { OperatorRule, OperatorRulePage, RejectBody } from './schemas.ts'
import { approveRule, deleteRule, rejectRule } from './service.ts'
import {
  getRule,
  listAllRules,
  lockRule,
  noRule,
  operatorRuleDocument,
  type RuleRow,
  type RuleTables,
} from './store.ts'

export interface RuleOperatorRoutesOptions {
  readonly db: Db
  readonly supply: AddressSupply
}

interface ById {
  readonly Params: { readonly id: string }
}

const RulesQuery = Type.Object({ ...PageQuery.properties, status: Type.Optional(textChoice(RULE_STATUSES)) })
const Nothing = Type.Object({}, { additionalProperties: false })

/** Declares the routes, relative to the prefix of `app`. */
export function registerRuleOperatorRoutes(app: FastifyInstance, { db, supply }: RuleOperatorRoutesOptions): void {
  const shown = (row: RuleRow) => operatorRuleDocument(row, supply.banks())
  const write = async (
    work: (transaction: Transaction<RuleTables>) => Promise<RuleRow>,
  ): Promise<OperatorRuleDocument> => shown(await db.transaction(work))
  app.get<{ Querystring: Static<typeof RulesQuery> }>(
    '/rules',
    answered(OperatorRulePage, { querystring: RulesQuery }),
    async ({ query }) => pageDocument(await listAllRules(db, readPageQuery(query), query.status, supply.banks())),
  )
  app.get<ById>('/rules/:id', answered(OperatorRule), async ({ params }) =>
    shown((await getRule(db, idOf(params.id))) ?? noRule()),
  )
  app.post<ById>('/rules/:id/approve', answered(OperatorRule, { body: Nothing }), (request) =>
    write(async (transaction) => {
      const id = idOf(request.params.id)
      await requireSeen(request, async () => shown((await lockRule(transaction, id)) ?? noRule()))
      return await approveRule(transaction, supply, operatorActor(request), id)
    }),
  )
  app.post<ById & { Body: Static<typeof RejectBody> }>(
    '/rules/:id/reject',
    answered(OperatorRule, { body: RejectBody }),
    (request) =>
      write((transaction) =>
        rejectRule(transaction, operatorActor(request), idOf(request.params.id), request.body.reason),
      ),
  )
  app.post<ById>('/rules/:id/delete', answered(OperatorRule, { body: Nothing }), (request) =>
    write((transaction) => deleteRule(transaction, operatorActor(request), idOf(request.params.id))),
  )
  registerNoteRoutes(app, db, 'rule')
}
