/**
 * Lists with filters. The first filter with an index finds records in list order, and the other filters are applied to
 * those records. One page examines at most EXAMINED_MAX records: a page that would need more ends early, possibly
 * without items, with a cursor after the last record examined. A rare value combined with a common one therefore takes
 * more pages, never a statement that reads all records.
 */
import { isUuid } from '../base/ids.ts'
import {
  cursorAfter,
  isAfterCursor,
  isMadeWithin,
  isWithin,
  limitOf,
  orderIn,
  type PageIndexes,
  type PageRequest,
  pageQuery,
  type Range,
  recordsOf,
  recordsOfEach,
  type WantedValues,
} from './page.ts'
import { type ItemText, readTextPage, type TextPage } from './page-text.ts'
import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from './sql.ts'

/** Records examined per page, for all values of a filter together: about ten milliseconds on either engine. */
const EXAMINED_MAX = 5_000
/** The part for records in a `RangeFilter`'s range. The others are examined in list order. */
const IN_RANGE_MAX = EXAMINED_MAX / 2

/** A list filter. `values` is undefined when the request does not have it. */
export interface PossibleFilter {
  readonly column: string
  readonly type: WantedValues['type']
  readonly values: readonly string[] | undefined
  /** Compared with the values instead of the column. Only for a filter without an index. */
  readonly expression?: RawBuilder<unknown>
  /** `one`: a value names one of the owner's records, by a unique index. Absent: no index begins with it. */
  readonly index?: PageIndexes | 'one'
  /** Values left out by the index's condition, because most records have one. */
  readonly leftOut?: readonly string[]
}

type Filter = PossibleFilter & { readonly values: readonly string[] }

/**
 * A filter by a time range on a column other than `created_at`, with the index (owner, column). While the owner has
 * fewer than IN_RANGE_MAX records in the range, that index finds them, wherever they are in list order. Otherwise the
 * records are examined in list order.
 */
export interface RangeFilter<Database, Table extends keyof Database, Row> {
  readonly column: string
  readonly range: Range
  /** The owner's records, without another condition. */
  readonly owned: SelectQueryBuilder<Database, Table, Row>
  /** The `created_at` range in the list's query, if it has one. */
  readonly created: Range | undefined
}

export interface FilteredList<Database, Table extends keyof Database, Row> {
  /** The records visible to the caller. They have `created_at` and `id`. */
  readonly query: SelectQueryBuilder<Database, Table, Row>
  /** The most selective first. */
  readonly filters: readonly PossibleFilter[]
  readonly range?: RangeFilter<Database, Table, Row> | undefined
  readonly item: ItemText
  readonly request: PageRequest
  /** Bytes after which the page ends, for an answer that contains its items more than once. */
  readonly bytesMax?: number
  /** The condition that a record has a value for an indexed filter. Default: the column equals it. */
  readonly hasValue?: (column: string, value: RawBuilder<string>) => RawBuilder<boolean>
}

interface Placed {
  readonly created_at: string
  readonly id: string
}

export async function readFilteredPage<Database, Table extends keyof Database, Row extends Placed>(
  tables: Kysely<Database>,
  list: FilteredList<Database, Table, Row>,
): Promise<TextPage> {
  const { query, item, request, bytesMax, range } = list
  const filters = list.filters.flatMap(givenFilter)
  const driver = filters.find(({ index }) => index !== undefined)
  const others = filters.filter((filter) => filter !== driver)
  const isBounded = driver?.index !== 'one' && (others.length > 0 || range !== undefined)
  if (isBounded) return await readBounded(tables, list, driver, others)
  const matching = query.where(matches(others)).where(isInRange(range))
  const records = driver === undefined ? recordsOf(matching, request) : recordsOfDriver(list, driver, matching)
  return await readTextPage(tables, records, item, request, bytesMax)
}

/** A filter's distinct values. A value that is not an id in canonical form matches nothing and is left out. */
function givenFilter(filter: PossibleFilter): readonly Filter[] {
  const { type, values } = filter
  if (values === undefined) return []
  const possible = type === 'text' ? values : values.filter((value) => isUuid(value) && value === value.toLowerCase())
  const { index, ...withoutIndex } = filter
  const isLeftOut = filter.leftOut?.some((value) => possible.includes(value)) === true
  return [
    {
      ...(isLeftOut || index === undefined ? withoutIndex : { ...withoutIndex, index }),
      values: [...new Set(possible)],
    },
  ]
}

