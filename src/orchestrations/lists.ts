/**
 * Orchestrations as they are read: one alone, and lists in pages. A filter leads to an index in the order of the list, the
 * first of those below that is given; what it finds is held to the other filters.
 */
import { isUuid } from '../base/ids.ts'
import type { ListQuery } from '../http/list-query.ts'
import type { Db, Kysely } from '../store/db.ts'
import {
  isMadeWithin,
  isOwnedBy,
  PAGE_BYTES_MAX,
  type PageRecords,
  type PageRequest,
  recordsOf,
  recordsOfEach,
  type WantedValues,
} from '../store/page.ts'
import { readItemText, readTextPage, type TextPage } from '../store/page-text.ts'
import { type RawBuilder, type SelectQueryBuilder, sql } from '../store/sql.ts'
import { OPERATOR_ORCHESTRATION_ITEM, ORCHESTRATION_ITEM } from './list-items.ts'
import type { OPERATOR_ORCHESTRATION_FILTERS, ORCHESTRATION_FILTERS } from './schemas.ts'
import type { OrchestrationTables } from './tables.ts'

interface ColumnFilter extends WantedValues {
  readonly column: string
}

/** Where the owner of a value is found, for lists over all customers: the indexes begin with the customer. */
const OWNER_TABLES: Readonly<Record<string, string>> = { profile_id: 'profiles', rule_id: 'rules' }

/** The list shows its items as `items` and as `orchestrations`. */
const COPIES = 2

/** The JSON text of one orchestration of a customer; undefined when it has none with this id. */
export async function getOrchestration<Tables>(
  tables: Kysely<Tables>,
  customerId: string,
  found: { readonly id: string } | { readonly refId: string },
): Promise<string | undefined> {
  const ours = tables as unknown as Kysely<OrchestrationTables>
  const all = ours.selectFrom('orchestrations').selectAll().where('customer_id', '=', customerId)
  const query = 'id' in found ? all.where('id', '=', found.id) : all.where('ref_id', '=', found.refId)
  return await readItemText(ours, query, ORCHESTRATION_ITEM)
}

/** The orchestration of any customer, as the operator sees it. */
export async function getAnyOrchestration<Tables>(tables: Kysely<Tables>, id: string): Promise<string | undefined> {
  const ours = tables as unknown as Kysely<OrchestrationTables>
  const query = ours.selectFrom('orchestrations').selectAll().where('id', '=', id)
  return await readItemText(ours, query, OPERATOR_ORCHESTRATION_ITEM)
}

/** A customer's orchestrations in pages; the items are those of `getOrchestration`. */
export async function listOrchestrations(
  db: Db,
  customerId: string,
  { filters, binding, ...paging }: ListQuery<typeof ORCHESTRATION_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<OrchestrationTables>()
  const request = {
    ...paging,
    operation: 'listOrchestrations',
    owner: customerId,
    filters: binding,
    idType: 'uuid',
  } as const
  const all = tables.selectFrom('orchestrations').selectAll().where(isOwnedBy(customerId))
  const query = filters.created_at === undefined ? all : all.where(isMadeWithin(filters.created_at))
  const wanted = columnFilters([
    ['id', 'uuid', filters.ids],
    ['id', 'uuid', filters.orchestration_id],
    ['ref_id', 'text', filters.ref_id],
    ['rule_id', 'uuid', union(filters.orchestration_rule_id, filters.orchestration_rule_ids)],
    ['profile_id', 'uuid', union(filters.profile_id, filters.profile_ids)],
    ['status', 'text', filters.status],
    ['source_asset', 'text', filters.source_asset],
    ['destination_asset', 'text', filters.destination_asset],
  ])
  const records = recordsMatching(query, wanted, request)
  return await readTextPage(tables, records, ORCHESTRATION_ITEM, request, PAGE_BYTES_MAX / COPIES)
}

/** Orchestrations of all customers, for the operator. */
export async function listAllOrchestrations(
  db: Db,
  { filters, binding, ...paging }: ListQuery<typeof OPERATOR_ORCHESTRATION_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<OrchestrationTables>()
  const request = {
    ...paging,
    operation: 'orchestrations',
    owner: 'operator',
    filters: binding,
    idType: 'uuid',
  } as const
  const query = tables.selectFrom('orchestrations').selectAll()
  const wanted = columnFilters([
    ['deposit_id', 'uuid', filters.deposit_id],
    ['rule_id', 'uuid', filters.orchestration_rule_id],
    ['profile_id', 'uuid', filters.profile_id],
    ['waiting_for', 'text', filters.waiting_for],
    ['customer_id', 'uuid', filters.customer_id],
    ['status', 'text', filters.status],
  ])
  const records = recordsMatching(query, wanted, { ...request, indexes: 'everyone' })
  return await readTextPage(tables, records, OPERATOR_ORCHESTRATION_ITEM, request)
}

type Query = SelectQueryBuilder<OrchestrationTables, 'orchestrations', OrchestrationTables['orchestrations']>

function recordsMatching(query: Query, wanted: readonly ColumnFilter[], request: PageRequest): PageRecords<unknown> {
  const [driver, ...others] = wanted
  let matching = query
  for (const { column, type, values } of others) {
    matching = matching.where(sql<boolean>`${sql.ref(column)} = any (${[...values]}::${sql.raw(type)}[])`)
  }
  if (driver === undefined) return recordsOf(matching, request)
  const ownerTable = request.owner === 'operator' ? OWNER_TABLES[driver.column] : undefined
  const isWanted = (value: RawBuilder<string>) => {
    const isValue = sql<boolean>`${sql.ref(driver.column)} = ${value}`
    if (ownerTable === undefined) return isValue
    return sql<boolean>`${isValue} and customer_id = (select customer_id from ${sql.table(ownerTable)} where id = ${value})`
  }
  return recordsOfEach([driver], (value) => matching.where(isWanted(value)), { ...request, indexes: 'filter' })
}

/** In the order in which they are best to find records by. */
function columnFilters(
  given: readonly (readonly [ColumnFilter['column'], ColumnFilter['type'], readonly string[] | undefined])[],
): readonly ColumnFilter[] {
  return given.flatMap(([column, type, values]) => {
    if (values === undefined) return []
    // Text that is no id of ours, byte by byte, matches nothing.
    const possible = type === 'text' ? values : values.filter((value) => isUuid(value) && value === value.toLowerCase())
    const namesOne = column === 'id' || column === 'ref_id' || column === 'deposit_id'
    return [{ column, type, values: [...new Set(possible)], namesOne }]
  })
}

function union(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  return one === undefined || other === undefined ? (one ?? other) : [...one, ...other]
}
