/**
 * Reads and writes rule rows, singly and in lists, and converts them to documents. `model` and `service` decide state
 * transitions. This file only stores their results.
 */
import { type BankInstructions, bankFor } from '../../contract/bank-details.ts'
import { isUuid } from '../../platform/base/ids.ts'
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import {
  isEqual,
  isOwnedBy,
  PAGE_BYTES_MAX,
  type PageOrder,
  type PageRecords,
  type PageRequest,
  recordsOf,
  recordsOfEach,
} from '../../platform/store/page.ts'
import { readTextPage, type TextPage } from '../../platform/store/page-text.ts'
import { sql } from '../../platform/store/sql.ts'
import { operatorRuleItem, ruleItem } from './list-items.ts'
import {
  DESTINATION_FORMS,
  inOrder,
  type OperatorRuleDocument,
  type RuleDestination,
  type RuleDocument,
  type RuleSource,
  type RuleStatus,
  SOURCE_FORMS,
} from './model.ts'
import type { RULE_FILTERS } from './schemas.ts'

interface RulesTable {
  id: string
  customer_id: string
  ref_id: string
  nickname: string | null
  profile_id: string
  account_id: string | null
  identity_id: string | null
  status: RuleStatus
  source_asset: string
  destination_asset: string
  source: RuleSource
  destination: RuleDestination
  deposit_address_id: string | null
  fiat_instructions_id: string | null
  reject_reason: string | null
  created_at: string
}

/** This module's tables for the query builder. The migration `rules` defines them. */
export interface RuleTables {
  rules: RulesTable
}

export type RuleRow = Omit<RulesTable, 'deposit_address_id' | 'fiat_instructions_id'>

/** A rule's source with its deposit instructions. */
export interface InstructedSource {
  readonly source: RuleSource
  readonly depositAddressId: string | null
  readonly fiatInstructionsId: string | null
}

const COLUMNS = [
  'id',
  'customer_id',
  'ref_id',
  'nickname',
  'profile_id',
  'account_id',
  'identity_id',
  'status',
  'source_asset',
  'destination_asset',
  'source',
  'destination',
  'reject_reason',
  'created_at',
] as const satisfies readonly (keyof RuleRow)[]

