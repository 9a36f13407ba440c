/**
 * Pages of a list that lives in memory, with the cursors and the promises of the lists in the store: in the order
 * (created, id), every record that is there from the first call to the last comes exactly once, whatever comes and goes
 * meanwhile. One pass over the records for each page; it keeps nothing. It does not count bytes: it is for records of a
 * fixed small size, of which the largest page stays far below what a page of the store may have.
 */
import { millisecondText } from '../base/clock.ts'
import type { Page, PageRequest } from './page.ts'
import { decodeCursor, encodeCursor } from './page-cursor.ts'

/** What gives a record its place. */
interface Placed {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly createdMilliseconds: number
}

/** One page of `records`, which are those that match the request's filters. */
export function pageInMemory<Record extends Placed>(
  records: Iterable<Record>,
  request: Omit<PageRequest, 'columns' | 'idType'> & { readonly limit: number },
): Page<Record> {
  const { limit, order, pageCursor } = request
  const sign = order === 'ASC' ? 1 : -1
  const compare = (left: Placed, right: Placed): number => sign * comparePlaces(left, right)
  const after = pageCursor === undefined ? undefined : placeOf(pageCursor, request)
  const left = [...records].filter((record) => after === undefined || compare(record, after) > 0)
  // Records come in the order in which they were made, nearly always: such a list is sorted in one pass.
  left.sort(compare)
  const items = left.slice(0, limit)
  const last = items.at(-1)
  if (last === undefined || left.length <= limit) return { items }
  const createdAt = millisecondText(last.createdMilliseconds)
  return { items, next_page_cursor: encodeCursor({ createdAt, id: last.id }, request) }
}

function placeOf(cursor: string, request: Omit<PageRequest, 'columns' | 'idType'>): Placed {
  const { createdAt, id } = decodeCursor(cursor, request, 'uuid')
  return { createdMilliseconds: Date.parse(createdAt), id }
}

function comparePlaces(left: Placed, right: Placed): number {
  if (left.createdMilliseconds !== right.createdMilliseconds)
    return left.createdMilliseconds - right.createdMilliseconds
  if (left.id === right.id) return 0
  return left.id < right.id ? -1 : 1
}
