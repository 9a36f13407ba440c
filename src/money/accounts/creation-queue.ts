/**
 * The accounts that one customer is creating in this process: one at a time, in order. In the store they would wait for the
 * same row, each with a connection that other customers need. The number that wait is bounded, and so is the time.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { Problem } from '../../platform/http/problem.ts'
import { STATEMENT_MILLISECONDS_MAX } from '../../platform/store/db.ts'
import { Semaphore } from '../../platform/store/semaphore.ts'

/** A burst of one client at the default `rest.rate_per_second`; an idle machine creates some hundred a second. */
const WAITING_MAX = 100

export class CreationQueue {
  readonly #clock: Clock
  /** By customer, while it creates accounts. */
  readonly #queues = new Map<string, Semaphore>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws 503 at once when too many wait, or after the time of a statement. */
  async run<Result>(customerId: string, create: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(customerId) ?? new Semaphore(this.#clock)
    if (queue.waiting >= WAITING_MAX) {
      const detail = `${WAITING_MAX} accounts of the customer are waiting to be created: send fewer at once`
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