export async function insertRule(
  transaction: Transaction<RuleTables>,
  rule: Omit<RuleRow, 'source' | 'reject_reason'>,
  { source, depositAddressId, fiatInstructionsId }: InstructedSource,
): Promise<RuleRow> {
  const made = { source, deposit_address_id: depositAddressId, fiat_instructions_id: fiatInstructionsId }
  return await transaction
    .insertInto('rules')
    .values({ ...rule, ...made, reject_reason: null })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** The rule with this `ref_id`. A `ref_id` is never free again. */
export async function ruleWithRefId(
  transaction: Transaction<RuleTables>,
  customerId: string,
  refId: string,
): Promise<RuleRow | undefined> {
  return await transaction
    .selectFrom('rules')
    .select(COLUMNS)
    .where('customer_id', '=', customerId)
    .where('ref_id', '=', refId)
    .executeTakeFirst()
}

/** A rule of the given customer, or of any customer. */
export async function getRule(db: Db, id: string, customerId?: string): Promise<RuleRow | undefined> {
  const query = db.tables<RuleTables>().selectFrom('rules').select(COLUMNS).where('id', '=', id)
  return await (customerId === undefined ? query : query.where('customer_id', '=', customerId)).executeTakeFirst()
}

/** Locks a rule of the given customer, or of any customer, until the transaction ends. */
export async function lockRule(
  transaction: Transaction<RuleTables>,
  id: string,
  customerId?: string,
): Promise<RuleRow | undefined> {
  const all = transaction.selectFrom('rules').select(COLUMNS).where('id', '=', id)
  const query = all.modifyEnd(forUpdate(transaction, 'rule', [id]))
  return await (customerId === undefined ? query : query.where('customer_id', '=', customerId)).executeTakeFirst()
}

/** Stores a locked rule's state transition. */
export async function setStatus(
  transaction: Transaction<RuleTables>,
  id: string,
  changes: { readonly status: RuleStatus; readonly rejectReason?: string; readonly instructed?: InstructedSource },
): Promise<RuleRow> {
  const { status, rejectReason = null, instructed } = changes
  return await transaction
    .updateTable('rules')
    .set({
      status,
      reject_reason: rejectReason,
      ...(instructed === undefined
        ? {}
        : {
            source: instructed.source,
            deposit_address_id: instructed.depositAddressId,
            fiat_instructions_id: instructed.fiatInstructionsId,
          }),
    })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/**
 * One page of a customer's rules. No filter can match another customer's rule.
 * @param banks the setting `banking.instructions`, shown with memos
 * @param copies how often the answer contains each item, which divides the page size
 */
export async function listRules(
  db: Db,
  customerId: string,
  { filters, ...paging }: ListQuery<typeof RULE_FILTERS>,
  banks: BankInstructions,
  copies: number,
): Promise<TextPage> {
  const request = {
    ...paging,
    operation: 'listRules',
    owner: customerId,
    filters: paging.binding,
    idType: 'uuid',
  } as const
  const tables = db.tables<RuleTables>()
  const records = rulesOf(tables, customerId, filters, request)
  return await readTextPage(tables, records, ruleItem(banks), request, PAGE_BYTES_MAX / copies)
}

function rulesOf(
  tables: Kysely<RuleTables>,
  customerId: string,
  filters: ListQuery<typeof RULE_FILTERS>['filters'],
  request: PageRequest,
): PageRecords<RuleRow> {
  const { ids, status: statuses, profile_id, source_asset, destination_asset, ...left } = filters
  left satisfies AllApplied
  const query = matchingRules(tables, customerId, { profile_id, source_asset, destination_asset })
  const hasOther = [profile_id, source_asset, destination_asset].some((value) => value !== undefined)
  if (statuses !== undefined && ids === undefined && !hasOther) {
    return recordsOfEach(
      [{ values: statuses, type: 'text', namesOne: false }],
      (status) => query.where(sql<boolean>`status = ${status}`),
      { ...request, indexes: 'filter' },
    )
  }
  // Beside another filter, the status is checked on the rules found by that filter.
  const matching = statuses === undefined ? query : query.where('status', 'in', statuses)
  if (ids !== undefined) {
    return recordsOfEach(
      [{ values: ids, type: 'uuid', namesOne: true }],
      (id) => matching.where(sql<boolean>`id = ${id}`),
      request,
    )
  }
  return recordsOf(matching, { ...request, indexes: hasOther ? 'filter' : 'owner' })
}

type ColumnFilter = 'profile_id' | 'source_asset' | 'destination_asset'

function matchingRules(
  tables: Kysely<RuleTables>,
  customerId: string,
  { profile_id, source_asset, destination_asset }: Readonly<Record<ColumnFilter, string | undefined>>,
) {
  let query = tables.selectFrom('rules').select(COLUMNS).where(isOwnedBy(customerId))
  if (profile_id !== undefined) {
    // Ids are compared byte by byte, so a text that is not one of our ids matches nothing.
    const isPossible = isUuid(profile_id) && profile_id === profile_id.toLowerCase()
    query = isPossible ? query.where(isEqual('profile_id', profile_id, 'uuid')) : query.where(sql<boolean>`false`)
  }
  if (source_asset !== undefined) query = query.where(isEqual('source_asset', source_asset, 'text'))
  if (destination_asset !== undefined) query = query.where(isEqual('destination_asset', destination_asset, 'text'))
  return query
}

/** All customers' rules, for the operator. */
export async function listAllRules(
  db: Db,
  request: { readonly limit: number; readonly order: PageOrder; readonly pageCursor?: string },
  status: RuleStatus | undefined,
  banks: BankInstructions,
): Promise<TextPage> {
  const tables = db.tables<RuleTables>()
  const all = tables.selectFrom('rules').select(COLUMNS)
  const query = status === undefined ? all : all.where('status', '=', status)
  const binding = { operation: 'rules', owner: 'operator', filters: { status } }
  const list = { ...request, ...binding, idType: 'uuid', indexes: 'all' } as const
  return await readTextPage(tables, recordsOf(query, list), operatorRuleItem(banks), list)
}

/** @param banks the setting `banking.instructions`, shown with a memo */
export function ruleDocument(row: RuleRow, banks: BankInstructions): RuleDocument {
  const { nickname, identity_id, account_id, reject_reason } = row
  return {
    id: row.id,
    ref_id: row.ref_id,
    ...(nickname === null ? {} : { nickname }),
    profile_id: row.profile_id,
    ...(identity_id === null ? {} : { identity_id }),
    ...(account_id === null ? {} : { account_id }),
    status: row.status,
    ...(reject_reason === null ? {} : { reject_reason }),
    source_asset: row.source_asset,
    destination_asset: row.destination_asset,
    source: withBank(inOrder(row.source, SOURCE_FORMS), banks),
    destination: inOrder(row.destination, DESTINATION_FORMS),
    created_at: row.created_at,
  }
}

function withBank(source: RuleSource, banks: BankInstructions): RuleDocument['source'] {
  if (!('fiat' in source) || source.fiat.memo_id === undefined) return source
  const bank = bankFor(banks, source.fiat)
  return bank === undefined ? source : { fiat: { ...source.fiat, bank } }
}

export function operatorRuleDocument(row: RuleRow, banks: BankInstructions): OperatorRuleDocument {
  return { ...ruleDocument(row, banks), customer_id: row.customer_id }
}

export function noRule(): never {
  throw new Problem('not_found', 'there is no rule with this id')
}
