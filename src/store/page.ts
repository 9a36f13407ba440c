/**
 * Pages of a list: keyset paging in the order (created_at, id), whatever is written meanwhile. A record keeps its
 * place for ever, so every record that existed at the first call comes exactly once. It owns the one
 * query shape; which records a caller may see is the query's own business.
 */
import { assert } from '../base/assert.ts'
import { decodeCursor, encodeCursor, type PageBinding, type PageIdType, type PageOrder } from './page-cursor.ts'
import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from './sql.ts'

export { InvalidCursor } from './page-cursor.ts'
export type { PageOrder }

const PAGE_LIMIT_DEFAULT = 100
/** What one answer may hold: a page of so many records is built and sent within a few tens of milliseconds. */
const PAGE_LIMIT_MAX = 1_000

/**
 * Which indexes may give the order of a list. No column of it is ever null; where nulls would come tells the planner
 * these indexes apart, and it never reads a longer one for what a shorter one has, whatever it believes about the data:
 *
 * - `owner`: (owner, created_at, id), for all that somebody has;
 * - `filter`: (owner, column, created_at nulls first, id), for one filter;
 * - `filters`: (owner, column, column, created_at, id nulls first), for two, or for a filter that is the condition of the
 *   index itself;
 * - `everyone`: (created_at nulls first, id nulls first), for those of all owners.
 */
export type PageIndexes = keyof typeof NULLS

const NULLS = {
  owner: { createdAtFirst: false, idFirst: false },
  filter: { createdAtFirst: true, idFirst: false },
  filters: { createdAtFirst: false, idFirst: true },
  everyone: { createdAtFirst: true, idFirst: true },
} as const

export interface PageRequest extends PageBinding {
  /** 1..1000, default 100; not part of the binding. */
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
  /** Absent on the last page, also when that is full. */
  readonly next_page_cursor?: string
}

/** Both ends included; an end that is not there is open. */
interface Range {
  readonly from?: string
  readonly until?: string
  readonly isEmpty: boolean
}

/**
 * That a record was made within a range: a part of the order of the list. The ends are hidden from the planner, which
 * would take times that are newer than its statistics for those of hardly any record, and read and sort all of them.
 */
export function isMadeWithin({ from = '-infinity', until = 'infinity', isEmpty }: Range): RawBuilder<boolean> {
  if (isEmpty) return sql<boolean>`false`
  return sql<boolean>`created_at between ${hidden(from, 'timestamptz')} and ${hidden(until, 'timestamptz')}`
}

/**
 * That a record belongs to a customer. The planner is not told which: of one that it has not seen yet it would expect
 * no records, and then any index would do.
 */
export function isOwnedBy(customerId: string): RawBuilder<boolean> {
  return sql<boolean>`customer_id = ${hidden(customerId, 'uuid')}`
}

/**
 * That a column has a value that the planner is not told: of one that it has not seen yet it would expect no record, and
 * then an index for one filter seems as good as the one for two.
 */
