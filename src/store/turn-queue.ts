/**
 * Turns at the one session of the embedded store: first come, first served, a bounded number waiting for a bounded
 * time. It hands out turns and knows nothing of what is done in them.
 */
import type { Clock } from '../base/clock.ts'
import { StoreUnavailable } from './db.ts'
import { WAITERS_MAX } from './embedded-limits.ts'

interface Waiter {
  readonly grant: () => void
  readonly refuse: (error: StoreUnavailable) => void
}

export class TurnQueue {
  readonly #clock: Clock
  /** In order of arrival; a waiter whose time ran out leaves from the middle. */
  readonly #waiters = new Set<Waiter>()
  #taken = false
  #closed = false
  #onIdle: () => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits for the turn, which is the caller's until `pass`. */
  take(waitMillisecondsMax: number): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    if (!this.#taken) {
      this.#taken = true
      return Promise.resolve()
    }
    if (this.#waiters.size >= WAITERS_MAX) {
      return Promise.reject(new StoreUnavailable(`${WAITERS_MAX} callers wait for the store already`))
    }
    return new Promise((resolve, reject) => {
      const timer = this.#clock.schedule(waitMillisecondsMax, () => {
        this.#waiters.delete(waiter)
        reject(new StoreUnavailable(`no turn at the store within ${waitMillisecondsMax} ms`))
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
      this.#taken = false
      this.#onIdle()
      return
    }
    this.#waiters.delete(next)
    next.grant()
  }

  /** Refuses everyone who waits and everyone who comes; settles when the turn that was given has been passed. */
  close(): Promise<void> {
    this.#closed = true
    for (const waiter of this.#waiters) waiter.refuse(new StoreUnavailable('the store is closed'))
    this.#waiters.clear()
    if (!this.#taken) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }
}
