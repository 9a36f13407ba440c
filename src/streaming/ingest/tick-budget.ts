/**
 * The publishers' common share in each event-loop tick, so that fast ones do not delay sessions, requests and each
 * other. Work without time left is queued and continues at the end of the tick, round robin. The remainder continues at
 * the end of the next tick, after the I/O that is ready.
 */
import type { Clock } from '../../platform/base/clock.ts'

/** About a hundred messages. Large ones are read in parts, but their effect, at the end, is not divided. */
const TICK_MILLISECONDS = 4

/** Work in steps: returns whether there is another step to do now. */
export type Step = () => boolean

export class TickBudget {
  readonly #clock: Clock
  readonly #queue = new Set<Step>()
  /** When this tick's work began. Undefined before it. */
  #startMilliseconds: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether work may be done in this tick. To be asked before every message. */
  hasTime(): boolean {
    const now = this.#clock.monotonicMilliseconds()
    this.#startMilliseconds ??= this.#begin(now)
    return now - this.#startMilliseconds < TICK_MILLISECONDS
  }

  /** Calls `step` from the end of this tick on, until it returns false. */
  queue(step: Step): void {
    this.#queue.add(step)
    this.#startMilliseconds ??= this.#begin(this.#clock.monotonicMilliseconds())
  }

  cancel(step: Step): void {
    this.#queue.delete(step)
  }

  #begin(nowMilliseconds: number): number {
    this.#clock.endOfTick(() => {
      this.#startMilliseconds = undefined
      for (const step of this.#queue) {
        if (!this.hasTime()) return
        this.#queue.delete(step)
        // Behind the others, which come first. The loop comes to it again.
        if (step()) this.#queue.add(step)
      }
    })
    return nowMilliseconds
  }
}