export function isEqual(column: string, value: string, type: WantedValues['type']): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(column)} = ${hidden(value, type)}`
}

/** A value that the planner does not look at. */
function hidden(value: string, type: 'timestamptz' | PageIdType | WantedValues['type']): RawBuilder<unknown> {
  return sql`(select ${value}::${sql.raw(type)})`
}

/**
 * One page of `query`, which selects `created_at` and `id` among its columns, filters by owner and has neither order
 * nor limit. One record more than the page holds is read, to know whether there is a next page.
 */
export async function readPage<Database, Table extends keyof Database, Row extends { created_at: string; id: string }>(
  query: SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  return pageOf(await pageQuery(query, request).execute(), request)
}

/** Values of a filter, without doubles: a record matches one of them. */
export interface WantedValues {
  readonly values: readonly string[]
  readonly type: 'uuid' | 'text'
  /** Whether one value names one record of the owner, by an index that says so. */
  readonly namesOne: boolean
}

/**
 * One page of the records that match any of some values, at most a hundred: of each value no more is read than one page
 * holds, in the order of an index that begins with it. A condition `= any (…)` would have everything that matches read
 * and sorted. With two filters that is so for each pair of their values. Where a value names a single record no order is
 * asked for: a planner that remembers few records would take the index with that order, and walk through all of them.
 * @param queryOf the query of one value of each filter, in their order, which stand for values of those types
 */
export async function readPageOfEach<
  Database,
  Table extends keyof Database,
  Row extends { created_at: string; id: string },
>(
  tables: Kysely<Database>,
  wanted: readonly WantedValues[],
  queryOf: (...values: readonly RawBuilder<string>[]) => SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  const lists = wanted.map(
    ({ values, type }, index) =>
      sql`unnest(${[...values]}::${sql.raw(type)}[]) as ${sql.ref(`wanted_${index}`)} (value)`,
  )
  const namesOne = wanted.some((one) => one.namesOne)
  const query = queryOf(...wanted.map((_, index) => sql<string>`${sql.ref(`wanted_${index}.value`)}`))
  const { rows } = await sql<Row>`
    select page.* from ${sql.join(lists, sql` cross join `)}
    cross join lateral ${namesOne ? behindCursor(query, request).limit(1) : pageQuery(query, request)} as page
    order by ${orderOf({ ...request, indexes: 'owner' }, sql.ref('page.created_at'), sql.ref('page.id'))}
    limit ${limitOf(request) + 1}
  `.execute(tables)
  return pageOf(rows, request)
}

/**
 * One page of the records that some queries have together, each record in one of them: of each no more is read than one
 * page holds, and only of the page whole records are read.
 * @param parts what selects `created_at` and `id`, each made with `pageQuery` from the same request
 * @param recordOf the query of the record with an id
 */
export async function readPageOfParts<
  Database,
  Table extends keyof Database,
  Row extends { created_at: string; id: string },
>(
  tables: Kysely<Database>,
  parts: readonly RawBuilder<unknown>[],
  recordOf: (id: RawBuilder<string>) => SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  const order = (table: string) =>
    orderOf({ ...request, indexes: 'owner' }, sql.ref(`${table}.created_at`), sql.ref(`${table}.id`))
  const { rows } = await sql<Row>`
    select record.* from (
      select * from (${sql.join(parts, sql` union all `)}) as part order by ${order('part')} limit ${limitOf(request) + 1}
    ) as page
    cross join lateral ${recordOf(sql<string>`page.id`).limit(1)} as record
    order by ${order('page')}
  `.execute(tables)
  return pageOf(rows, request)
}

/** What `query` gives behind the cursor, in order: the page and one record more. */
export function pageQuery<Database, Table extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): SelectQueryBuilder<Database, Table, Row> {
  const { createdAt, id } = columnsOf(request)
  return behindCursor(query, request)
    .orderBy(orderOf(request, createdAt, id))
    .limit(limitOf(request) + 1)
}

/** What `query` gives behind the cursor. */
function behindCursor<Database, Table extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): SelectQueryBuilder<Database, Table, Row> {
  const { order, pageCursor, idType } = request
  if (pageCursor === undefined) return query
  const { createdAt, id } = columnsOf(request)
  const position = decodeCursor(pageCursor, request, idType)
  const comparison = sql.raw(order === 'ASC' ? '>' : '<')
  const values = sql`(${hidden(position.createdAt, 'timestamptz')}, ${hidden(position.id, idType)})`
  return query.where(sql<boolean>`(${createdAt}, ${id}) ${comparison} ${values}`)
}

function columnsOf({ columns }: PageRequest): { createdAt: RawBuilder<unknown>; id: RawBuilder<unknown> } {
  return { createdAt: sql.ref(columns?.createdAt ?? 'created_at'), id: sql.ref(columns?.id ?? 'id') }
}

function pageOf<Row extends { created_at: string; id: string }>(rows: readonly Row[], request: PageRequest): Page<Row> {
  const limit = limitOf(request)
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  if (last === undefined || rows.length <= limit) return { items }
  return { items, next_page_cursor: encodeCursor({ createdAt: last.created_at, id: last.id }, request) }
}

function limitOf({ limit = PAGE_LIMIT_DEFAULT }: PageRequest): number {
  assert(Number.isInteger(limit) && limit >= 1 && limit <= PAGE_LIMIT_MAX, 'a page limit is 1 to 1000')
  return limit
}

function orderOf(
  { order, indexes = 'owner' }: PageRequest,
  createdAt: RawBuilder<unknown>,
  id: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { createdAtFirst, idFirst } = NULLS[indexes]
  // Read backwards, an index has its nulls at the other end.
  const isAscending = order === 'ASC'
  const direction = sql.raw(isAscending ? 'asc' : 'desc')
  const nulls = (areFirst: boolean) => sql.raw(areFirst === isAscending ? 'nulls first' : 'nulls last')
  return sql`${createdAt} ${direction} ${nulls(createdAtFirst)}, ${id} ${direction} ${nulls(idFirst)}`
}
