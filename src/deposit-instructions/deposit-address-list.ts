/** A customer's deposit addresses, in pages: which of them match, and how they are found without reading the rest. */
import { isUuid } from '../base/ids.ts'
import type { Db } from '../store/db.ts'
import { isMadeWithin, isOwnedBy, type Page, readPage, readPageOfEach, type WantedValues } from '../store/page.ts'
import { type RawBuilder, sql } from '../store/sql.ts'
import { DEPOSIT_ADDRESS_COLUMNS, type DepositAddressDocument, documentOf } from './deposit-addresses.ts'
import type { DepositInstructionTables } from './tables.ts'

/** Filters that are given; a record matches all of them, each with any of its values. */
export interface DepositAddressFilters {
  readonly profile_ids?: readonly string[]
  readonly identity_ids?: readonly string[]
  /** UUIDs in lower case. */
  readonly ids?: readonly string[]
  readonly ref_ids?: readonly string[]
  readonly account_ids?: readonly string[]
  readonly created_at?: { readonly from?: string; readonly until?: string; readonly isEmpty: boolean }
}

export interface DepositAddressListRequest {
  readonly filters: DepositAddressFilters
  readonly limit: number
  readonly order: 'ASC' | 'DESC'
  readonly pageCursor?: string
}

/** A filter by values of one column. */
interface ColumnFilter extends WantedValues {
  readonly column: 'id' | 'ref_id' | 'profile_id' | 'account_id' | 'identity_id'
}

export async function listDepositAddresses(
  db: Db,
  customerId: string,
  { filters, ...paging }: DepositAddressListRequest,
): Promise<Page<DepositAddressDocument>> {
  const { created_at: range, ...arrays } = filters
  const request = {
    ...paging,
    operation: 'deposit-addresses',
    owner: customerId,
    filters: { ...arrays, from: range?.from, until: range?.until, is_empty: range?.isEmpty },
    idType: 'uuid',
  } as const
  const tables = db.tables<DepositInstructionTables>()
  const all = tables.selectFrom('deposit_addresses').select(DEPOSIT_ADDRESS_COLUMNS).where(isOwnedBy(customerId))
  const given = columnFilters(filters)
  const drivers = driversOf(given)
  let query = range === undefined ? all : all.where(isMadeWithin(range))
  for (const filter of given.filter((one) => !drivers.includes(one))) {
    const { column, type, values } = filter
    query = query.where(sql<boolean>`${sql.ref(column)} = any (${[...values]}::${sql.raw(type)}[])`)
  }
  const [first, second] = drivers
  const page =
    first === undefined
      ? await readPage(query, request)
      : await readPageOfEach(
          tables,
          drivers,
          (...values) =>
            drivers.reduce(
              (matching, { column }, index) => matching.where(column, '=', values[index] as RawBuilder<string>),
              query,
            ),
          { ...request, indexes: second === undefined ? 'filter' : 'filters' },
        )
  return { ...page, items: page.items.map(documentOf) }
}

/**
 * The filters by whose values the records are found: one whose values name one record each, or at most two others. What
 * is found is held to the rest.
 */
function driversOf(given: readonly ColumnFilter[]): readonly ColumnFilter[] {
  const naming = given.find(({ namesOne }) => namesOne)
  return naming === undefined ? given.slice(0, 2) : [naming]
}

/** In the order in which they are best to find records by. */
function columnFilters(filters: DepositAddressFilters): readonly ColumnFilter[] {
  const { ids, ref_ids, profile_ids, account_ids, identity_ids } = filters
  const given: readonly (readonly [ColumnFilter['column'], ColumnFilter['type'], readonly string[] | undefined])[] = [
    ['id', 'uuid', ids],
    ['ref_id', 'text', ref_ids],
    ['profile_id', 'uuid', profile_ids],
    ['identity_id', 'text', identity_ids],
    ['account_id', 'uuid', account_ids],
  ]
  return given.flatMap(([column, type, values]) => {
    if (values === undefined) return []
    // Text that is no id of ours, byte by byte, matches nothing.
    const possible = type === 'text' ? values : values.filter((value) => isUuid(value) && value === value.toLowerCase())
    return [{ column, type, values: [...new Set(possible)], namesOne: column === 'id' || column === 'ref_id' }]
  })
}
