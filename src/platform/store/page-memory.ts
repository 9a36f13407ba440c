/**
 * List pages in memory, with the same cursors and guarantees as lists in the store: in the order (created, id), every
 * record that exists from the first call to the last is returned exactly once, despite other records' creation or
 * removal meanwhile. Each page is one pass over the records. Nothing is kept between calls. Bytes are not counted: the
 * records must be small and bounded in size, so the largest page stays far below PAGE_BYTES_MAX.
 */
import { millisecondText } from '../base/clock.ts'
import type { Page, PageRequest } from './page.ts'
import { decodeCursor, encodeCursor } from './page-cursor.ts'

/** The fields determining a record's place in the order. */
export interface Placed {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly createdMilliseconds: number
}

/** The rest of a list, or its beginning. */
export interface PagePart<Record extends Placed> {
  readonly records: Iterable<Record>
  /** Where `records` end before the list does. Undefined when they are complete. */
  readonly end?: Placed | undefined
}

type MemoryRequest = Omit<PageRequest, 'columns' | 'idType'> & { readonly limit: number }

/** One page from `records`, which are those that match the request's filters. */
export function pageInMemory<Record extends Placed>(records: Iterable<Record>, request: MemoryRequest): Page<Record> {
  return pageOfParts([{ records }], request)
}

/** One page from several lists together: it ends where the first one is not known further. */
export function pageOfParts<Record extends Placed>(
  parts: readonly PagePart<Record>[],
  request: MemoryRequest,
): Page<Record> {
  const { limit, order, pageCursor } = request
  const sign = order === 'ASC' ? 1 : -1
  const compare = (left: Placed, right: Placed): number => sign * comparePlaces(left, right)
  const after = pageCursor === undefined ? undefined : placeOf(pageCursor, request)
  const [end] = parts.flatMap((part) => part.end ?? []).sort(compare)
  const left = parts
    .flatMap(({ records }) => [...records])
    .filter((record) => after === undefined || compare(record, after) > 0)
    .filter((record) => end === undefined || compare(record, end) <= 0)
  // Records nearly always come in creation order: such a list is sorted in one pass.
  left.sort(compare)
  const items = left.slice(0, limit)
  const last = left.length > limit ? items.at(-1) : end
  if (last === undefined) return { items }
  const createdAt = millisecondText(last.createdMilliseconds)
  return { items, next_page_cursor: encodeCursor({ createdAt, id: last.id }, request) }
}

function placeOf(cursor: string, request: MemoryRequest): Placed {
  const { createdAt, id } = decodeCursor(cursor, request, 'uuid')
  return { createdMilliseconds: Date.parse(createdAt), id }
}

function comparePlaces(left: Placed, right: Placed): number {
  if (left.createdMilliseconds !== right.createdMilliseconds)
    return left.createdMilliseconds - right.createdMilliseconds
  if (left.id === right.id) return 0
  return left.id < right.id ? -1 : 1
}
