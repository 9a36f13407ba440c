/**
 * List pages: keyset pagination in the order (created_at, id). A record's place never changes, so every record that
 * existed at the first call is returned exactly once, despite writes meanwhile. This file owns the query shapes and a
 * page's two limits: its number of records, and PAGE_BYTES_MAX. The caller's query decides which records are visible.
 * Lists that customers can fill are written as JSON text by the store: see `page-text`.
 */
import { assert } from '../base/assert.ts'
import { decodeCursor, encodeCursor, type PageBinding, type PageIdType, type PageOrder } from './page-cursor.ts'
import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from './sql.ts'

export { InvalidCursor } from './page-cursor.ts'
export type { PageOrder }

const PAGE_LIMIT_DEFAULT = 100
const PAGE_LIMIT_MAX = 1_000
/**
 * A page also ends at this JSON text size, so an unread answer takes a bounded amount of memory, and the event loop
 * handles one in a few milliseconds. A single record may be larger.
 */
export const PAGE_BYTES_MAX = 2_097_152

/**
 * The indexes that can provide a list's order. The order's columns are never null. The position of nulls only
 * distinguishes the indexes for the planner, so it cannot choose a longer index where a shorter one suffices, whatever
 * its statistics are:
 * - `owner`: (owner, created_at, id), for all an owner's records.
 * - `filter`: (owner, column, created_at nulls first, id), for one filter.
 * - `filters`: (owner, column, column, created_at, id nulls first), for two, or for a filter that is the index's own
 *   condition.
 * - `all`: (created_at nulls first, id nulls first), for all owners' records.
 * - `id`: (owner, id), where no id is before an earlier record's. `created_at` is not compared.
 */
export type PageIndexes = keyof typeof NULLS | 'id'

const NULLS = {
  owner: { createdAtFirst: false, idFirst: false },
  filter: { createdAtFirst: true, idFirst: false },
  filters: { createdAtFirst: false, idFirst: true },
  all: { createdAtFirst: true, idFirst: true },
} as const

export interface PageRequest extends PageBinding {
  /** 1..1000, default 100. Not part of the binding. */
  readonly limit?: number | undefined
  readonly pageCursor?: string | undefined
  readonly idType: PageIdType
  /** The columns in the query's own terms, when it joins tables: default `created_at` and `id`. */
  readonly columns?: { readonly createdAt: string; readonly id: string }
  /** Default `owner`. */
  readonly indexes?: PageIndexes
}

export interface Page<Row> {
  readonly items: Row[]
  /** Absent on the last page, also when that is full. A page with fewer records than its limit may have one. */
  readonly next_page_cursor?: string
}

/** A list's records after the cursor, in order: one more than the page may have, to know whether there is a next. */
export interface PageRecords<Row> {
  readonly query: RawBuilder<Row>
  /** The indexes for which the order is written. */
  readonly indexes: PageIndexes
}

/** The columns determining a record's place in the order. */
interface Placed {
  readonly created_at: string
  readonly id: string
}

/** Both ends are included. An absent end is open. */
export interface Range {
  readonly from?: string
  readonly until?: string
  readonly isEmpty: boolean
}

/** The condition for a record created within a range: a part of the list's order. */
export function isMadeWithin(range: Range): RawBuilder<boolean> {
  return isWithin('created_at', range)
}

/**
 * The condition for a record's time within a range. The ends are hidden from the planner: it would expect hardly any
 * record at times newer than its statistics, and read and sort all records.
 */
export function isWithin(
  column: string,
  { from = '-infinity', until = 'infinity', isEmpty }: Range,
): RawBuilder<boolean> {
  if (isEmpty) return sql<boolean>`false`
  return sql<boolean>`${sql.ref(column)} between ${hidden(from, 'timestamptz')} and ${hidden(until, 'timestamptz')}`
}

/**
 * The condition for a customer's records. The customer is hidden from the planner: for one missing in its statistics it
 * would expect no records and might choose any index.
 */
export function isOwnedBy(customerId: string): RawBuilder<boolean> {
  return sql<boolean>`customer_id = ${hidden(customerId, 'uuid')}`
}

/**
 * The condition for a column's value. The value is hidden from the planner: for one missing in its statistics it would
 * expect no record, and an index for one filter would seem as good as the one for two.
 */
