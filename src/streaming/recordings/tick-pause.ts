/**
 * A player's pause between two event-loop ticks. It ends the current tick, and lasts at least a millisecond from its
 * end: a sequencer commits no more often, and earlier entries would join the commit before. `cutShort` ends a longer
 * pause after this minimum.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'

const PAUSE_MILLISECONDS_MIN = 1
/** Longest timer: a longer pause is split, because timers have a maximum. */
const TIMER_MILLISECONDS_MAX = 60_000

export class TickPause {
  readonly #clock: Clock
  readonly #onOver: () => void
  #timer: Timer | undefined
  #isCutShort = false
  #isOver = false
  /** Monotonic time before which the pause does not end. Undefined until the tick has ended. */
  #earliestMilliseconds: number | undefined

  constructor(clock: Clock, milliseconds: number, onOver: () => void) {
    this.#clock = clock
    this.#onOver = onOver
    clock.endOfTick(() => {
      if (this.#isOver) return
      this.#earliestMilliseconds = clock.monotonicMilliseconds() + PAUSE_MILLISECONDS_MIN
      this.#wait(this.#isCutShort ? 0 : milliseconds)
    })
  }

  cutShort(): void {
    this.#isCutShort = true
    if (this.#earliestMilliseconds !== undefined) this.#wait(0)
  }

  /** Ends the pause at once: nothing more is played. */
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
      // Timers may fire slightly early by the monotonic clock.
      const early = (this.#earliestMilliseconds ?? 0) - this.#clock.monotonicMilliseconds()
      if (early > 0) this.#wait(early)
      else this.end()
    })
  }
}
