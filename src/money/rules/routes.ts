/** The customer's operations on rules. The guard authenticates the caller and checks its scopes. */
import type { FastifyInstance } from 'fastify'
import { actorOf, callerOf, type Guard } from '../../access/clients/guard.ts'
import type { Conversions } from '../../contract/assets.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { invalidRequest } from '../../platform/http/problem.ts'
import { WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import type { AddressSupply } from '../deposit-instructions/allocation.ts'
import type { DestinationPolicy } from '../destinations/standing.ts'
import { NewRule, type RequestedRule, RULE_FILTERS, Rule, RuleAnswer, RuleList, withNetworkNames } from './schemas.ts'
import { createRule, deleteRule } from './service.ts'
import { getRule, listRules, noRule, type RuleTables, ruleDocument } from './store.ts'
import { termsFaults } from './terms.ts'

/** The current settings, read for every request. */
export interface RuleSettings {
  readonly terms: Conversions
  /** The setting `rules.approval`. */
  readonly needsApproval: boolean
  readonly destinations: DestinationPolicy
  /** The setting `rest.rules_field`. */
  readonly hasRulesField: boolean
}

export interface RuleRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  readonly supply: AddressSupply
  readonly settings: () => RuleSettings
}

/** Declares the routes, with the paths from the operation table. */
export function registerRuleRoutes(app: FastifyInstance, { db, guard, supply, settings }: RuleRoutesOptions): void {
  app.route<{ Body: RequestedRule }>({
    ...guard('createRule'),
    schema: { body: NewRule, response: { 200: RuleAnswer } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { terms, needsApproval, destinations } = settings()
      const body = withNetworkNames(request.body)
      const [first, ...rest] = termsFaults(body, terms)
      if (first !== undefined) throw invalidRequest([first, ...rest])
      const caller = callerOf(request)
      const writer = { customerId: caller.customerId, actor: actorOf(caller) }
      const status = needsApproval ? 'PENDING' : 'ACTIVE'
      const row = await db.transaction((transaction: Transaction<RuleTables>) =>
        createRule(transaction, supply, writer, body, { status, destinations }),
      )
      return { rule: ruleDocument(row, supply.banks()) }
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('deleteRule'),
    schema: { response: { 200: RuleAnswer } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const caller = callerOf(request)
      const { id } = request.params
      if (!isUuid(id)) noRule()
      const row = await db.transaction((transaction: Transaction<RuleTables>) =>
        deleteRule(transaction, actorOf(caller), id.toLowerCase(), caller.customerId),
      )
      return { rule: ruleDocument(row, supply.banks()) }
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getRule'),
    schema: { response: { 200: Rule } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = request.params.id.toLowerCase()
      const row = isUuid(id) ? await getRule(db, id, callerOf(request).customerId) : undefined
      return ruleDocument(row ?? noRule(), supply.banks())
    },
  })
  app.route<{ Querystring: ListQuery<typeof RULE_FILTERS> }>({
    ...guard('listRules'),
    ...readsListQuery(RULE_FILTERS),
    schema: { querystring: listQuerySchema(RULE_FILTERS), response: { 200: RuleList } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { hasRulesField } = settings()
      const { customerId } = callerOf(request)
      const copies = hasRulesField ? 2 : 1
      const page = pageDocument(await listRules(db, customerId, request.query, supply.banks(), copies))
      return hasRulesField ? { rules: page.items, ...page } : page
    },
  })
}
