/** Reads and writes destinations' rows, singly and in lists. `service` decides state transitions. */
import { isUuid } from '../../platform/base/ids.ts'
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import {
  isMadeWithin,
  isOwnedBy,
  type Page,
  type PageOrder,
  type PageRequest,
  type Range,
  readPage,
} from '../../platform/store/page.ts'
import { sql } from '../../platform/store/sql.ts'
import type { DestinationKind, DestinationStatus } from './model.ts'
import type { DestinationsTable, DestinationTables } from './tables.ts'

export type DestinationRow = Omit<DestinationsTable, 'address_key'>

const COLUMNS = [
  'id',
  'kind',
  'customer_id',
  'profile_id',
  'ref_id',
  'nickname',
  'network',
  'address',
  'details',
  'parties',
  'memos',
  'status',
  'usable_at',
  'reject_reason',
  'from_rules',
  'unverified',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof DestinationRow)[]

export type NewDestination = Omit<
  DestinationsTable,
  'usable_at' | 'reject_reason' | 'from_rules' | 'unverified' | 'updated_at'
>

/** Inserts a destination that is usable `coolingHours` after its creation. */
export async function insertDestination(
  transaction: Transaction<DestinationTables>,
  destination: NewDestination,
  coolingHours: number,
): Promise<DestinationRow> {
  const { created_at, memos } = destination
  return await transaction
    .insertInto('destinations')
    .values({
      ...destination,
      memos: sql`${[...memos]}::text[]`,
      usable_at: sql`${created_at}::timestamptz + ${coolingHours} * interval '1 hour'`,
      reject_reason: null,
      from_rules: false,
      unverified: false,
      updated_at: created_at,
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** The customer's destinations, counted up to `most`. */
export async function countDestinations(
  transaction: Transaction<DestinationTables>,
  customerId: string,
  most: number,
): Promise<number> {
  const { rows } = await sql<{ readonly used: number }>`
    select count(*)::integer as used
    from (select from destinations where customer_id = ${customerId} limit ${most}) as counted
  `.execute(transaction)
  return rows[0]?.used ?? 0
}

/** The customer's destination with this `ref_id`, or the registered one with this address. */
export async function existingDestination(
  transaction: Transaction<DestinationTables>,
  { customer_id, kind, ref_id, network, address_key }: NewDestination,
): Promise<{ readonly member: 'ref_id' | 'address'; readonly row: DestinationRow } | undefined> {
  const own = transaction.selectFrom('destinations').select(COLUMNS).where('customer_id', '=', customer_id)
  const named = await own.where('kind', '=', kind).where('ref_id', '=', ref_id).executeTakeFirst()
  if (named !== undefined) return { member: 'ref_id', row: named }
  if (address_key === null) return undefined
  const row = await own
    .where('kind', '=', 'CRYPTO')
    .where('network', '=', network)
    .where('address_key', '=', address_key)
    .where('status', '<>', 'DELETED')
    .executeTakeFirst()
  return row === undefined ? undefined : { member: 'address', row }
}

/** A customer's destination of one kind. */
export async function getOwnDestination(
  db: Db,
  customerId: string,
  kind: DestinationKind,
  id: string,
): Promise<DestinationRow | undefined> {
  if (!isUuid(id)) return undefined
  return await byId(db.tables<DestinationTables>(), id.toLowerCase())
    .where('kind', '=', kind)
    .where('customer_id', '=', customerId)
    .executeTakeFirst()
}

/** Any customer's destination. */
export async function getDestination(
  transaction: Transaction<DestinationTables>,
  id: string,
): Promise<DestinationRow | undefined> {
  return await byId(transaction, id).executeTakeFirst()
}

/** Locks a destination until the transaction ends: the given customer's of one kind, or any. */
export async function lockDestination(
  transaction: Transaction<DestinationTables>,
  id: string,
  owner?: { readonly customerId: string; readonly kind: DestinationKind },
): Promise<DestinationRow | undefined> {
  const all = byId(transaction, id)
  const query =
    owner === undefined ? all : all.where('customer_id', '=', owner.customerId).where('kind', '=', owner.kind)
  return await query.modifyEnd(forUpdate(transaction, 'destination', [id])).executeTakeFirst()
}

function byId(tables: Pick<Kysely<DestinationTables>, 'selectFrom'>, id: string) {
  return tables.selectFrom('destinations').select(COLUMNS).where('id', '=', id)
}

/** Whether a locked destination is usable from this time on. Times that have passed are all the same. */
export async function isUsableFrom(
  transaction: Transaction<DestinationTables>,
  id: string,
  usableAt: string,
): Promise<boolean> {
  const { rows } = await sql<{ readonly isSame: boolean }>`
    select greatest(usable_at, now) = greatest(${usableAt}::timestamptz(3), now) as "isSame"
    from destinations, (select date_trunc('milliseconds', clock_timestamp()) as now) as clock
    where id = ${id}
  `.execute(transaction)
  return rows[0]?.isSame === true
}

interface Changes {
  readonly status?: DestinationStatus
  /** Absent: unchanged. A time that has passed becomes the present. */
  readonly usableAt?: string
  readonly rejectReason?: string
  readonly isVerified?: true
}

/** Stores a locked destination's changes. */
export async function changeDestination(
  transaction: Transaction<DestinationTables>,
  id: string,
  { status, usableAt, rejectReason, isVerified }: Changes,
): Promise<DestinationRow> {
  const now = sql`date_trunc('milliseconds', clock_timestamp())`
  return await transaction
    .updateTable('destinations')
    .set({
      ...(status === undefined ? {} : { status }),
      ...(usableAt === undefined ? {} : { usable_at: sql`greatest(${usableAt}::timestamptz, ${now})` }),
      ...(rejectReason === undefined ? {} : { reject_reason: rejectReason }),
      ...(isVerified === undefined ? {} : { unverified: false }),
      updated_at: sql`greatest(${now}, updated_at + interval '1 millisecond')`,
    })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

export interface OwnFilters {
  readonly ids?: readonly string[]
  readonly ref_ids?: readonly string[]
  readonly status?: readonly DestinationStatus[]
  readonly networks?: readonly string[]
  readonly created_at?: Range
}

/** A page of a customer's destinations of one kind. */
export async function listOwnDestinations(
  db: Db,
  customerId: string,
  kind: DestinationKind,
  { ids, ref_ids, status, networks, created_at }: OwnFilters,
  request: Pick<PageRequest, 'limit' | 'order' | 'pageCursor' | 'filters'>,
): Promise<Page<DestinationRow>> {
  const tables = db.tables<DestinationTables>()
  let query = tables.selectFrom('destinations').select(COLUMNS).where(isOwnedBy(customerId)).where('kind', '=', kind)
  if (created_at !== undefined) query = query.where(isMadeWithin(created_at))
  if (ids !== undefined) query = query.where(sql<boolean>`id = any(${[...ids]}::uuid[])`)
  for (const [column, values] of [
    ['ref_id', ref_ids],
    ['status', status],
    ['network', networks],
  ] as const) {
    if (values !== undefined) query = query.where(sql<boolean>`${sql.ref(column)} = any(${[...values]}::text[])`)
  }
  const binding = { operation: `destinations ${kind}`, owner: customerId, idType: 'uuid', indexes: 'filter' } as const
  return await readPage(tables, query, { ...request, ...binding })
}

/** A page of all customers' destinations. */
export async function listAllDestinations(
  db: Db,
  paging: { readonly limit: number; readonly order: PageOrder; readonly pageCursor?: string },
  filters: {
    readonly status?: DestinationStatus | undefined
    readonly kind?: DestinationKind | undefined
    readonly customer_id?: string | undefined
    readonly unverified?: 'true' | 'false' | undefined
  },
): Promise<Page<DestinationRow>> {
  const tables = db.tables<DestinationTables>()
  const { status, kind, customer_id, unverified } = filters
  let query = tables.selectFrom('destinations').select(COLUMNS)
  if (status !== undefined) query = query.where('status', '=', status)
  if (kind !== undefined) query = query.where('kind', '=', kind)
  if (unverified !== undefined) query = query.where('unverified', '=', unverified === 'true')
  if (customer_id !== undefined) {
    query = isUuid(customer_id)
      ? query.where('customer_id', '=', customer_id.toLowerCase())
      : query.where(sql<boolean>`false`)
  }
  const binding = { operation: 'destinations', owner: 'operator', filters, idType: 'uuid', indexes: 'all' } as const
  return await readPage(tables, query, { ...paging, ...binding })
}
