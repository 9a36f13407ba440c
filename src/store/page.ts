/**
 * Pages of a list: keyset paging in the order (created_at, id), whatever is written meanwhile. A record keeps its
 * place for ever, so every record that existed at the first call comes exactly once. It owns the one
 * query shape; which records a caller may see is the query's own business.
 */
import { assert } from '../base/assert.ts'
import { decodeCursor, encodeCursor, type PageBinding, type PageIdType, type PageOrder } from './page-cursor.ts'
import { type SelectQueryBuilder, sql } from './sql.ts'

export { InvalidCursor } from './page-cursor.ts'
export type { PageOrder }

const PAGE_LIMIT_DEFAULT = 100
/** What one answer may hold: a page of so many records is built and sent within a few tens of milliseconds. */
const PAGE_LIMIT_MAX = 1_000

export interface PageRequest extends PageBinding {
  /** 1..1000, default 100; not part of the binding. */
  readonly limit?: number | undefined
  readonly pageCursor?: string | undefined
  readonly idType: PageIdType
  /** The columns in the query's own terms, when it joins tables: default `created_at` and `id`. */
  readonly columns?: { readonly createdAt: string; readonly id: string }
}

export interface Page<Row> {
  readonly items: Row[]
  /** Absent on the last page, also when that is full. */
  readonly next_page_cursor?: string
}

/**
 * One page of `query`, which selects `created_at` and `id` among its columns, filters by owner and has neither order
 * nor limit. One record more than the page holds is read, to know whether there is a next page.
 */
export async function readPage<Database, Table extends keyof Database, Row extends { created_at: string; id: string }>(
  query: SelectQueryBuilder<Database, Table, Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  const { limit = PAGE_LIMIT_DEFAULT, order, pageCursor, idType, columns } = request
  assert(Number.isInteger(limit) && limit >= 1 && limit <= PAGE_LIMIT_MAX, 'a page limit is 1 to 1000')
  const createdAt = sql.ref(columns?.createdAt ?? 'created_at')
  const id = sql.ref(columns?.id ?? 'id')
  let page = query
  if (pageCursor !== undefined) {
    const position = decodeCursor(pageCursor, request, idType)
    const comparison = sql.raw(order === 'ASC' ? '>' : '<')
    const values = sql`(${position.createdAt}::timestamptz, ${position.id}::${sql.raw(idType)})`
    page = page.where(sql<boolean>`(${createdAt}, ${id}) ${comparison} ${values}`)
  }
  const direction = sql.raw(order === 'ASC' ? 'asc' : 'desc')
  const rows = await page
    .orderBy(sql`${createdAt} ${direction}`)
    .orderBy(sql`${id} ${direction}`)
    .limit(limit + 1)
    .execute()
  if (rows.length <= limit) return { items: rows }
  const items = rows.slice(0, limit)
  const last = items[limit - 1] as Row
  return { items, next_page_cursor: encodeCursor({ createdAt: last.created_at, id: last.id }, request) }
}
