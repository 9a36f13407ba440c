/**
 * A common share in each event-loop tick for one kind of work, so that much of it delays no other kind. Work without
 * time left is queued and continues at the end of the tick, round robin. The remainder continues at the end of the next
 * tick, after the I/O that is ready.
 */
import type { Clock } from './clock.ts'

/** Work in steps: returns whether there is another step to do now. */
export type Step = () => boolean

export class TickBudget {
  readonly #clock: Clock
  readonly #tickMilliseconds: number
  readonly #queue = new Set<Step>()
  /** When this tick's work began. Undefined before it. */
  #startMilliseconds: number | undefined

  constructor(clock: Clock, tickMilliseconds: number) {
    this.#clock = clock
    this.#tickMilliseconds = tickMilliseconds
  }

  /** Whether work may be done in this tick. To be asked before every piece. */
  hasTime(): boolean {
    const now = this.#clock.monotonicMilliseconds()
    this.#startMilliseconds ??= this.#begin(now)
    return now - this.#startMilliseconds < this.#tickMilliseconds
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
