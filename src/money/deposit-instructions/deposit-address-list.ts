/** Lists of a customer's deposit addresses: the filters, and the index used by each combination. */

import {
  CRYPTO_NETWORK_NAMES,
  CRYPTO_NETWORKS,
  type CryptoNetwork,
  networksOf,
  REQUESTED_NETWORK_NAMES,
} from '../../contract/crypto-networks.ts'
import { isUuid } from '../../platform/base/ids.ts'
import {
  type AllApplied,
  choices,
  type ListQuery,
  orderBy,
  texts,
  times,
  uuids,
} from '../../platform/http/list-query.ts'
import type { Db } from '../../platform/store/db.ts'
import { isMadeWithin, isOwnedBy, recordsOf, recordsOfEach, type WantedValues } from '../../platform/store/page.ts'
import {
  type ItemText,
  jsonbText,
  plainText,
  quotedText,
  readTextPage,
  type TextPage,
  timeText,
} from '../../platform/store/page-text.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { DEPOSIT_ADDRESS_COLUMNS } from './deposit-addresses.ts'
import type { DepositInstructionTables } from './tables.ts'

/** The list's parameters. */
export const DEPOSIT_ADDRESS_FILTERS = {
  profile_ids: texts('Filter by profile IDs'),
  identity_ids: texts('Filter by identities'),
  ids: uuids('Filter by deposit address UUIDs'),
  ref_ids: texts('Filter by client-specified IDs'),
  account_ids: texts('Filter by accounts'),
  crypto_networks: choices(REQUESTED_NETWORK_NAMES, 'Filter by crypto networks. POLYGON means POLYGON_POS'),
  networks: choices(REQUESTED_NETWORK_NAMES, 'Another name of crypto_networks'),
  created_at: times('Created'),
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
}

/** The parsed filters, with both network parameters merged. */
type DepositAddressFilters = Omit<
  ListQuery<typeof DEPOSIT_ADDRESS_FILTERS>['filters'],
  'networks' | 'crypto_networks'
> & {
  readonly crypto_networks?: readonly CryptoNetwork[]
}

export interface DepositAddressListRequest {
  readonly filters: DepositAddressFilters
  readonly limit: number
  readonly order: 'ASC' | 'DESC'
  readonly pageCursor?: string
}

/** A filter on one column's values. */
interface ColumnFilter extends WantedValues {
  readonly column: 'id' | 'ref_id' | 'profile_id' | 'account_id' | 'identity_id' | 'crypto_network'
}

export async function listDepositAddresses(
  db: Db,
  customerId: string,
  { filters, ...paging }: DepositAddressListRequest,
): Promise<TextPage> {
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
  const given = columnFilters(arrays)
  const drivers = driversOf(given)
  let query = range === undefined ? all : all.where(isMadeWithin(range))
  for (const filter of given.filter((one) => !drivers.includes(one))) {
    const { column, type, values } = filter
    query = query.where(sql<boolean>`${sql.ref(column)} = any (${[...values]}::${sql.raw(type)}[])`)
  }
  const [first, second] = drivers
  const records =
    first === undefined
      ? recordsOf(query, request)
      : recordsOfEach(
          drivers,
          (...values) =>
            drivers.reduce(
              (matching, { column }, index) => matching.where(column, '=', values[index] as RawBuilder<string>),
              query,
            ),
          { ...request, indexes: second === undefined ? 'filter' : 'filters' },
        )
  return await readTextPage(tables, records, ITEM, request)
}

const compatibleNetworks = sql<string>`case record.crypto_network ${sql.join(
  CRYPTO_NETWORK_NAMES.map(
    (name) => sql`when ${sql.lit(name)} then ${sql.lit(JSON.stringify(networksOf(CRYPTO_NETWORKS[name])))}`,
  ),
  sql` `,
)} end`

/** The members and their order match the document in `deposit-addresses`. Tests compare the two. */
const ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['profile_id', plainText('profile_id')],
    ['customer_id', plainText('customer_id')],
    ['account_id', plainText('account_id')],
    ['identity_id', quotedText('identity_id')],
    ['ref_id', quotedText('ref_id')],
    ['crypto_network', plainText('crypto_network')],
    ['address', quotedText('address')],
    ['conversion_target_asset', quotedText('conversion_target_asset')],
    ['compatible_crypto_networks', compatibleNetworks],
    ['metadata', jsonbText('metadata')],
    ['created_at', timeText('created_at')],
  ],
  large: { text: ['identity_id', 'ref_id'], jsonb: ['metadata'] },
}

/**
 * The filters whose index is used: a single filter whose values identify single records, or else at most two others.
 * The remaining filters are checked on each record. The network filter has no index with another column, because there
 * are few networks.
 */
function driversOf(given: readonly ColumnFilter[]): readonly ColumnFilter[] {
  const naming = given.find(({ namesOne }) => namesOne)
  if (naming !== undefined) return [naming]
  const paired = given.filter(({ column }) => column !== 'crypto_network')
  return paired.length === 0 ? given : paired.slice(0, 2)
}

/** The most selective first. */
function columnFilters(filters: Omit<DepositAddressFilters, 'created_at'>): readonly ColumnFilter[] {
  const { ids, ref_ids, profile_ids, account_ids, identity_ids, crypto_networks, ...left } = filters
  left satisfies AllApplied
  const given: readonly (readonly [ColumnFilter['column'], ColumnFilter['type'], readonly string[] | undefined])[] = [
    ['id', 'uuid', ids],
    ['ref_id', 'text', ref_ids],
    ['profile_id', 'uuid', profile_ids],
    ['identity_id', 'text', identity_ids],
    ['account_id', 'uuid', account_ids],
    ['crypto_network', 'text', crypto_networks],
  ]
  return given.flatMap(([column, type, values]) => {
    if (values === undefined) return []
    // Ids are compared byte by byte, so any other text matches nothing.
    const possible = type === 'text' ? values : values.filter((value) => isUuid(value) && value === value.toLowerCase())
    return [{ column, type, values: [...new Set(possible)], namesOne: column === 'id' || column === 'ref_id' }]
  })
}
