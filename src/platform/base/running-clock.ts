/**
 * A clock that stands still while this process does not run: suspended, starved of processor time, or blocked. A peer
 * is then not found silent because its messages could not be read. Between `start` and `stop` it looks at the time
 * twice a second, and counts a longer time as one interval only. Wall-clock times and tick ends come from the
 * underlying clock.
 */
import type { Clock, Instant, Timer } from './clock.ts'

const INTERVAL_MILLISECONDS = 500
/** When an interval ends this late, the process was not running. */
const LATE_MILLISECONDS = 500

export class RunningClock implements Clock {
  readonly #clock: Clock
  /** Counted up to the underlying clock's `#seenMilliseconds`. */
  #countedMilliseconds = 0
  #seenMilliseconds: number
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#seenMilliseconds = clock.monotonicMilliseconds()
  }

  start(): void {
    this.#seenMilliseconds = this.#clock.monotonicMilliseconds()
    this.#plan()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  wallInstant(): Instant {
    return this.#clock.wallInstant()
  }

  monotonicMilliseconds(): number {
    const since = this.#clock.monotonicMilliseconds() - this.#seenMilliseconds
    return this.#countedMilliseconds + Math.min(since, INTERVAL_MILLISECONDS)
  }

  schedule(delayMilliseconds: number, callback: () => void): Timer {
    const due = this.monotonicMilliseconds() + delayMilliseconds
    const onTimer = () => {
      const rest = due - this.monotonicMilliseconds()
      if (rest > 0) timer = this.#clock.schedule(Math.max(1, rest), onTimer)
      else callback()
    }
    let timer = this.#clock.schedule(delayMilliseconds, onTimer)
    return { cancel: () => timer.cancel() }
  }

  endOfTick(callback: () => void): void {
    this.#clock.endOfTick(callback)
  }

  #plan(): void {
    this.#timer = this.#clock.schedule(INTERVAL_MILLISECONDS, () => {
      const now = this.#clock.monotonicMilliseconds()
      const since = now - this.#seenMilliseconds
      const isLate = since > INTERVAL_MILLISECONDS + LATE_MILLISECONDS
      this.#countedMilliseconds += isLate ? INTERVAL_MILLISECONDS : since
      this.#seenMilliseconds = now
      this.#plan()
    })
  }
}
