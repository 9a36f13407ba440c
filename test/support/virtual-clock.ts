/**
 * A clock controlled by a test: time advances only with `advance`, timers run in due order, and an event-loop tick ends
 * when the test calls `settle` or before time advances.
 */
import type { Clock, Instant, Timer } from '../../src/platform/base/clock.ts'

interface PendingTimer {
  readonly dueMilliseconds: number
  readonly sequence: number
  readonly callback: () => void
}

export class VirtualClock implements Clock {
  #monotonic = 0
  #wallOffset: number
  #sequence = 0
  readonly #timers = new Set<PendingTimer>()
  #endOfTick: (() => void)[] = []

  constructor(startWallMilliseconds = Date.UTC(2026, 0, 1)) {
    this.#wallOffset = startWallMilliseconds
  }

  wallInstant(): Instant {
    const wall = this.#wallOffset + this.#monotonic
    const milliseconds = Math.floor(wall)
    return { milliseconds, nanoseconds: Math.floor((wall - milliseconds) * 1_000_000) }
  }

  monotonicMilliseconds(): number {
    return this.#monotonic
  }

  /** At least a nanosecond passes, as with any real timer: a sum that is rounded to the present would come up for ever. */
  schedule(delayMilliseconds: number, callback: () => void): Timer {
    const delay = delayMilliseconds > 0 ? Math.max(delayMilliseconds, 1e-6) : delayMilliseconds
    const timer = { dueMilliseconds: this.#monotonic + delay, sequence: this.#sequence++, callback }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  endOfTick(callback: () => void): void {
    this.#endOfTick.push(callback)
  }

  /** Steps the wall clock without moving the monotonic one. */
  stepWall(milliseconds: number): void {
    this.#wallOffset += milliseconds
  }

  /** Ends the current tick, and the ticks requested by its callbacks, up to `ticksMax`. */
  settle(ticksMax = 1_000): void {
    for (let tick = 0; this.#endOfTick.length > 0; tick++) {
      if (tick >= ticksMax) throw new Error(`callbacks were still requested after ${ticksMax} ticks`)
      const callbacks = this.#endOfTick
      this.#endOfTick = []
      for (const callback of callbacks) callback()
    }
  }

  /** Ends one tick only. */
  endTick(): void {
    const callbacks = this.#endOfTick
    this.#endOfTick = []
    for (const callback of callbacks) callback()
  }

  /** Whether a timer is due after exactly this time. */
  isDueIn(milliseconds: number): boolean {
    return [...this.#timers].some(({ dueMilliseconds }) => dueMilliseconds === this.#monotonic + milliseconds)
  }

  /** Advances time, and runs due timers on the way at their own time. */
  advance(milliseconds: number): void {
    const target = this.#monotonic + milliseconds
    this.settle()
    for (let next = this.#nextDue(target); next !== undefined; next = this.#nextDue(target)) {
      this.#timers.delete(next)
      this.#monotonic = Math.max(this.#monotonic, next.dueMilliseconds)
      next.callback()
      this.settle()
    }
    this.#monotonic = target
  }

  /** Advances time at once, as for a suspended process: due timers run late, once each. */
  standStill(milliseconds: number): void {
    this.#monotonic += milliseconds
    const late = [...this.#timers].filter(({ dueMilliseconds }) => dueMilliseconds <= this.#monotonic)
    for (const timer of late.sort((left, right) => left.dueMilliseconds - right.dueMilliseconds)) {
      if (!this.#timers.delete(timer)) continue
      timer.callback()
      this.settle()
    }
  }

  #nextDue(target: number): PendingTimer | undefined {
    let next: PendingTimer | undefined
    for (const timer of this.#timers) {
      if (timer.dueMilliseconds > target) continue
      if (
        next === undefined ||
        timer.dueMilliseconds < next.dueMilliseconds ||
        (timer.dueMilliseconds === next.dueMilliseconds && timer.sequence < next.sequence)
      ) {
        next = timer
      }
    }
    return next
  }
}

/** Time does not advance, and ticks end as usual: for a node with real sockets. */
export class NodeClock extends VirtualClock {
  override endOfTick(callback: () => void): void {
    setImmediate(callback)
  }
}
