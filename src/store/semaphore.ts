/**
 * The semaphore in front of the connections of an engine: up to `permitsMax` callers hold a permit at the same time, the
 * others wait in order of arrival. The number of waiting callers and the time that each waits are bounded.
 */
import type { Clock } from '../base/clock.ts'
import { StoreUnavailable } from './db.ts'
import { WAITERS_MAX } from './limits.ts'

interface Waiter {
  readonly grant: () => void
  readonly reject: (error: StoreUnavailable) => void
}

export class Semaphore {
  readonly #clock: Clock
  readonly #permitsMax: number
  /** In order of arrival; a waiter whose time has run out is removed from any position. */
  readonly #waiters = new Set<Waiter>()
  #inUse = 0
  #closed = false
  #onIdle: () => void = () => undefined

  /** `permitsMax`: permits that may be in use at the same time. */
  constructor(clock: Clock, permitsMax = 1) {
    this.#clock = clock
    this.#permitsMax = permitsMax
  }

  /** Permits that are held now. */
  get inUse(): number {
    return this.#inUse
  }

  /** Callers that wait for a permit. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** Waits for a permit, which the caller holds until `release`; rejects with `StoreUnavailable` after the wait. */
  acquire(waitMillisecondsMax: number): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    if (this.#inUse < this.#permitsMax) {
      this.#inUse++
      return Promise.resolve()
    }
    if (this.#waiters.size >= WAITERS_MAX) {
      return Promise.reject(new StoreUnavailable(`${WAITERS_MAX} callers are already waiting for the store`))
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
        reject(error) {
          timer.cancel()
          reject(error)
        },
      }
      this.#waiters.add(waiter)
    })
  }

  /** Gives the permit back; the caller that has waited longest gets it. */
  release(): void {
    const [next] = this.#waiters
    if (next === undefined) {
      this.#inUse--
      if (this.#inUse === 0) this.#onIdle()
      return
    }
    this.#waiters.delete(next)
    next.grant()
  }

  /** Rejects all callers that wait now; later callers wait as usual. */
  rejectWaiting(reason: string): void {
    for (const waiter of this.#waiters) waiter.reject(new StoreUnavailable(reason))
    this.#waiters.clear()
  }

  /** Rejects all waiting and all later callers; settles when no permit is in use. */
  close(): Promise<void> {
    this.#closed = true
    this.rejectWaiting('the store is closed')
    if (this.#inUse === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }
}
