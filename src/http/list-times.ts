/**
 * Comparisons of times in list queries. Records have times of whole milliseconds; a filter may be finer, so each
 * comparison is brought to the grid of milliseconds exactly: before 12:00:00.0005 is at or before 12:00:00.000. All
 * comparisons of one time together are one range. Integers only, so nothing is rounded. Pure.
 */

/** The comparisons, with their words for the description of the API. */
export const TIME_COMPARISONS = {
  lt: 'strictly before',
  lte: 'at or before',
  eq: 'exactly at',
  gte: 'at or after',
  gt: 'strictly after',
} as const

type Comparison = keyof typeof TIME_COMPARISONS

/** From one millisecond to another, both included; an end that is not there is open. RFC 3339 in UTC. */
export interface TimeRange {
  readonly from?: string
  readonly until?: string
  /** No time is in it. */
  readonly isEmpty: boolean
}

/** An instant between two milliseconds, or on one. */
export interface Instant {
  /** The whole milliseconds before it, since the epoch. */
  readonly milliseconds: number
  readonly isWhole: boolean
}

/** The times that a store can hold: the years 0001 to 9999. */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z')
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')
const MINUTE_MILLISECONDS = 60_000
/** What a text has to be to be a time. */
export const TIME_RULE = 'must be an RFC 3339 time such as 2006-01-02T15:04:05Z, with at most 9 fraction digits'

/** RFC 3339 section 5.6. The sign of an offset is a blank where a `+` was not encoded. */
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([-+ ])(\d{2}):(\d{2}))$/

/**
 * The range that all given comparisons leave; `undefined` when none is given.
 * @param read the text of one comparison, when it is given
 */
export function readTimeRange(
  read: (comparison: Comparison) => string | undefined,
  complain: (comparison: Comparison, detail: string) => void,
): TimeRange | undefined {
  let from = Number.NEGATIVE_INFINITY
  let until = Number.POSITIVE_INFINITY
  let isGiven = false
  for (const comparison of Object.keys(TIME_COMPARISONS) as Comparison[]) {
    const text = read(comparison)
    if (text === undefined) continue
    isGiven = true
    const instant = readInstant(text)
    if (instant === undefined) complain(comparison, TIME_RULE)
    else {
      const [first, last] = range(comparison, instant)
      from = Math.max(from, first)
      until = Math.min(until, last)
    }
  }
  if (!isGiven) return undefined
  return {
    ...(from > EARLIEST && from <= LATEST ? { from: new Date(from).toISOString() } : {}),
    ...(until < LATEST && until >= EARLIEST ? { until: new Date(until).toISOString() } : {}),
    isEmpty: from > until || from > LATEST || until < EARLIEST,
  }
}

/** A single time, RFC 3339 in UTC, brought to the next whole millisecond; `undefined` when the text is none. */
export function readTime(text: string): string | undefined {
  const instant = readInstant(text)
  if (instant === undefined) return undefined
  const milliseconds = instant.isWhole ? instant.milliseconds : instant.milliseconds + 1
  return milliseconds < EARLIEST || milliseconds > LATEST ? undefined : new Date(milliseconds).toISOString()
}

/** The first and the last whole millisecond that compare so with an instant. */
function range(comparison: Comparison, { milliseconds, isWhole }: Instant): [first: number, last: number] {
  const next = milliseconds + 1
  switch (comparison) {
    case 'lt':
      return [Number.NEGATIVE_INFINITY, isWhole ? milliseconds - 1 : milliseconds]
    case 'lte':
      return [Number.NEGATIVE_INFINITY, milliseconds]
    case 'eq':
      return isWhole ? [milliseconds, milliseconds] : [next, milliseconds]
    case 'gte':
      return [isWhole ? milliseconds : next, Number.POSITIVE_INFINITY]
    case 'gt':
      return [next, Number.POSITIVE_INFINITY]
  }
}

/** Reads an RFC 3339 time; undefined: it is none. */
export function readInstant(text: string): Instant | undefined {
  const match = TIME.exec(text)
  if (match === null) return undefined
  const [
    ,
    date = '',
    hour = '',
    minute = '',
    second = '',
    fraction = '',
    sign,
    offsetHour = '00',
    offsetMinute = '00',
  ] = match
  const midnight = Date.parse(`${date}T00:00:00.000Z`)
  const exists = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(date)
  // Second 60 is a leap second; it is the one after 59, as clocks that know none have it.
  const isClock = hour <= '23' && minute <= '59' && second <= '60' && offsetHour <= '23' && offsetMinute <= '59'
  if (!exists || !isClock) return undefined
  const offsetMinutes = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  const minutes = Number(hour) * 60 + Number(minute) - offsetMinutes
  const within = Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  return {
    milliseconds: midnight + minutes * MINUTE_MILLISECONDS + within,
    isWhole: /^0*$/.test(fraction.slice(3)),
  }
}
