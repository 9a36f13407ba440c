/**
 * Lets an action through at most once per period and counts the suppressed calls: for log lines that a stranger could
 * cause repeatedly. It reads the given clock and never sets a timer.
 */
import type { Clock } from './clock.ts'

export class Throttle {
  readonly #clock: Clock
  readonly #periodMilliseconds: number
  #lastMilliseconds: number | undefined
  #suppressed = 0

  constructor(clock: Clock, periodMilliseconds: number) {
    this.#clock = clock
    this.#periodMilliseconds = periodMilliseconds
  }

  /**
   * Runs `action` unless it ran within the last period. The action receives the number of calls suppressed since then.
   */
  run(action: (suppressed: number) => void): void {
    const now = this.#clock.monotonicMilliseconds()
    if (this.#lastMilliseconds !== undefined && now - this.#lastMilliseconds < this.#periodMilliseconds) {
      this.#suppressed++
      return
    }
    const suppressed = this.#suppressed
    this.#lastMilliseconds = now
    this.#suppressed = 0
    action(suppressed)
  }
}
