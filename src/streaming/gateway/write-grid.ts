/**
 * Write-interval ends (`stream.write_interval_ms`). All sessions share one grid on the monotonic clock, so those with
 * the same subscriptions share a whole interval's bytes. A timer runs only while frames are gathered.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'

export class WriteGrid {
  readonly #clock: Clock
  readonly #intervalMilliseconds: number
  readonly #onEnd: () => void
  #timer: Timer | undefined
  /** The end for which the timer was set last. */
  #endMilliseconds = 0
  #hasEnded = false

  /** `onEnd`: this tick has to end with `isDue`. */
  constructor(clock: Clock, intervalMilliseconds: number, onEnd: () => void) {
    this.#clock = clock
    this.#intervalMilliseconds = intervalMilliseconds
    this.#onEnd = onEnd
  }

  /** Must be called when a tick with gathered frames ends. Returns whether to write them now. */
  isDue(): boolean {
    const isDue = this.#hasEnded
    this.#hasEnded = false
    if (!isDue) this.#timer ??= this.#scheduleNext()
    return isDue
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #scheduleNext(): Timer {
    const now = this.#clock.monotonicMilliseconds()
    // A timer may run a little early. The next end is a later one all the same.
    const intervals = Math.floor(Math.max(now, this.#endMilliseconds) / this.#intervalMilliseconds)
    this.#endMilliseconds = (intervals + 1) * this.#intervalMilliseconds
    return this.#clock.schedule(this.#endMilliseconds - now, () => {
      this.#timer = undefined
      this.#hasEnded = true
      this.#onEnd()
    })
  }
}
