/** The query parameters of every list: `limit`, `order`, `page_cursor`; and its answer, where the items are text. Pure. */
import { type Static, Type } from 'typebox'
import { invalidRequest } from './problem.ts'
import { RawJson } from './raw-json.ts'
import { textChoice } from './text-choice.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 1_000

/** Text only: a repeated parameter arrives as an array and is refused by its type. */
export const PageQuery = Type.Object({
  limit: Type.Optional(Type.String()),
  order: Type.Optional(textChoice(['ASC', 'DESC'])),
  page_cursor: Type.Optional(Type.String()),
})

export interface PageParameters {
  readonly limit: number
  readonly order: 'ASC' | 'DESC'
  readonly pageCursor?: string
}

/** Of every page's schema. */
export const NextPageCursor = Type.String({
  description: 'Absent on the last page, and only there: a page may hold fewer items than `limit`, as it ends at 2 MiB',
})

/** For lists whose items no document describes: those of the operator. */
export const PageAnswer = Type.Object({
  items: Type.Array(Type.Unknown()),
  next_page_cursor: Type.Optional(NextPageCursor),
})

/** What the store gives for a page. */
interface PageParts {
  /** Parts of the items' texts, commas included. */
  readonly itemTexts: readonly string[]
  readonly next_page_cursor?: string
}

export function readPageQuery(query: Static<typeof PageQuery>): PageParameters {
  const { limit: limitText, order = 'DESC', page_cursor: pageCursor } = query
  const limit = limitText === undefined ? LIMIT_DEFAULT : readLimit(limitText)
  // Empty means the first page.
  return pageCursor === undefined || pageCursor === '' ? { limit, order } : { limit, order, pageCursor }
}

/** The answer of a list whose items are text already; its route is one that WRITES_RAW_JSON. */
export function pageDocument({ itemTexts, next_page_cursor }: PageParts) {
  const items = new RawJson('[', ...itemTexts, ']')
  return next_page_cursor === undefined ? { items } : { items, next_page_cursor }
}

function readLimit(text: string): number {
  const limit = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= LIMIT_MAX) return limit
  throw invalidRequest([{ parameter: 'limit', detail: `must be a whole number from 1 to ${LIMIT_MAX}` }])
}
