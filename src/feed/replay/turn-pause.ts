/**
 * The pause between two turns of a player: it ends the turn, and lasts at least a millisecond from there, because the
 * writer of a market commits no more often than that and what comes sooner would join the commit before. Somebody who
 * wants something sooner than the pause was meant to last cuts it short, to no less than that.
 */
import type { Clock, Timer } from '../../base/clock.ts'

const PAUSE_MILLISECONDS_MIN = 1
/** A pause is looked at again after so long at the latest: timers do not take any length. */
const TIMER_MILLISECONDS_MAX = 60_000

export class TurnPause {
  readonly #clock: Clock
  readonly #onOver: () => void
  #timer: Timer | undefined
  #isCutShort = false
  #isOver = false
  /** Monotonic time before which the pause must not be over; none while the turn goes on. */
  #earliestMilliseconds: number | undefined

  constructor(clock: Clock, milliseconds: number, onOver: () => void) {
    this.#clock = clock
    this.#onOver = onOver
    clock.endOfTurn(() => {
      if (this.#isOver) return
      this.#earliestMilliseconds = clock.monotonicMilliseconds() + PAUSE_MILLISECONDS_MIN
      this.#wait(this.#isCutShort ? 0 : milliseconds)
    })
  }

  cutShort(): void {
    this.#isCutShort = true
    if (this.#earliestMilliseconds !== undefined) this.#wait(0)
  }

  /** Ends it at once: nothing more is going to be played. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#timer?.cancel()
    this.#onOver()
  }

  #wait(milliseconds: number): void {
    this.#timer?.cancel()
    const bounded = Math.min(Math.max(PAUSE_MILLISECONDS_MIN, milliseconds), TIMER_MILLISECONDS_MAX)
    this.#timer = this.#clock.schedule(bounded, () => {
      // Timers may fire a little early by the monotonic clock.
      const early = (this.#earliestMilliseconds ?? 0) - this.#clock.monotonicMilliseconds()
      if (early > 0) this.#wait(early)
      else this.end()
    })
  }
}
