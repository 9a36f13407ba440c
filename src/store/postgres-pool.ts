/**
 * The connections that callers take turns at: opened when somebody needs one, kept, and given up when they cannot be
 * trusted. It never opens more than its number, and knows nothing of what is done with them.
 */
import type { Clock } from '../base/clock.ts'
import { CLOSE_MILLISECONDS_MAX } from './limits.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { TurnQueue } from './turn-queue.ts'

export interface PoolOptions {
  readonly url: string
  readonly connectionsMax: number
  readonly clock: Clock
}

export class PostgresPool {
  readonly #options: PoolOptions
  readonly #turns: TurnQueue
  readonly #connections = new Set<PostgresConnection>()
  /** Those that no caller uses; the one used last is the next to be used. */
  readonly #idle: PostgresConnection[] = []
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#turns = new TurnQueue(options.clock, options.connectionsMax)
  }

  get turns(): Pick<TurnQueue, 'taken' | 'waiting'> {
    return this.#turns
  }

  /** Waits for a turn and a connection; it is the caller's until `giveBack`. */
  async take(waitMillisecondsMax: number, connectMillisecondsMax: number): Promise<PostgresConnection> {
    const { clock } = this.#options
    const deadlineMilliseconds = clock.monotonicMilliseconds() + waitMillisecondsMax
    await this.#turns.take(waitMillisecondsMax)
    try {
      const left = deadlineMilliseconds - clock.monotonicMilliseconds()
      return this.#idle.pop() ?? (await this.#open(Math.min(left, connectMillisecondsMax)))
    } catch (error) {
      this.#turns.pass()
      throw error
    }
  }

  giveBack(connection: PostgresConnection): void {
    if (connection.isClean && !this.#closed) this.#idle.push(connection)
    else connection.cut('it is not needed any more')
    this.#turns.pass()
  }

  /** Gives up the connections that no caller uses: the server they lead to was lost. */
  distrust(): void {
    for (const connection of this.#idle.splice(0)) connection.cut('the server was lost')
  }

  /** Refuses all callers that wait. */
  refuseWaiting(reason: string): void {
    this.#turns.refuseWaiting(reason)
  }

  /** Refuses callers that wait and later ones; what runs gets its time, and then is cut. */
  async close(): Promise<void> {
    this.#closed = true
    const patience = this.#options.clock.schedule(CLOSE_MILLISECONDS_MAX, () => {
      for (const connection of this.#connections) connection.cut('the store is closed')
    })
    await this.#turns.close()
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
