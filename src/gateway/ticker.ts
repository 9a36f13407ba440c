/**
 * Says when the intervals of the extended wire are over. All ticks lie on one grid of the monotonic clock, so that
 * everyone with the same interval shares them and every second tick of 50 ms is one of 100 ms. After a stall an
 * interval that is over several times ticks once. It runs only while somebody wants it.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { EXTENDED_INTERVALS } from '../contract/channels.ts'

const GRID_MILLISECONDS = Math.min(...EXTENDED_INTERVALS)

export class Ticker {
  readonly #clock: Clock
  readonly #onTick: (intervals: ReadonlySet<number>) => boolean
  #timer: Timer | undefined
  #lastMilliseconds = 0

  /** `onTick` gets the intervals (milliseconds) that are over and returns whether any more ticks are wanted. */
  constructor(clock: Clock, onTick: (intervals: ReadonlySet<number>) => boolean) {
    this.#clock = clock
    this.#onTick = onTick
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
    this.#timer = this.#clock.schedule(next - this.#clock.monotonicMilliseconds(), () => this.#tick())
  }

  #tick(): void {
    this.#timer = undefined
    const last = this.#lastMilliseconds
    const now = Math.max(last, this.#clock.monotonicMilliseconds())
    this.#lastMilliseconds = now
    const over = EXTENDED_INTERVALS.filter((interval) => Math.floor(now / interval) > Math.floor(last / interval))
    if (over.length === 0 || this.#onTick(new Set(over))) this.#scheduleNext()
  }
}