export function isEqual(column: string, value: string, type: WantedValues['type']): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(column)} = ${hidden(value, type)}`
}

/** A value in a subquery, which the planner does not use for its estimates. */
function hidden(value: string, type: 'timestamptz' | WantedValues['type']): RawBuilder<unknown> {
  return sql`(select ${value}::${sql.raw(type)})`
}

/** The records from `query`, which selects `created_at` and `id` among its columns and has neither order nor limit. */
export function recordsOf<Database, Table extends keyof Database, Row extends Placed>(
  query: SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): PageRecords<Row> {
  return { query: sql<Row>`${pageQuery(query, request)}`, indexes: request.indexes ?? 'owner' }
}

/** A filter's distinct values: a record matches one. */
export interface WantedValues {
  readonly values: readonly string[]
  readonly type: PageIdType | 'text'
  /** Whether one value names one of the owner's records, by a unique index. */
  readonly namesOne: boolean
}

/**
 * The records that match any of up to a hundred values. For each value (with two filters, for each pair of values) at
 * most one page is read, in the order of an index that begins with it. A condition `= any (…)` would read and sort all
 * matching records. Where a value identifies a single record, no order is requested: a planner with outdated statistics
 * would choose the index with that order and scan it all.
 * @param queryOf the query for one value per filter, in the order of `wanted`
 */
export function recordsOfEach<Database, Table extends keyof Database, Row extends Placed>(
  wanted: readonly WantedValues[],
  queryOf: (...values: readonly RawBuilder<string>[]) => SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): PageRecords<Row> {
  const lists = wanted.map(
    ({ values, type }, index) =>
      sql`unnest(${[...values]}::${sql.raw(type)}[]) as ${sql.ref(`wanted_${index}`)} (value)`,
  )
  const namesOne = wanted.some((one) => one.namesOne)
  const query = queryOf(...wanted.map((_, index) => sql<string>`${sql.ref(`wanted_${index}.value`)}`))
  return {
    query: sql<Row>`
      select page.* from ${sql.join(lists, sql` cross join `)}
      cross join lateral ${namesOne ? afterCursor(query, request).limit(1) : pageQuery(query, request)} as page
      order by ${orderIn('page', request.order, 'owner')}
      limit ${limitOf(request) + 1}`,
    indexes: 'owner',
  }
}

/**
 * One page of rows, for lists whose records are small because only the operator writes them: the values are converted
 * one by one, and a page with a customer's records could keep the event loop busy for too long.
 */
export async function readPage<Database, Table extends keyof Database, Row extends Placed>(
  tables: Kysely<Database>,
  query: SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  const { query: records, indexes } = recordsOf(query, request)
  const limit = limitOf(request)
  // The inner limits keep the planner from flattening the subqueries, which would compute the sizes twice. The first
  // record that does not fit is returned too: it shows that there is a next page.
  const { rows } = await sql<Row & { record_bytes: number; page_bytes: string }>`
    select * from (
      select *, sum(record_bytes) over (order by ${orderIn('record', request.order, indexes)} rows unbounded preceding)
        as page_bytes
      from (
        select *, octet_length(to_json(record)::text) as record_bytes from (${records}) as record limit ${limit + 1}
      ) as record
    ) as record
    where page_bytes - record_bytes <= ${PAGE_BYTES_MAX}
    order by ${orderIn('record', request.order, indexes)}
  `.execute(tables)
  const tooMany = rows.findIndex(
    (row, index) => index === limit || (index > 0 && Number(row.page_bytes) > PAGE_BYTES_MAX),
  )
  const items = (tooMany < 0 ? rows : rows.slice(0, tooMany)).map(
    ({ record_bytes, page_bytes, ...row }) => row as unknown as Row,
  )
  const last = items.at(-1)
  return tooMany < 0 || last === undefined ? { items } : { items, next_page_cursor: cursorAfter(last, request) }
}

/** The cursor for the page after a record. */
export function cursorAfter({ created_at, id }: Placed, request: PageRequest): string {
  return encodeCursor({ createdAt: created_at, id }, request)
}

/** The records from `query` after the cursor, in order: by default one more than the page, otherwise `count`. */
export function pageQuery<Database, Table extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
  count = limitOf(request) + 1,
): SelectQueryBuilder<Database, Table, Row> {
  const { createdAt, id } = columnsOf(request)
  return afterCursor(query, request)
    .orderBy(orderOf(request.order, request.indexes ?? 'owner', createdAt, id))
    .limit(count)
}

/** The records from `query` after the cursor. */
function afterCursor<Database, Table extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): SelectQueryBuilder<Database, Table, Row> {
  return request.pageCursor === undefined ? query : query.where(isAfterCursor(request))
}

/** The condition for a record after the request's cursor. True for each record when the request has none. */
export function isAfterCursor(request: PageRequest): RawBuilder<boolean> {
  const { order, pageCursor, idType } = request
  if (pageCursor === undefined) return sql<boolean>`true`
  const { createdAt, id } = columnsOf(request)
  const position = decodeCursor(pageCursor, request, idType)
  const comparison = sql.raw(order === 'ASC' ? '>' : '<')
  if (request.indexes === 'id') return sql<boolean>`${id} ${comparison} ${hidden(position.id, idType)}`
  const values = sql`(${hidden(position.createdAt, 'timestamptz')}, ${hidden(position.id, idType)})`
  return sql<boolean>`(${createdAt}, ${id}) ${comparison} ${values}`
}

function columnsOf({ columns }: PageRequest): { createdAt: RawBuilder<unknown>; id: RawBuilder<unknown> } {
  return { createdAt: sql.ref(columns?.createdAt ?? 'created_at'), id: sql.ref(columns?.id ?? 'id') }
}

export function limitOf({ limit = PAGE_LIMIT_DEFAULT }: PageRequest): number {
  assert(Number.isInteger(limit) && limit >= 1 && limit <= PAGE_LIMIT_MAX, 'a page limit is 1 to 1000')
  return limit
}

/** A list's order for the columns in a subquery with this name. */
export function orderIn(table: string, order: PageOrder, indexes: PageIndexes): RawBuilder<unknown> {
  return orderOf(order, indexes, sql.ref(`${table}.created_at`), sql.ref(`${table}.id`))
}

function orderOf(
  order: PageOrder,
  indexes: PageIndexes,
  createdAt: RawBuilder<unknown>,
  id: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const isAscending = order === 'ASC'
  const direction = sql.raw(isAscending ? 'asc' : 'desc')
  if (indexes === 'id') return sql`${id} ${direction}`
  const { createdAtFirst, idFirst } = NULLS[indexes]
  // Read backwards, an index has its nulls at the other end.
  const nulls = (areFirst: boolean) => sql.raw(areFirst === isAscending ? 'nulls first' : 'nulls last')
  return sql`${createdAt} ${direction} ${nulls(createdAtFirst)}, ${id} ${direction} ${nulls(idFirst)}`
}
