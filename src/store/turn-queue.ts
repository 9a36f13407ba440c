/**
 * Turns at the sessions of an engine, one or several at a time: first come, first served, a bounded number waiting for
 * a bounded time. It hands out turns and knows nothing of what is done in them.
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
  /** In order of arrival; a waiter whose time ran out leaves from the middle. */
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

  /** Waits for the turn, which is the caller's until `pass`. */
  take(waitMillisecondsMax: number): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    if (this.#taken < this.#turnsMax) {
      this.#taken++
      return Promise.resolve()
    }
    if (this.#waiters.size >= WAITERS_MAX) {
      return Promise.reject(new StoreUnavailable(`${WAITERS_MAX} callers wait for the store already`))
    }
    return new Promise((resolve, reject) => {
      const timer = this.#clock.schedule(waitMillisecondsMax, () => {
        this.#waiters.delete(waiter)
        reject(new StoreUnavailable(`no turn at the store within ${Math.round(waitMillisecondsMax)} ms`))
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

  /** Refuses all callers that wait now; later ones wait again. */
  refuseWaiting(reason: string): void {
    for (const waiter of this.#waiters) waiter.refuse(new StoreUnavailable(reason))
    this.#waiters.clear()
  }

  /** Refuses all callers that wait and all later ones; settles when every turn that was given has been passed. */
  close(): Promise<void> {
    this.#closed = true
    this.refuseWaiting('the store is closed')
    if (this.#taken === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }
}
