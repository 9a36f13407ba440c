/** The query parameters for the operator's lists (`limit`, `order`, `page_cursor`), and the answers for all lists. */
import { type Static, type TSchema, Type } from 'typebox'
import { LIMIT_DEFAULT, LIMIT_RULE, LIMIT_SCHEMA, limitOf } from './list-limit.ts'
import { invalidRequest } from './problem.ts'
import { RawJson } from './raw-json.ts'
import { textChoice } from './text-choice.ts'

/** Strings only: a repeated parameter is an array, which its type rejects. */
export const PageQuery = Type.Object({
  limit: Type.Optional(Type.String()),
  order: Type.Optional(textChoice(['ASC', 'DESC'])),
  page_cursor: Type.Optional(Type.String()),
})

/** A query's schema for the API description, where `limit` is a number: the validator sees texts only. */
export function describedQuery({ properties, ...rest }: { readonly properties?: object }): object {
  if (properties === undefined || !('limit' in properties)) return { ...rest, properties }
  return { ...rest, properties: { ...properties, limit: LIMIT_SCHEMA } }
}

export interface PageParameters {
  readonly limit: number
  readonly order: 'ASC' | 'DESC'
  readonly pageCursor?: string
}

/** The schema for `next_page_cursor` in every page. */
export const NextPageCursor = Type.String({
  description:
    'Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records',
})

/** The schema for one list page. */
export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({ items: Type.Array(item), next_page_cursor: Type.Optional(NextPageCursor) })
}

/** A page as the store returns it. */
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

/** The answer for a list whose items are JSON text already. Its route needs WRITES_RAW_JSON. */
export function pageDocument({ itemTexts, next_page_cursor }: PageParts) {
  const items = new RawJson('[', ...itemTexts, ']')
  return next_page_cursor === undefined ? { items } : { items, next_page_cursor }
}

function readLimit(text: string): number {
  const limit = limitOf(text)
  if (limit !== undefined) return limit
  throw invalidRequest([{ parameter: 'limit', detail: LIMIT_RULE }])
}
