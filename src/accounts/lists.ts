/**
 * Lists of accounts, a customer's own and the operator's over all customers. One filter selects an index in the order of the
 * list, and the other filters are checked on each account. The operator's filter `updated_at` without `customer_id` has no
 * index: accounts are then read in the order of the list until the page is full.
 */
import { isUuid } from '../base/ids.ts'
import type { ListQuery } from '../http/list-query.ts'
import type { TimeRange } from '../http/list-times.ts'
import type { Db, Kysely } from '../store/db.ts'
import {
  isEqual,
  isMadeWithin,
  isOwnedBy,
  type PageRecords,
  type PageRequest,
  recordsOf,
  recordsOfEach,
} from '../store/page.ts'
import { readTextPage, type TextPage } from '../store/page-text.ts'
import { type RawBuilder, sql } from '../store/sql.ts'
import { recordsByChange } from './account-changes.ts'
import type { AccountRow } from './documents.ts'
import { ACCOUNT_ITEM, REVIEWED_ACCOUNT_ITEM } from './list-items.ts'
import type { ACCOUNT_FILTERS, REVIEW_FILTERS } from './schemas.ts'
import { ACCOUNT_COLUMNS } from './store.ts'
import type { AccountTables } from './tables.ts'

type Filters = ListQuery<typeof REVIEW_FILTERS>['filters']

/** The expression of the index `accounts_by_summary_status`. */
const SUMMARY_STATUS = sql`(case when admin_disabled or user_disabled then 'DISABLED' else review_status end)`

/** A customer's accounts in pages; no filter can match an account of another customer. */
export async function listAccounts(
  db: Db,
  customerId: string,
  { filters, binding, ...paging }: ListQuery<typeof ACCOUNT_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<AccountTables>()
  const request = { ...paging, operation: 'listAccounts', owner: customerId, filters: binding, idType: 'uuid' } as const
  return await readTextPage(tables, recordsOfCustomer(tables, customerId, filters, request), ACCOUNT_ITEM, request)
}

/** Accounts of all customers in pages. */
export async function listAllAccounts(
  db: Db,
  { filters, binding, ...paging }: ListQuery<typeof REVIEW_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<AccountTables>()
  const request = { ...paging, operation: 'accounts', owner: 'operator', filters: binding, idType: 'uuid' } as const
  const { customer_id: customerId } = filters
  const records =
    customerId === undefined
      ? recordsOfAllCustomers(tables, filters, request)
      : recordsOfCustomer(tables, customerId, filters, request)
  return await readTextPage(tables, records, REVIEWED_ACCOUNT_ITEM, request)
}

function recordsOfCustomer(
  tables: Kysely<AccountTables>,
  customerId: string,
  filters: Omit<Filters, 'customer_id'>,
  request: PageRequest,
): PageRecords<AccountRow> {
  const { identity_id, created_at, updated_at, summary_status } = filters
  const all = tables.selectFrom('accounts').select(ACCOUNT_COLUMNS)
  // A text that is not one of our ids, compared byte by byte, matches nothing.
  if (!isUuid(customerId) || customerId !== customerId.toLowerCase()) {
    return recordsOf(all.where(sql<boolean>`false`), request)
  }
  if (updated_at !== undefined && summary_status === undefined) {
    const wanted = { customerId, identityId: identity_id, created: created_at, changed: updated_at }
    return recordsByChange(tables, wanted, (id) => all.where('id', '=', id), request)
  }
  let query = all.where(isOwnedBy(customerId))
  if (identity_id !== undefined) query = query.where('identity_id', '=', identity_id)
  if (created_at !== undefined) query = query.where(isMadeWithin(created_at))
  if (updated_at !== undefined) query = query.where(isChangedWithin(updated_at))
  if (summary_status !== undefined) query = query.where(isOneOf(summary_status))
  return recordsOf(query, { ...request, indexes: identity_id === undefined ? 'owner' : 'filter' })
}

function recordsOfAllCustomers(
  tables: Kysely<AccountTables>,
  { identity_id, created_at, updated_at, summary_status }: Filters,
  { ...paging }: PageRequest,
): PageRecords<AccountRow> {
  const request = { ...paging, indexes: 'all' } as const
  let query = tables.selectFrom('accounts').select(ACCOUNT_COLUMNS)
  if (created_at !== undefined) query = query.where(isMadeWithin(created_at))
  if (updated_at !== undefined) query = query.where(isChangedWithin(updated_at))
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

function isChangedWithin({ from = '-infinity', until = 'infinity', isEmpty }: TimeRange): RawBuilder<boolean> {
  if (isEmpty) return sql<boolean>`false`
  return sql<boolean>`updated_at between ${from}::timestamptz and ${until}::timestamptz`
}
