/**
 * Lists with filters. The first filter that has an index leads to records in the order of the list, and what it finds is
 * held to the other filters; a filter without an index is one of those. For one page so many records are looked at and no
 * more: a page that would need more ends early, perhaps without an item, with a cursor behind what was looked at. A rare
 * value beside a common one then costs more pages, never a statement that reads all there is.
 */
import { isUuid } from '../base/ids.ts'
import {
  cursorAfter,
  limitOf,
  orderIn,
  type PageIndexes,
  type PageRequest,
  pageQuery,
  recordsOf,
  recordsOfEach,
  type WantedValues,
} from './page.ts'
import { type ItemText, readTextPage, type TextPage } from './page-text.ts'
import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from './sql.ts'

/** Records that one page looks at, for all values of a filter together: some ten milliseconds of either engine. */
const LOOKED_AT_MAX = 5_000

/** A filter that a request may have; `values` is undefined when it does not. */
export interface PossibleFilter {
  readonly column: string
  readonly type: WantedValues['type']
  readonly values: readonly string[] | undefined
  /** `one`: a value names one record of the owner, by a unique index. Absent: no index begins with it. */
  readonly index?: PageIndexes | 'one'
}

type Filter = PossibleFilter & { readonly values: readonly string[] }

export interface FilteredList<Database, Table extends keyof Database, Row> {
  /** All that the caller may see; records have `created_at` and `id`. */
  readonly query: SelectQueryBuilder<Database, Table, Row>
  /** In the order in which they are best to find records by. */
  readonly filters: readonly PossibleFilter[]
  readonly item: ItemText
  readonly request: PageRequest
  /** Where the page ends, for an answer that shows its items more than once. */
  readonly bytesMax?: number
  /** That a record has a value of a filter with an index; default: that the column equals it. */
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
  const { query, item, request, bytesMax } = list
  const filters = list.filters.flatMap(givenFilter)
  const driver = filters.find(({ index }) => index !== undefined)
  const others = filters.filter((filter) => filter !== driver)
  if (others.length > 0 && driver?.index !== 'one') return await readBounded(tables, list, driver, others)
  const matching = query.where(matches(others))
  const records = driver === undefined ? recordsOf(matching, request) : recordsOfDriver(list, driver, matching)
  return await readTextPage(tables, records, item, request, bytesMax)
}

/** Text that is no id of ours, byte by byte, matches nothing. */
function givenFilter(filter: PossibleFilter): readonly Filter[] {
  const { type, values } = filter
  if (values === undefined) return []
  const possible = type === 'text' ? values : values.filter((value) => isUuid(value) && value === value.toLowerCase())
  return [{ ...filter, values: [...new Set(possible)] }]
}

function matches(filters: readonly Filter[]): RawBuilder<boolean> {
  const conditions = filters.map(
    ({ column, type, values }) => sql`${sql.ref(column)} = any (${[...values]}::${sql.raw(type)}[])`,
  )
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

function hasValueOf<Database, Table extends keyof Database, Row>(
  { hasValue }: FilteredList<Database, Table, Row>,
  { column }: Filter,
  value: RawBuilder<string>,
): RawBuilder<boolean> {
  return hasValue?.(column, value) ?? sql<boolean>`${sql.ref(column)} = ${value}`
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
 * Looks at so many records of each value of the driver. Where there are more, the page ends with the first of those ends:
 * what lies behind it has been looked at for some values only.
 */
async function readBounded<Database, Table extends keyof Database, Row extends Placed>(
  tables: Kysely<Database>,
  list: FilteredList<Database, Table, Row>,
  driver: Filter | undefined,
  others: readonly Filter[],
): Promise<TextPage> {
  const { query, item, request, bytesMax } = list
  const share = Math.max(limitOf(request) + 1, Math.floor(LOOKED_AT_MAX / Math.max(1, driver?.values.length ?? 1)))
  const indexes = indexesOf(request, driver)
  const part = { ...request, ...(indexes === undefined ? {} : { indexes }) }
  const found = (records: SelectQueryBuilder<Database, Table, Row>) => sql`(
    select created_at, id, ${matches(others)} as matches, row_number() over () = ${share} as is_end
    from (${pageQuery(records, part, share)}) as record
  )`
  const each =
    driver === undefined
      ? found(query)
      : sql`(
          select part.* from unnest(${[...driver.values]}::${sql.raw(driver.type)}[]) as wanted (value)
          cross join lateral ${found(query.where(hasValueOf(list, driver, sql<string>`wanted.value`)))} as part
        )`
  const behind = sql.raw(request.order === 'ASC' ? '>' : '<')
  const { rows } = await sql<Placed & { readonly is_end: boolean }>`
    with looked_at as materialized (select * from ${each} as part), first_end as (
      select created_at, id from looked_at where is_end order by ${orderIn('looked_at', request.order, 'owner')} limit 1
    ), matching as (
      select created_at, id from looked_at where matches and not exists (
        select from first_end
        where (looked_at.created_at, looked_at.id) ${behind} (first_end.created_at, first_end.id)
      )
      order by ${orderIn('looked_at', request.order, 'owner')} limit ${limitOf(request) + 1}
    )
    select created_at, id, false as is_end from matching union all select created_at, id, true from first_end
  `.execute(tables)
  const values = rows.flatMap(({ id, is_end }) => (is_end ? [] : [id]))
  const wanted = { values, type: 'uuid', namesOne: true } as const
  const records = recordsOfEach([wanted], (value) => query.where(sql<boolean>`id = ${value}`), request)
  const page = await readTextPage(tables, records, item, request, bytesMax)
  const end = rows.find(({ is_end }) => is_end)
  if (page.next_page_cursor !== undefined || end === undefined) return page
  return { ...page, next_page_cursor: cursorAfter(end, request) }
}
