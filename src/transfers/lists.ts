/**
 * A customer's transfers: in pages, and one alone. A filter leads to an index in the order of the list, the first of
 * those below that is given; what it finds is held to the other filters.
 */
import { isUuid } from '../base/ids.ts'
import type { ListQuery } from '../http/list-query.ts'
import type { Db, Kysely } from '../store/db.ts'
import {
  isMadeWithin,
  isOwnedBy,
  type PageRecords,
  type PageRequest,
  recordsOf,
  recordsOfEach,
  type WantedValues,
} from '../store/page.ts'
import { readItemText, readTextPage, type TextPage } from '../store/page-text.ts'
import { sql } from '../store/sql.ts'
import { TRANSFER_ITEM } from './list-items.ts'
import type { TRANSFER_FILTERS } from './schemas.ts'
import type { TransferTables } from './tables.ts'

type Filters = ListQuery<typeof TRANSFER_FILTERS>['filters']

interface ColumnFilter extends WantedValues {
  readonly column: 'id' | 'group_id' | 'profile_id' | 'asset' | 'type' | 'status'
}

/** The JSON text of one transfer of a customer; undefined when it has none with this id. */
export async function getTransfer(db: Db, customerId: string, id: string): Promise<string | undefined> {
  const tables = db.tables<TransferTables>()
  const query = tables.selectFrom('transfers').selectAll().where('id', '=', id).where('customer_id', '=', customerId)
  return await readItemText(tables, query, TRANSFER_ITEM)
}

/** A customer's transfers in pages; the items are those of `getTransfer`. */
export async function listTransfers(
  db: Db,
  customerId: string,
  { filters, binding, ...paging }: ListQuery<typeof TRANSFER_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<TransferTables>()
  const request = {
    ...paging,
    operation: 'listTransfers',
    owner: customerId,
    filters: binding,
    idType: 'uuid',
  } as const
  return await readTextPage(tables, recordsMatching(tables, customerId, filters, request), TRANSFER_ITEM, request)
}

function recordsMatching(
  tables: Kysely<TransferTables>,
  customerId: string,
  filters: Filters,
  request: PageRequest,
): PageRecords<unknown> {
  const all = tables.selectFrom('transfers').selectAll().where(isOwnedBy(customerId))
  const [driver, ...others] = columnFilters(filters)
  let query = filters.created_at === undefined ? all : all.where(isMadeWithin(filters.created_at))
  for (const { column, type, values } of others) {
    query = query.where(sql<boolean>`${sql.ref(column)} = any (${[...values]}::${sql.raw(type)}[])`)
  }
  if (driver === undefined) return recordsOf(query, request)
  return recordsOfEach([driver], (value) => query.where(sql<boolean>`${sql.ref(driver.column)} = ${value}`), {
    ...request,
    indexes: 'filter',
  })
}

/** In the order in which they are best to find records by. */
function columnFilters({ ids, group_id, profile_id, asset, type, status }: Filters): readonly ColumnFilter[] {
  const given: readonly (readonly [ColumnFilter['column'], ColumnFilter['type'], readonly string[] | undefined])[] = [
    ['id', 'uuid', ids],
    ['group_id', 'uuid', group_id],
    ['profile_id', 'uuid', profile_id],
    ['status', 'text', status],
    ['type', 'text', type],
    ['asset', 'text', asset],
  ]
  return given.flatMap(([column, type, values]) => {
    if (values === undefined) return []
    // Text that is no id of ours, byte by byte, matches nothing.
    const possible = type === 'text' ? values : values.filter((value) => isUuid(value) && value === value.toLowerCase())
    return [{ column, type, values: [...new Set(possible)], namesOne: column === 'id' }]
  })
}
