/**
 * A publisher's large message, parsed and checked in parts, so its reader can let other work run in between. The result
 * is the same as from `parsePublication`, with a SNAPSHOT's books already built. Orders and executions are checked and
 * applied at once. Pure.
 */

import { PUBLISHED_ENTRIES_MAX } from '../../../contract/publication.ts'
import { isObject, membersOf } from '../../../platform/base/json-value.ts'
import type { MarketDefinition } from '../../market/event.ts'
import { NotUtf8, parseJsonInParts } from './json-parts.ts'
import { Broken, checkLevel } from './member-checks.ts'
import { type PublicationProblem, type PublishedMessage, readPublication } from './message.ts'
import { PART_LEVELS, prepareBook } from './prepare-book.ts'
import type { PreparedBook } from './prepared-book.ts'

/** Shorter messages take about a millisecond at most. */
export const LARGE_MESSAGE_BYTES = 65_536

/** The markets for a symbol's SNAPSHOT. */
export type MarketsOf = (symbol: string) => readonly MarketDefinition[]

export function* readLargeMessage(bytes: Buffer, marketsOf: MarketsOf): Generator<void, PublishedMessage> {
  const parsed = yield* parseLargeMessage(bytes)
  return 'value' in parsed ? yield* readLargeValue(parsed.value, marketsOf) : parsed
}

/** A text's value, or why it has none. */
export function* parseLargeMessage(bytes: Buffer): Generator<void, { readonly value: unknown } | PublicationProblem> {
  try {
    return { value: yield* parseJsonInParts(bytes) }
  } catch (error) {
    const rule = error instanceof NotUtf8 ? 'is not UTF-8' : 'is not JSON'
    return { type: 'problem', market: undefined, isSnapshot: false, member: '', rule }
  }
}

/** Checks an already parsed message. */
export function* readLargeValue(value: unknown, marketsOf: MarketsOf): Generator<void, PublishedMessage> {
  const message = readPublication(value, yield* checkLevels(membersOf(value).payload))
  if (message.type !== 'SNAPSHOT' || message.orders !== undefined) return message
  const prepared: PreparedBook[] = []
  for (const market of marketsOf(message.market)) prepared.push(yield* prepareBook(message, market))
  return { ...message, prepared }
}

/** How many entries in each level list are valid, up to the first invalid one. */
function* checkLevels(payload: unknown): Generator<void, ReadonlyMap<unknown, number>> {
  const checked = new Map<unknown, number>()
  if (!isObject(payload)) return checked
  for (const entries of [payload.bids, payload.asks]) {
    // For a longer list, the length is the only problem to report.
    if (!Array.isArray(entries) || entries.length > PUBLISHED_ENTRIES_MAX) continue
    for (let start = 0; start < entries.length; start += PART_LEVELS) {
      const end = Math.min(entries.length, start + PART_LEVELS)
      if (!areLevels(entries, start, end, payload.type !== 'SNAPSHOT')) break
      checked.set(entries, end)
      yield
    }
  }
  return checked
}

function areLevels(entries: readonly unknown[], start: number, end: number, mayBeZero: boolean): boolean {
  try {
    for (let index = start; index < end; index++) checkLevel(entries[index], '', index, mayBeZero)
    return true
  } catch (error) {
    if (error instanceof Broken) return false
    throw error
  }
}