function matches(filters: readonly Filter[]): RawBuilder<boolean> {
  const conditions = filters.map(
    ({ column, expression, type, values }) =>
      sql`${expression ?? sql.ref(column)} = any (${[...values]}::${sql.raw(type)}[])`,
  )
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

function hasValueOf<Database, Table extends keyof Database, Row>(
  { hasValue }: FilteredList<Database, Table, Row>,
  { column, leftOut = [] }: Filter,
  value: RawBuilder<string>,
): RawBuilder<boolean> {
  const isValue = hasValue?.(column, value) ?? sql<boolean>`${sql.ref(column)} = ${value}`
  // The index's condition, in its words: the planner does not know the value.
  const others = leftOut.map((common) => sql` and ${sql.ref(column)} <> ${sql.lit(common)}`)
  return sql<boolean>`${isValue}${sql.join(others, sql``)}`
}

function indexesOf({ indexes }: PageRequest, driver: Filter | undefined): PageIndexes | undefined {
  return driver === undefined || driver.index === 'one' ? indexes : driver.index
}

function recordsOfDriver<Database, Table extends keyof Database, Row extends Placed>(
  list: FilteredList<Database, Table, Row>,
  driver: Filter,
  query: SelectQueryBuilder<Database, Table, Row>,
) {
  const { values, type, index } = driver
  const indexes = indexesOf(list.request, driver) ?? 'owner'
  const wanted = { values, type, namesOne: index === 'one' }
  return recordsOfEach([wanted], (value) => query.where(hasValueOf(list, driver, value)), { ...list.request, indexes })
}

/**
 * Examines an equal number of records for each value of the driver. When a value has more records, the page ends at the
 * first such end: later records have been examined for only some values.
 */
async function readBounded<Database, Table extends keyof Database, Row extends Placed>(
  tables: Kysely<Database>,
  list: FilteredList<Database, Table, Row>,
  driver: Filter | undefined,
  others: readonly Filter[],
): Promise<TextPage> {
  const { query, item, request, bytesMax, range } = list
  const inOrder = examinedInOrder(list, driver, others)
  const after = sql.raw(request.order === 'ASC' ? '>' : '<')
  const { rows } = await sql<Placed & { readonly is_end: boolean }>`
    with ${range === undefined ? sql`examined` : examinedInRange(range, driver, others, request)} as materialized (
      ${range === undefined ? sql`select * from ${inOrder} as part` : chosenOf(inOrder)}
    ), first_end as (
      select created_at, id from examined where is_end order by ${orderIn('examined', request.order, 'owner')} limit 1
    ), matching as (
      select created_at, id from examined where matches and not exists (
        select from first_end
        where (examined.created_at, examined.id) ${after} (first_end.created_at, first_end.id)
      )
      order by ${orderIn('examined', request.order, 'owner')} limit ${limitOf(request) + 1}
    )
    select * from (
      select created_at, id, false as is_end from matching union all select created_at, id, true from first_end
    ) as found order by ${orderIn('found', request.order, 'owner')}
  `.execute(tables)
  const found = rows.filter(({ is_end }) => !is_end)
  const wanted = { values: found.map(({ id }) => id), type: request.idType, namesOne: true } as const
  // A record may have changed since: then it is left out, as if it had changed before.
  const stillMatches = sql`${matches(driver === undefined ? others : [driver, ...others])} and ${isInRange(range)}`
  // In `coalesce`, so the planner finds these records by their ids, not by another column's index.
  const matching = query.where(sql<boolean>`coalesce(${stillMatches}, false)`)
  const records = recordsOfEach([wanted], (value) => matching.where(sql<boolean>`id = ${value}`), request)
  const page = await readTextPage(tables, records, item, request, bytesMax)
  const end = found.length > limitOf(request) ? found.at(-1) : rows.find(({ is_end }) => is_end)
  if (page.next_page_cursor !== undefined || end === undefined) return page
  return { ...page, next_page_cursor: cursorAfter(end, request) }
}

/** The records found by the driver, or all records, in list order, each with whether it matches. */
function examinedInOrder<Database, Table extends keyof Database, Row extends Placed>(
  list: FilteredList<Database, Table, Row>,
  driver: Filter | undefined,
  others: readonly Filter[],
): RawBuilder<unknown> {
  const { query, request, range } = list
  const examinedMax = range === undefined ? EXAMINED_MAX : EXAMINED_MAX - IN_RANGE_MAX
  const share = Math.max(limitOf(request) + 1, Math.floor(examinedMax / Math.max(1, driver?.values.length ?? 1)))
  const indexes = indexesOf(request, driver)
  const part = { ...request, ...(indexes === undefined ? {} : { indexes }) }
  const found = (records: SelectQueryBuilder<Database, Table, Row>) => sql`(
    select created_at, id, ${matches(others)} and ${isInRange(range)} as matches, row_number() over () = ${share} as is_end
    from (${pageQuery(records, part, share)}) as record
  )`
  if (driver === undefined) return found(query)
  return sql`(
    select part.* from unnest(${[...driver.values]}::${sql.raw(driver.type)}[]) as wanted (value)
    cross join lateral ${found(query.where(hasValueOf(list, driver, sql<string>`wanted.value`)))} as part
  )`
}

function isInRange(range: { readonly column: string; readonly range: Range } | undefined): RawBuilder<boolean> {
  return range === undefined ? sql<boolean>`true` : isWithin(range.column, range.range)
}

/** The records in the range, at most IN_RANGE_MAX. The limit is applied before every other condition. */
function examinedInRange<Database, Table extends keyof Database, Row extends Placed>(
  { column, range, owned, created }: RangeFilter<Database, Table, Row>,
  driver: Filter | undefined,
  others: readonly Filter[],
  request: PageRequest,
): RawBuilder<unknown> {
  const all = driver === undefined ? others : [driver, ...others]
  const isCreatedWithin = created === undefined ? sql`true` : isMadeWithin(created)
  return sql`in_range as materialized (
      select created_at, id, ${matches(all)} and ${isCreatedWithin} and ${isAfterCursor(request)} as matches
      from (
        ${owned.where(isWithin(column, range)).orderBy(sql.ref(column)).limit(IN_RANGE_MAX)}
      ) as record
    ), range_size as materialized (select count(*) as records from in_range), examined`
}

/** The records in the range when those are all. Otherwise the records in list order. */
function chosenOf(inOrder: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select created_at, id, matches, false as is_end from in_range
    where (select records from range_size) < ${IN_RANGE_MAX}
    union all
    select part.* from ${inOrder} as part where (select records from range_size) >= ${IN_RANGE_MAX}`
}
