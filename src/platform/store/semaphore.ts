/**
 * The semaphore in front of an engine's connections: up to `permitsMax` callers hold a permit at the same time, the
 * others wait. The clients for whom they call alternate, each in arrival order, so a client with many calls does not
 * make others wait for them all. The number of waiting callers, in total and for each client, and each one's waiting
 * time are bounded.
 */
import { currentHolder } from '../base/caller.ts'
import type { Clock } from '../base/clock.ts'
import { SHARED_POOLS, SharedPool } from '../base/shared-pool.ts'
import { StoreTooSlow, StoreUnavailable } from './db.ts'

interface Waiter {
  readonly holder: string
  readonly grant: () => void
  readonly reject: (error: StoreUnavailable) => void
}

export class Semaphore {
  readonly #clock: Clock
  readonly #permitsMax: number
  /** By holder, the next one to be served first. Within a holder in arrival order. */
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #pool = new SharedPool(SHARED_POOLS.store_calls.size)
  #inUse = 0
  #closed = false
  #onIdle: () => void = () => undefined

  /** `permitsMax`: the largest number of permits in use at the same time. */
  constructor(clock: Clock, permitsMax = 1) {
    this.#clock = clock
    this.#permitsMax = permitsMax
  }

  /** Permits held now. */
  get inUse(): number {
    return this.#inUse
  }

  /** Callers waiting for a permit. */
  get waiting(): number {
    return this.#pool.total
  }

  /** Waits for a permit, which the caller holds until `release`. Rejects with `StoreUnavailable` after the wait. */
  acquire(waitMillisecondsMax: number): Promise<void> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    if (this.#inUse < this.#permitsMax) {
      this.#inUse++
      return Promise.resolve()
    }
    const holder = currentHolder()
    if (this.#pool.take(holder) !== undefined) {
      const detail = `${this.#pool.total} callers are already waiting for the store, ${this.#pool.held(holder)} for this client`
      return Promise.reject(new StoreTooSlow(detail))
    }
    return new Promise((resolve, reject) => {
      const timer = this.#clock.schedule(waitMillisecondsMax, () => {
        this.#remove(waiter)
        reject(new StoreTooSlow(`no connection to the store was free within ${Math.round(waitMillisecondsMax)} ms`))
      })
      const waiter: Waiter = {
        holder,
        grant() {
          timer.cancel()
          resolve()
        },
        reject(error) {
          timer.cancel()
          reject(error)
        },
      }
      const ofHolder = this.#waiters.get(holder)
      if (ofHolder === undefined) this.#waiters.set(holder, new Set([waiter]))
      else ofHolder.add(waiter)
    })
  }

  /** Gives the permit back. The next holder's longest-waiting caller gets it. */
  release(): void {
    const [turn] = this.#waiters
    if (turn === undefined) {
      this.#inUse--
      if (this.#inUse === 0) this.#onIdle()
      return
    }
    const [holder, waiters] = turn
    // A holder without waiting callers is removed.
    const next = waiters.values().next().value as Waiter
    this.#remove(next)
    // The holder's next turn comes after those of all others.
    if (this.#waiters.delete(holder)) this.#waiters.set(holder, waiters)
    next.grant()
  }

  /** Rejects all waiting callers. Later callers wait as usual. */
  rejectWaiting(reason: string): void {
    for (const waiter of [...this.#waiters.values()].flatMap((waiters) => [...waiters])) {
      this.#remove(waiter)
      waiter.reject(new StoreUnavailable(reason))
    }
  }

  /** Rejects all waiting and all later callers. Settles when no permit is in use. */
  close(): Promise<void> {
    this.#closed = true
    this.rejectWaiting('the store is closed')
    if (this.#inUse === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }

  #remove(waiter: Waiter): void {
    const ofHolder = this.#waiters.get(waiter.holder)
    if (ofHolder?.delete(waiter)) this.#pool.add(waiter.holder, -1)
    if (ofHolder?.size === 0) this.#waiters.delete(waiter.holder)
  }
}
