/** A timer for a wall-clock time, however far away it is. */
import type { Clock, Timer } from './clock.ts'

/** The platform's longest timer delay (almost 25 days). */
const TIMER_MILLISECONDS_MAX = 2_147_483_647

/** @param atMilliseconds since the epoch, by the wall clock. A time that has passed is due at once. */
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
