/** A timer for a time of the wall clock, however far away it is. */
import type { Clock, Timer } from './clock.ts'

/** Longest delay of a timer of the platform (almost 25 days). */
const TIMER_MILLISECONDS_MAX = 2_147_483_647

/** @param atMilliseconds since the epoch, by the wall clock; a time that has passed is due at once */
export function scheduleAt(clock: Clock, atMilliseconds: number, callback: () => void): Timer {
  let timer: Timer
  const wait = (): void => {
    const remaining = atMilliseconds - clock.wallInstant().milliseconds
    const delay = Math.min(Math.max(0, remaining), TIMER_MILLISECONDS_MAX)
    timer = clock.schedule(delay, () => {
      if (delay < remaining) wait()
      else callback()
    })
  }
  wait()
  return { cancel: () => timer.cancel() }
}
