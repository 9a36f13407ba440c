/**
 * Ranges of times of change as whole slices of time. A slice of level n is 32^n ms long and begins at a multiple of
 * that, so one of a level holds 32 of the level below; every range of whole milliseconds is some slices, exactly. Each
 * time lies in one slice of each level. Pure; integers only, so nothing is rounded.
 */
import type { TimeRange } from '../http/list-times.ts'

/** Slices of a level in one of the next; more would mean fewer rows for a change, and more slices for a range. */
const FACTOR = 32
/** 32^9 ms are 1,115 years: ten slices are all that a store can hold, the years 0001 to 9999. */
const LEVEL_MAX = 9

const TOP_MILLISECONDS = FACTOR ** LEVEL_MAX
/** Ends that are open lie at borders of the highest level, so that nothing smaller is spent on them. */
const EARLIEST = Math.floor(Date.parse('0001-01-01T00:00:00.000Z') / TOP_MILLISECONDS) * TOP_MILLISECONDS
const LATEST = Math.ceil(Date.parse('9999-12-31T23:59:59.999Z') / TOP_MILLISECONDS) * TOP_MILLISECONDS - 1

/** A part of time, by its level and how many of that level lie between the epoch and it; before the epoch negative. */
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
 * Slices that hold every time of a range once and no other: at most 568, of a range with an open end at most 289. On
 * each way from an end to the highest level up to 31 of each level are left over.
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
