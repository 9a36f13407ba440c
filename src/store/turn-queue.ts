/**
 * A queue for the connections of an engine: up to `turnsMax` callers hold a turn at the same time, the others wait in order
 * of arrival. The number of waiting callers and the time that each waits are bounded.
 */
import type { Clock } from '../base/clock.ts'
import { StoreUnavailable } from './db.ts'
import { WAITERS_MAX } from './limits.ts'

interface Waiter {
  readonly grant: () => void
  readonly refuse: (error: StoreUnavailable) => void
}

export class TurnQueue {
  readonly #clock: Clock
  readonly #turnsMax: number
  /** In order of arrival; a waiter whose time has run out is removed from any position. */
  readonly #waiters = new Set<Waiter>()
  #taken = 0
  #closed = false
  #onIdle: () => void = () => undefined

  /** `turnsMax`: turns that may be taken at the same time. */
  constructor(clock: Clock, turnsMax = 1) {
    this.#clock = clock
    this.#turnsMax = turnsMax
  }

  get taken(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** Waits for a turn, which the caller holds until `pass`; rejects with `StoreUnavailable` after the wait. */
  take(waitMillisecondsMax: number): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    if (this.#taken < this.#turnsMax) {
      this.#taken++
      return Promise.resolve()
    }
    if (this.#waiters.size >= WAITERS_MAX) {
      return Promise.reject(new StoreUnavailable(`${WAITERS_MAX} callers are waiting for the store already`))
    }
    return new Promise((resolve, reject) => {
      const timer = this.#clock.schedule(waitMillisecondsMax, () => {
        this.#waiters.delete(waiter)
        reject(new StoreUnavailable(`no connection to the store was free within ${Math.round(waitMillisecondsMax)} ms`))
      })
      const waiter: Waiter = {
        grant() {
          timer.cancel()
          resolve()
        },
        refuse(error) {
          timer.cancel()
          reject(error)
        },
      }
      this.#waiters.add(waiter)
    })
  }

  pass(): void {
    const [next] = this.#waiters
    if (next === undefined) {
      this.#taken--
      if (this.#taken === 0) this.#onIdle()
      return
    }
    this.#waiters.delete(next)
    next.grant()
  }

  /** Rejects all callers that wait now; later ones may wait again. */
  refuseWaiting(reason: string): void {
    for (const waiter of this.#waiters) waiter.refuse(new StoreUnavailable(reason))
    this.#waiters.clear()
  }

  /** Rejects all waiting and all later callers; settles when no turn is held any more. */
  close(): Promise<void> {
    this.#closed = true
    this.refuseWaiting('the store is closed')
    if (this.#taken === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }
}
