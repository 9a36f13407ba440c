/**
 * Pages whose items the store writes as JSON text, so the main thread forwards the text without converting, parsing or
 * serialising values. A page never exceeds PAGE_BYTES_MAX, except by a single record. The engine reads little more than
 * that: large columns' sizes are summed before their values are read.
 *
 * A list describes its items as a member table, each with an SQL expression for its value's JSON text. A member without
 * a value is omitted. Tests compare these items with single-record documents.
 */
import type { Kysely } from './db.ts'
import { cursorAfter, limitOf, orderIn, PAGE_BYTES_MAX, type PageRecords, type PageRequest } from './page.ts'
import { type RawBuilder, type SelectQueryBuilder, sql } from './sql.ts'

/** An object's members, in the JSON text's order. One whose text is null is omitted. */
type MemberTexts = readonly (readonly [name: string, text: RawBuilder<string | null>])[]

/** How the store writes one record. The columns are those of `record`. */
export interface ItemText {
  readonly members: MemberTexts
  /**
   * Columns that may be large: text, or jsonb stored uncompressed (`set storage external`). Their sizes are known
   * without reading the values.
   */
  readonly large: { readonly text: readonly string[]; readonly jsonb: readonly string[] }
}

export interface TextPage {
  /** The items as JSON text, separated by commas, in consecutive parts of about CHUNK_BYTES. */
  readonly itemTexts: readonly string[]
  /** Absent on the last page, also when that is full. A page with fewer records than its limit may have one. */
  readonly next_page_cursor?: string
}

/** A string with any characters. */
export function quotedText(column: string): RawBuilder<string> {
  return sql`to_json(${reference(column)})::text`
}

/** A string without characters that need escapes: a UUID or an enumerated value. */
export function plainText(column: string): RawBuilder<string> {
  return sql`'"' || ${reference(column)} || '"'`
}

export function flagText(column: string): RawBuilder<string> {
  return sql`case when ${reference(column)} then 'true' else 'false' end`
}

/** A time in whole milliseconds, in the form from `column-types`. */
export function timeText(column: string): RawBuilder<string> {
  return sql`'"' || to_char(${reference(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`
}

/** A column with a JSON value's text. */
export function rawText(column: string): RawBuilder<string> {
  return sql`${reference(column)}`
}

/** A jsonb column, or its value at a path. Members are in jsonb's storage order. */
export function jsonbText(column: string, path: readonly string[] = []): RawBuilder<string> {
  if (path.length === 0) return sql`${reference(column)}::text`
  return sql`(${reference(column)} #> ${sql.lit(`{${path.join(',')}}`)})::text`
}

export function objectText(members: MemberTexts): RawBuilder<string> {
  const texts = members.map(([name, text]) => sql`${sql.lit(`${JSON.stringify(name)}:`)} || ${text}`)
  // A member without a value is null, and `concat_ws` leaves nulls out.
  return sql`'{' || concat_ws(',', ${sql.join(texts)}) || '}'`
}

/** Consecutive items. Null text stands for the records that do not fit on the page. */
interface ChunkRow {
  readonly text: string | null
  readonly last_created_at: string
  readonly last_id: string
}

/** Text bytes in one row: one event-loop tick decodes and forwards about this much. */
const CHUNK_BYTES = 65_536

/**
 * @param bytesMax bytes after which the page ends, less than the default for an answer that contains its items
 *   repeatedly
 */
export async function readTextPage<Database>(
  tables: Kysely<Database>,
  { query, indexes }: PageRecords<unknown>,
  item: ItemText,
  request: PageRequest,
  bytesMax = PAGE_BYTES_MAX,
): Promise<TextPage> {
  const limit = limitOf(request)
  const order = (table: string) => orderIn(table, request.order, indexes)
  const endOf = sql`sum(octet_length(text) + 1) over up_to`
  const fits = sql`number <= ${limit} and text is not null and (number = 1 or ${endOf} <= ${bytesMax})`
  // Innermost: the bytes in the large columns of all records before each. `written`: the text of those that may fit.
  // Its limit keeps the planner from merging the levels, which would write each text twice. `page`: where each text
  // ends.
  const { rows } = await sql<ChunkRow>`
    select
      string_agg(text, ',' order by number) filter (where chunk is not null) as text,
      (array_agg(created_at order by number desc))[1] as last_created_at,
      (array_agg(id order by number desc))[1] as last_id
    from (
      select created_at, id, text, number, case when ${fits} then ${endOf} / ${CHUNK_BYTES} end as chunk
      from (
        select created_at, id, number,
          case when number = 1 or bytes_before <= ${bytesMax} then ${objectText(item.members)} end as text
        from (
          select record.*, row_number() over preceding as number, sum(${sizeOf(item)}) over preceding as bytes_before
          from (${query}) as record
          window preceding as (order by ${order('record')} rows between unbounded preceding and 1 preceding)
        ) as record
        order by ${order('record')}
        limit ${limit + 1}
      ) as written
      window up_to as (order by ${order('written')} rows unbounded preceding)
    ) as page
    group by chunk
    order by min(number)
  `.execute(tables)
  const itemTexts: string[] = []
  let last: ChunkRow | undefined
  for (const row of rows) {
    if (row.text === null) break
    if (last !== undefined) itemTexts.push(',')
    itemTexts.push(row.text)
    last = row
  }
  if (last === undefined || last === rows.at(-1)) return { itemTexts }
  const { last_created_at: created_at, last_id: id } = last
  return { itemTexts, next_page_cursor: cursorAfter({ created_at, id }, request) }
}

/** One record's text as in lists. Undefined when `query` returns no record. */
export async function readItemText<Database>(
  tables: Kysely<Database>,
  query: SelectQueryBuilder<Database, keyof Database, unknown>,
  { members }: ItemText,
): Promise<string | undefined> {
  const { rows } = await sql<{ readonly text: string }>`
    select ${objectText(members)} as text from (${query}) as record
  `.execute(tables)
  return rows[0]?.text
}

function sizeOf({ large }: ItemText): RawBuilder<number> {
  const sizes = [
    ...large.text.map((column) => sql`coalesce(octet_length(${reference(column)}), 0)`),
    ...large.jsonb.map((column) => sql`coalesce(pg_column_size(${reference(column)}), 0)`),
  ]
  return sql`${sql.join(sizes, sql` + `)}`
}

function reference(column: string): RawBuilder<unknown> {
  return sql.ref(`record.${column}`)
}
