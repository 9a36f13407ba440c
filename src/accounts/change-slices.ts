/**
 * Splits a range of times into slices. A slice of level n is 32^n ms long and begins at a multiple of its length, so it
 * contains 32 slices of the level below; every range of whole milliseconds is exactly a set of slices. Each time is in one
 * slice of each level. Integers only, so nothing is rounded. Pure.
 */
import type { TimeRange } from '../http/list-times.ts'

/** Slices of one level per slice of the next; more would need fewer rows per change and more slices per range. */
const FACTOR = 32
/** 32^9 ms are 1,115 years: ten slices of the highest level cover the years 0001 to 9999. */
const LEVEL_MAX = 9

const TOP_MILLISECONDS = FACTOR ** LEVEL_MAX
/** Open ends are boundaries of the highest level, so that they need no smaller slices. */
const EARLIEST = Math.floor(Date.parse('0001-01-01T00:00:00.000Z') / TOP_MILLISECONDS) * TOP_MILLISECONDS
const LATEST = Math.ceil(Date.parse('9999-12-31T23:59:59.999Z') / TOP_MILLISECONDS) * TOP_MILLISECONDS - 1

/** A slice by its level and its number, counted from the epoch; negative before it. */
export interface ChangeSlice {
  readonly level: number
  readonly slice: number
}

/** The slices of a time of whole milliseconds (RFC 3339), one of each level, from the lowest. */
export function slicesAt(time: string): readonly ChangeSlice[] {
  const milliseconds = Date.parse(time)
  return Array.from({ length: LEVEL_MAX + 1 }, (_, level) => ({
    level,
    slice: Math.floor(milliseconds / FACTOR ** level),
  }))
}

/**
 * The slices that cover a range exactly: at most 568, with an open end at most 289, because up to 31 slices of each level
 * are needed between an end and the next higher level.
 */
export function slicesOf({ from, until, isEmpty }: TimeRange): readonly ChangeSlice[] {
  const slices: ChangeSlice[] = []
  if (isEmpty) return slices
  let first = from === undefined ? EARLIEST : Date.parse(from)
  let last = until === undefined ? LATEST : Date.parse(until)
  for (let level = 0; level < LEVEL_MAX; level++) {
    for (; first <= last && first % FACTOR !== 0; first++) slices.push({ level, slice: first })
    for (; first <= last && (last + 1) % FACTOR !== 0; last--) slices.push({ level, slice: last })
    if (first > last) return slices
    first /= FACTOR
    last = (last + 1) / FACTOR - 1
  }
  for (; first <= last; first++) slices.push({ level: LEVEL_MAX, slice: first })
  return slices
}
