/**
 * The connection pool: opened on demand, up to `connectionsMax`, reused, and dropped when they are not clean or when
 * the server was lost. Waiting callers are served in order, each up to its own deadline. Their number is bounded.
 * Decision 0020 has the reasons for our own pool.
 */
import type { Clock } from '../base/clock.ts'
import { CLOSE_MILLISECONDS_MAX } from './limits.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { Semaphore } from './semaphore.ts'

export interface PoolOptions {
  readonly url: string
  readonly connectionsMax: number
  readonly clock: Clock
}

export class PostgresPool {
  readonly #options: PoolOptions
  readonly #semaphore: Semaphore
  readonly #connections = new Set<PostgresConnection>()
  /** Connections without a caller. The most recently used one is taken first. */
  readonly #idle: PostgresConnection[] = []
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#semaphore = new Semaphore(options.clock, options.connectionsMax)
  }

  get connections(): Pick<Semaphore, 'inUse' | 'waiting'> {
    return this.#semaphore
  }

  /** Waits for a connection. It belongs to the caller until `giveBack`. */
  async take(waitMillisecondsMax: number, connectMillisecondsMax: number): Promise<PostgresConnection> {
    const { clock } = this.#options
    const deadlineMilliseconds = clock.monotonicMilliseconds() + waitMillisecondsMax
    await this.#semaphore.acquire(waitMillisecondsMax)
    try {
      const left = deadlineMilliseconds - clock.monotonicMilliseconds()
      return this.#idle.pop() ?? (await this.#open(Math.min(left, connectMillisecondsMax)))
    } catch (error) {
      this.#semaphore.release()
      throw error
    }
  }

  giveBack(connection: PostgresConnection): void {
    if (connection.isClean && !this.#closed) this.#idle.push(connection)
    else connection.cut('it is no longer needed')
    this.#semaphore.release()
  }

  /** Closes the idle connections, because the server was lost. */
  dropIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.cut('the server was lost')
  }

  /** Rejects all waiting callers. */
  rejectWaiting(reason: string): void {
    this.#semaphore.rejectWaiting(reason)
  }

  /** Rejects waiting and later callers, waits CLOSE_MILLISECONDS_MAX for running ones, then cuts their connections. */
  async close(): Promise<void> {
    this.#closed = true
    const patience = this.#options.clock.schedule(CLOSE_MILLISECONDS_MAX, () => {
      for (const connection of this.#connections) connection.cut('the store is closed')
    })
    await this.#semaphore.close()
    patience.cancel()
    await Promise.all([...this.#connections].map((connection) => connection.end()))
  }

  async #open(millisecondsMax: number): Promise<PostgresConnection> {
    const { url, clock } = this.#options
    const onLost = (lost: PostgresConnection) => {
      this.#connections.delete(lost)
      const index = this.#idle.indexOf(lost)
      if (index >= 0) this.#idle.splice(index, 1)
    }
    const connection = await PostgresConnection.open({ url, clock, onLost }, millisecondsMax)
    this.#connections.add(connection)
    return connection
  }
}
