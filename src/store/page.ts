/**
 * Pages of a list: keyset paging in the order (created_at, id), whatever is written meanwhile. A record keeps its
 * place for ever, so every record that existed at the first call comes exactly once. It owns the cursor and the one
 * query shape; which records a caller may see is the query's own business.
 */
import { createHash } from 'node:crypto'
import { assert } from '../base/assert.ts'
import { type SelectQueryBuilder, sql } from './sql.ts'

export const PAGE_LIMIT_DEFAULT = 100
/** What one answer may hold: a page of so many records is built and sent within a few tens of milliseconds. */
export const PAGE_LIMIT_MAX = 1_000

export type PageOrder = 'ASC' | 'DESC'

/** What a cursor belongs to: it is refused for any other operation, owner, order or set of filters. */
export interface PageBinding {
  readonly operation: string
  /** The customer whose records these are, or `operator`. */
  readonly owner: string
  /** Filters as they take effect; absent ones left out or undefined. The order of a list of values means nothing. */
  readonly filters: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly order: PageOrder
}

/** What the list's `id` column is: a cursor with another kind of id is no cursor. */
export type PageIdType = 'uuid' | 'bigint'

/** Between two records: the last one that was handed out. */
export interface PagePosition {
  readonly createdAt: string
  readonly id: string
}

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

/** Not a cursor of ours, or one of another list: answered as 400 `invalid_cursor`. */
export class InvalidCursor extends Error {
  override name = 'InvalidCursor'

  constructor() {
    super('page_cursor is not one that this operation gave for these filters and this order')
  }
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

/** Digest, time and id; the separator is in none of them. */
const SEPARATOR = '|'

export function encodeCursor(position: PagePosition, binding: PageBinding): string {
  return Buffer.from([bindingDigest(binding), position.createdAt, position.id].join(SEPARATOR)).toString('base64url')
}

/** The position in a cursor that `encodeCursor` gave for an equal binding; anything else is an `InvalidCursor`. */
export function decodeCursor(cursor: string, binding: PageBinding, idType: PageIdType): PagePosition {
  const bytes = Buffer.from(cursor, 'base64url')
  // Decoding skips what is no base64url; only text that comes out the same way was ours.
  if (bytes.toString('base64url') !== cursor) throw new InvalidCursor()
  const [digest, createdAt, id, ...rest] = bytes.toString('latin1').split(SEPARATOR)
  if (createdAt === undefined || id === undefined || rest.length > 0) throw new InvalidCursor()
  if (digest !== bindingDigest(binding) || !isInstant(createdAt) || !isId(id, idType)) throw new InvalidCursor()
  return { createdAt, id }
}

/**
 * A plain digest and no signature: it catches a cursor used with another list, and that is all it has to do. A cursor
 * that somebody makes up names no more than a place in a list whose records the query filters by owner anyway.
 */
function bindingDigest({ operation, owner, filters, order }: PageBinding): string {
  const present = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, Array.isArray(value) ? [...value].sort() : value] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1))
  const text = JSON.stringify([1, operation, owner, order, present])
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** What `column-types` writes for a timestamptz, and a time that exists: PostgreSQL would fail on 30 February. */
function isInstant(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}(\d{3})?Z$/.test(text)) return false
  const milliseconds = Date.parse(`${text.slice(0, 23)}Z`)
  return (
    !text.startsWith('0000') &&
    !Number.isNaN(milliseconds) &&
    new Date(milliseconds).toISOString().slice(0, 23) === text.slice(0, 23)
  )
}

function isId(text: string, idType: PageIdType): boolean {
  if (idType === 'uuid') return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
  return /^(0|[1-9]\d{0,18})$/.test(text) && BigInt(text) < 2n ** 63n
}
