/**
 * A clock that a test owns: time stands still until `advance` moves it, timers run in the order of their due time,
 * and the end of a turn comes when the test says so (`settle`) or before time moves.
 */
import type { Clock, Instant, Timer } from '../../src/base/clock.ts'

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
  #endOfTurn: (() => void)[] = []

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

  schedule(delayMilliseconds: number, callback: () => void): Timer {
    const timer = { dueMilliseconds: this.#monotonic + delayMilliseconds, sequence: this.#sequence++, callback }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  endOfTurn(callback: () => void): void {
    this.#endOfTurn.push(callback)
  }

  /** Steps the wall clock without moving the monotonic one. */
  stepWall(milliseconds: number): void {
    this.#wallOffset += milliseconds
  }

  /** Ends the present turn, and the turns that its callbacks ask for, up to `turnsMax`. */
  settle(turnsMax = 1_000): void {
    for (let turn = 0; this.#endOfTurn.length > 0; turn++) {
      if (turn >= turnsMax) throw new Error(`the turn did not settle within ${turnsMax} turns`)
      const callbacks = this.#endOfTurn
      this.#endOfTurn = []
      for (const callback of callbacks) callback()
    }
  }

  /** Ends one turn only. */
  endTurn(): void {
    const callbacks = this.#endOfTurn
    this.#endOfTurn = []
    for (const callback of callbacks) callback()
  }

  /** Whether something falls due after exactly so long. */
  isDueIn(milliseconds: number): boolean {
    return [...this.#timers].some(({ dueMilliseconds }) => dueMilliseconds === this.#monotonic + milliseconds)
  }

  /** Moves time forward, running what falls due on the way at its own time. */
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

  /** Moves time forward at once, as for a process that was stopped: what fell due runs late, one callback each. */
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

/** Time stands still, and turns end as they do: for a node whose sockets are real. */
export class NodeClock extends VirtualClock {
  override endOfTurn(callback: () => void): void {
    setImmediate(callback)
  }
}
