/**
 * Account lists: a customer's own, and the operator's over all customers. One filter selects an index, and the other
 * filters are checked on each account. A page with one customer's accounts examines a limited number of accounts, so it
 * may end early (`platform/store/filtered-list`). The operator's filter `updated_at` without `customer_id` has no
 * index, so accounts are then read in list order until the page is full.
 */
import { isUuid } from '../../platform/base/ids.ts'
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import type { Db, Kysely } from '../../platform/store/db.ts'
import { readFilteredPage } from '../../platform/store/filtered-list.ts'
import {
  isEqual,
  isMadeWithin,
  isOwnedBy,
  isWithin,
  type PageRecords,
  type PageRequest,
  recordsOf,
  recordsOfEach,
} from '../../platform/store/page.ts'
import type { ItemText } from '../../platform/store/page-text.ts'
import { readTextPage, type TextPage } from '../../platform/store/page-text.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { AccountRow } from './documents.ts'
import { ACCOUNT_ITEM, REVIEWED_ACCOUNT_ITEM } from './list-items.ts'
import type { ACCOUNT_FILTERS, REVIEW_FILTERS } from './schemas.ts'
import { ACCOUNT_COLUMNS } from './store.ts'
import type { AccountTables } from './tables.ts'

type Filters = ListQuery<typeof REVIEW_FILTERS>['filters']

/** The expression in the index `accounts_by_summary_status`. */
const SUMMARY_STATUS = sql`(case when admin_disabled or user_disabled then 'DISABLED' else review_status end)`

/** A customer's accounts in pages. No filter can match another customer's account. */
export async function listAccounts(
  db: Db,
  customerId: string,
  { filters, binding, ...paging }: ListQuery<typeof ACCOUNT_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<AccountTables>()
  const request = { ...paging, operation: 'listAccounts', owner: customerId, filters: binding, idType: 'uuid' } as const
  return await readCustomersPage(tables, customerId, filters, ACCOUNT_ITEM, request)
}

/** All customers' accounts in pages. */
export async function listAllAccounts(
  db: Db,
  { filters, binding, ...paging }: ListQuery<typeof REVIEW_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<AccountTables>()
  const request = { ...paging, operation: 'accounts', owner: 'operator', filters: binding, idType: 'uuid' } as const
  const { customer_id: customerId, ...ofAccounts } = filters
  if (customerId !== undefined) {
    return await readCustomersPage(tables, customerId, ofAccounts, REVIEWED_ACCOUNT_ITEM, request)
  }
  return await readTextPage(tables, recordsOfAllCustomers(tables, ofAccounts, request), REVIEWED_ACCOUNT_ITEM, request)
}

async function readCustomersPage(
  tables: Kysely<AccountTables>,
  customerId: string,
  { identity_id, created_at, updated_at, summary_status, ...left }: Omit<Filters, 'customer_id'>,
  item: ItemText,
  request: PageRequest,
): Promise<TextPage> {
  left satisfies AllApplied
  const all = tables.selectFrom('accounts').select(ACCOUNT_COLUMNS)
  // Ids are compared byte by byte, so any other text matches nothing.
  const isId = isUuid(customerId) && customerId === customerId.toLowerCase()
  const owned = all.where(isId ? isOwnedBy(customerId) : sql<boolean>`false`)
  const identities = identity_id === undefined ? undefined : [identity_id]
  return await readFilteredPage(tables, {
    query: created_at === undefined ? owned : owned.where(isMadeWithin(created_at)),
    filters: [
      { column: 'identity_id', type: 'text', values: identities, index: 'filter' },
      { column: 'summary_status', type: 'text', values: summary_status, expression: SUMMARY_STATUS },
    ],
    range:
      updated_at === undefined ? undefined : { column: 'updated_at', range: updated_at, owned, created: created_at },
    item,
    request,
  })
}

function recordsOfAllCustomers(
  tables: Kysely<AccountTables>,
  { identity_id, created_at, updated_at, summary_status, ...left }: Omit<Filters, 'customer_id'>,
  { ...paging }: PageRequest,
): PageRecords<AccountRow> {
  left satisfies AllApplied
  const request = { ...paging, indexes: 'all' } as const
  let query = tables.selectFrom('accounts').select(ACCOUNT_COLUMNS)
  if (created_at !== undefined) query = query.where(isMadeWithin(created_at))
  if (updated_at !== undefined) query = query.where(isWithin('updated_at', updated_at))
  if (identity_id !== undefined) {
    query = query.where(isEqual('identity_id', identity_id, 'text'))
    return recordsOf(summary_status === undefined ? query : query.where(isOneOf(summary_status)), request)
  }
  if (summary_status === undefined) return recordsOf(query, request)
  const statuses = [{ values: summary_status, type: 'text', namesOne: false }] as const
  return recordsOfEach(statuses, (status) => query.where(sql<boolean>`${SUMMARY_STATUS} = ${status}`), request)
}

function isOneOf(statuses: readonly string[]): RawBuilder<boolean> {
  return sql<boolean>`${SUMMARY_STATUS} = any (${[...statuses]}::text[])`
}
