/**
 * Runs each customer's account creations one at a time in this process. In the store, concurrent creations would wait
 * for the same row, each on a connection other customers need. The number of waiting creations and their waiting time
 * are limited.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { Problem } from '../../platform/http/problem.ts'
import { STATEMENT_MILLISECONDS_MAX } from '../../platform/store/db.ts'
import { Semaphore } from '../../platform/store/semaphore.ts'

/** One client's burst at the default `rest.rate_per_second`. An idle machine creates several hundred per second. */
const WAITING_MAX = 100

export class CreationQueue {
  readonly #clock: Clock
  /** By customer, while the customer is creating accounts. */
  readonly #queues = new Map<string, Semaphore>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws 503 at once when too many creations are waiting, or after STATEMENT_MILLISECONDS_MAX of waiting. */
  async run<Result>(customerId: string, create: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(customerId) ?? new Semaphore(this.#clock)
    if (queue.waiting >= WAITING_MAX) {
      const detail = `${WAITING_MAX} accounts are waiting to be created for this customer: send fewer at once`
      throw new Problem('unavailable', detail, { headers: { 'retry-after': '1' } })
    }
    this.#queues.set(customerId, queue)
    try {
      await queue.acquire(STATEMENT_MILLISECONDS_MAX)
    } catch (error) {
      this.#forget(customerId, queue)
      throw error
    }
    try {
      return await create()
    } finally {
      queue.release()
      this.#forget(customerId, queue)
    }
  }

  #forget(customerId: string, { inUse, waiting }: Semaphore): void {
    if (inUse === 0 && waiting === 0) this.#queues.delete(customerId)
  }
}
