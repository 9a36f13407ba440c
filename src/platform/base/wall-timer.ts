/** A timer for a wall-clock time, however far away it is. */
import { type Clock, TIMER_MILLISECONDS_MAX, type Timer } from './clock.ts'

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
