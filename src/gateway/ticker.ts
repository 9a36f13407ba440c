/**
 * Reports the ends of the throttle intervals of the extended protocol. All intervals are on one grid of the monotonic
 * clock, so that all subscriptions with the same interval share one message and every second end of 50 ms is one of
 * 100 ms. After a stall, an interval that ended several times is reported once. It runs only while it is needed.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { EXTENDED_INTERVALS } from '../contract/channels.ts'

const GRID_MILLISECONDS = Math.min(...EXTENDED_INTERVALS)

export class Ticker {
  readonly #clock: Clock
  readonly #onEnds: (intervals: ReadonlySet<number>) => boolean
  #timer: Timer | undefined
  #lastMilliseconds = 0

  /** `onEnds` gets the intervals (milliseconds) that ended and returns whether the ticker is still needed. */
  constructor(clock: Clock, onEnds: (intervals: ReadonlySet<number>) => boolean) {
    this.#clock = clock
    this.#onEnds = onEnds
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#lastMilliseconds = this.#clock.monotonicMilliseconds()
    this.#scheduleNext()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #scheduleNext(): void {
    const next = (Math.floor(this.#lastMilliseconds / GRID_MILLISECONDS) + 1) * GRID_MILLISECONDS
    this.#timer = this.#clock.schedule(next - this.#clock.monotonicMilliseconds(), () => this.#report())
  }

  #report(): void {
    this.#timer = undefined
    const last = this.#lastMilliseconds
    const now = Math.max(last, this.#clock.monotonicMilliseconds())
    this.#lastMilliseconds = now
    const ended = EXTENDED_INTERVALS.filter((interval) => Math.floor(now / interval) > Math.floor(last / interval))
    if (ended.length === 0 || this.#onEnds(new Set(ended))) this.#scheduleNext()
  }
}
