/**
 * Time comparisons in list queries. Records have times in whole milliseconds and a filter may be finer, so each
 * comparison is converted exactly to milliseconds: before 12:00:00.0005 means at or before 12:00:00.000. All
 * comparisons for one time form one range. Integers only, so nothing is rounded. Pure.
 */

/** The comparisons, with their wording in the API description. */
export const TIME_COMPARISONS = {
  lt: 'strictly before',
  lte: 'at or before',
  eq: 'exactly at',
  gte: 'at or after',
  gt: 'strictly after',
} as const

type Comparison = keyof typeof TIME_COMPARISONS

/** From one millisecond to another, both inclusive. An absent end is open. RFC 3339 in UTC. */
export interface TimeRange {
  readonly from?: string
  readonly until?: string
  /** The range contains no time. */
  readonly isEmpty: boolean
}

/** An instant, possibly between two milliseconds. */
export interface Instant {
  /** Whole milliseconds since the epoch, rounded down. */
  readonly milliseconds: number
  readonly isWhole: boolean
}

/** The times accepted by the store: the years 0001 to 9999. */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z')
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')
const MINUTE_MILLISECONDS = 60_000
/** The rule in error details. */
export const TIME_RULE = 'must be an RFC 3339 time such as 2006-01-02T15:04:05Z, with at most 9 fraction digits'

/** RFC 3339 section 5.6. An offset's sign is a space where a `+` was not percent-encoded. */
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([-+ ])(\d{2}):(\d{2}))$/

/**
 * The range that satisfies all given comparisons, or `undefined` when none is given.
 * @param read returns one comparison's text, when it is given
 * @param reject called for a comparison that is not a time
 */
export function readTimeRange(
  read: (comparison: Comparison) => string | undefined,
  reject: (comparison: Comparison, detail: string) => void,
): TimeRange | undefined {
  let from = Number.NEGATIVE_INFINITY
  let until = Number.POSITIVE_INFINITY
  let isGiven = false
  for (const comparison of Object.keys(TIME_COMPARISONS) as Comparison[]) {
    const text = read(comparison)
    if (text === undefined) continue
    isGiven = true
    const instant = readInstant(text)
    if (instant === undefined) reject(comparison, TIME_RULE)
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

/**
 * Parses one time and rounds it up to a whole millisecond: RFC 3339 in UTC. Returns `undefined` when the text is not a
 * time.
 */
export function readTime(text: string): string | undefined {
  const instant = readInstant(text)
  if (instant === undefined) return undefined
  const milliseconds = instant.isWhole ? instant.milliseconds : instant.milliseconds + 1
  return milliseconds < EARLIEST || milliseconds > LATEST ? undefined : new Date(milliseconds).toISOString()
}

/** The first and the last whole millisecond for which the comparison with an instant holds. */
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

/** Parses an RFC 3339 time. Returns undefined when the text is not one. */
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
  const midnight = midnightOf(date)
  // Second 60 is a leap second. Like most clocks, it is read as the first second of the next minute.
  const isClock = hour <= '23' && minute <= '59' && second <= '60' && offsetHour <= '23' && offsetMinute <= '59'
  if (midnight === undefined || !isClock) return undefined
  const offsetMinutes = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  const minutes = Number(hour) * 60 + Number(minute) - offsetMinutes
  const within = Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  return {
    milliseconds: midnight + minutes * MINUTE_MILLISECONDS + within,
    isWhole: fraction.length <= 3 || /^0*$/.test(fraction.slice(3)),
  }
}

/** The last parsed date: dates in a publisher's messages hardly ever change, and parsing one is slow. */
let lastDate: { readonly text: string; readonly midnight: number } | undefined

/** The beginning of a UTC day, in milliseconds since the epoch, or undefined when there is no such day. */
function midnightOf(text: string): number | undefined {
  if (lastDate?.text === text) return lastDate.midnight
  const midnight = Date.parse(`${text}T00:00:00.000Z`)
  const exists = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(text)
  if (!exists) return undefined
  lastDate = { text, midnight }
  return midnight
}
