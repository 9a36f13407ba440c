/**
 * The clock passed to everything that waits, times out or writes timestamps, so tests control time. The system clock
 * advances with the process's monotonic clock and follows a wall-clock step when it is next read. Also formats the
 * API's timestamps.
 */

/** A wall-clock instant: whole milliseconds since the Unix epoch and the nanoseconds (0..999999) inside that millisecond. */
export interface Instant {
  readonly milliseconds: number
  readonly nanoseconds: number
}

/** A scheduled callback. Cancelling it has no effect after it ran or was cancelled. */
export interface Timer {
  cancel(): void
}

export interface Clock {
  /** The wall clock, which may step in both directions. */
  wallInstant(): Instant
  /** Milliseconds, with fractions, on a clock that never goes backwards. Only differences are meaningful. */
  monotonicMilliseconds(): number
  /**
   * Runs `callback` once after at least `delayMilliseconds`, which is below 0 for a time that has passed meanwhile. A
   * pending timer does not keep the process alive.
   */
  schedule(delayMilliseconds: number, callback: () => void): Timer
  /** Runs `callback` once, at the end of this event-loop tick: after the I/O events that are ready now. */
  endOfTick(callback: () => void): void
  /**
   * How many times more slowly it runs than other systems' clocks, 1 unless given. A limit that another system enforces
   * by its own clock is multiplied by this number.
   */
  readonly slowness?: number
}

/** The platform's longest timer delay (almost 25 days). It runs a callback with a longer one at once. */
export const TIMER_MILLISECONDS_MAX = 2_147_483_647
/** How far the derived wall clock may differ from the operating system's before it is read again. */
const WALL_TOLERANCE_MILLISECONDS = 2

export function createSystemClock(): Clock {
  let anchorWall = Date.now()
  let anchorMonotonic = performance.now()
  return {
    wallInstant() {
      const now = Date.now()
      let derived = anchorWall + (performance.now() - anchorMonotonic)
      if (Math.abs(derived - now) > WALL_TOLERANCE_MILLISECONDS) {
        anchorWall = now
        anchorMonotonic = performance.now()
        derived = now
      }
      const milliseconds = Math.floor(derived)
      return { milliseconds, nanoseconds: Math.floor((derived - milliseconds) * 1_000_000) }
    },
    monotonicMilliseconds: () => performance.now(),
    schedule,
    endOfTick(callback) {
      setImmediate(callback)
    },
  }
}

function schedule(delayMilliseconds: number, callback: () => void): Timer {
  // Node.js 24 warns of a negative delay.
  const delay = Math.min(Math.max(0, delayMilliseconds), TIMER_MILLISECONDS_MAX)
  let rest: Timer | undefined
  const handle = setTimeout(() => {
    if (delay < delayMilliseconds) rest = schedule(delayMilliseconds - delay, callback)
    else callback()
  }, delay)
  handle.unref()
  return {
    cancel() {
      clearTimeout(handle)
      rest?.cancel()
    },
  }
}

let lastSecond = -1
let lastSecondText = ''

/** `2006-01-02T15:04:05` for a time in milliseconds since the epoch. Each second is formatted once. */
function secondText(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    lastSecondText = new Date(second * 1000).toISOString().slice(0, 19)
  }
  return lastSecondText
}

/** RFC 3339, UTC, exactly three fraction digits: `2006-01-02T15:04:05.123Z`. */
export function millisecondText(milliseconds: number): string {
  return `${secondText(milliseconds)}.${String(milliseconds % 1000).padStart(3, '0')}Z`
}

/** RFC 3339, UTC, exactly nine fraction digits: `2006-01-02T15:04:05.123456789Z`. */
export function nanosecondText(milliseconds: number, nanoseconds: number): string {
  return `${secondText(milliseconds)}.${String(milliseconds % 1000).padStart(3, '0')}${String(nanoseconds).padStart(6, '0')}Z`
}
