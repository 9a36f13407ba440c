/**
 * The connection that receives notifications from a PostgreSQL server and watches it: heartbeats detect a silent server
 * or network path, and it reconnects until it succeeds. Callers' statements never use it.
 *
 * States: `connecting` (unknown, callers wait), `up`, `down` (the last attempt failed or the server is silent, callers
 * are rejected at once), `closed`. A lost connection changes `up` to `connecting`, a missed heartbeat to `down`. Every
 * attempt ends in `up` or `down`.
 */
import { jitteredBackoff } from '../base/backoff.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { withTimeLimit } from '../base/time-limit.ts'
import { StoreTooSlow, StoreUnavailable } from './db.ts'
import {
  CONNECT_MILLISECONDS_MAX,
  HEARTBEAT_ANSWER_MILLISECONDS_MAX,
  HEARTBEAT_MILLISECONDS,
  RECONNECT_JITTER,
  RECONNECT_MILLISECONDS,
} from './limits.ts'
import type { NotificationListeners } from './notification-listeners.ts'
import { PostgresConnection } from './postgres-connection.ts'

const UNREACHABLE = 'the store cannot be reached: '

export interface WatchOptions {
  readonly url: string
  readonly listeners: NotificationListeners
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  /** The connection was lost: other connections to the server are probably lost too. */
  readonly onLost: () => void
  /** The server is unreachable. */
  readonly onDown: (reason: string) => void
}

export class PostgresWatch {
  readonly #options: WatchOptions
  #state: 'connecting' | 'up' | 'down' | 'closed' = 'connecting'
  #reason = 'it has not answered yet'
  #connection: PostgresConnection | undefined
  #timer: Timer | undefined
  #failures = 0
  #wasUp = false
  /** The running attempt. Never rejects. */
  #attempt: Promise<void>
  /** The last statement on the connection: statements run one at a time, in order. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: WatchOptions) {
    this.#options = options
    this.#attempt = this.#connect()
  }

  get isUp(): boolean {
    return this.#state === 'up'
  }

  /** Why the server is not known to be reachable, or undefined when it is. */
  get problem(): string | undefined {
    return this.isUp ? undefined : this.#reason
  }

  /** Waits for a running attempt's result, up to `waitMillisecondsMax`. Throws unless the server is reachable. */
  async ready(waitMillisecondsMax: number): Promise<void> {
    if (this.#state === 'connecting') await this.#isInTime(waitMillisecondsMax, this.#attempt)
    if (this.#state !== 'up') throw new StoreUnavailable(`${UNREACHABLE}${this.#reason}`)
  }

  /** Listens on a channel, after the running attempt. */
  async listen(channel: string, waitMillisecondsMax: number): Promise<void> {
    const { clock } = this.#options
    const deadline = clock.monotonicMilliseconds() + waitMillisecondsMax
    await this.ready(waitMillisecondsMax)
    const listening = this.#inOrder((connection) =>
      connection.run(`listen ${quoted(channel)}`, [], HEARTBEAT_ANSWER_MILLISECONDS_MAX),
    )
    const inTime = await this.#isInTime(deadline - clock.monotonicMilliseconds(), listening)
    if (!inTime) throw new StoreTooSlow('the store did not answer in time')
  }

  /** Stops listening, unless a listener was added meanwhile. A lost connection needs no `unlisten`. */
  async unlisten(channel: string): Promise<void> {
    try {
      await this.#inOrder(async (connection) => {
        if (this.#options.listeners.has(channel)) return
        await connection.run(`unlisten ${quoted(channel)}`, [], HEARTBEAT_ANSWER_MILLISECONDS_MAX)
      })
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }

  async close(): Promise<void> {
    this.#state = 'closed'
    this.#reason = 'it is closed'
    this.#timer?.cancel()
    await this.#attempt
    await this.#connection?.end()
  }

  async #connect(): Promise<void> {
    const { url, clock, listeners, log } = this.#options
    try {
      const connection = await PostgresConnection.open(
        {
          url,
          clock,
          onNotification: (channel, payload) => listeners.notify(channel, payload),
          onLost: (lost, reason, wasSilent) => this.#lost(lost, wasSilent ? 'down' : 'connecting', reason),
        },
        CONNECT_MILLISECONDS_MAX,
      )
      this.#connection = connection
      await refuseReadOnly(connection)
      for (const channel of listeners.channels()) {
        await connection.run(`listen ${quoted(channel)}`, [], HEARTBEAT_ANSWER_MILLISECONDS_MAX)
      }
    } catch (error) {
      this.#connection?.cut('it could not be used')
      this.#connection = undefined
      this.#failed(error)
      return
    }
    if (this.#state === 'closed') return
    this.#state = 'up'
    this.#failures = 0
    if (this.#wasUp) log.info({}, 'store is back')
    this.#timer = clock.schedule(HEARTBEAT_MILLISECONDS, () => void this.#heartbeat())
    if (this.#wasUp) listeners.reconnected()
    this.#wasUp = true
  }

  #failed(error: unknown): void {
    if (this.#state === 'closed') return
    const { clock, log, random } = this.#options
    if (this.#failures++ === 0) log.error({ err: error }, 'store unreachable')
    this.#down(error instanceof Error ? error.message.replace(UNREACHABLE, '') : String(error))
    const delayMilliseconds = jitteredBackoff(RECONNECT_MILLISECONDS, RECONNECT_JITTER, this.#failures, random)
    this.#timer = clock.schedule(delayMilliseconds, () => this.#reconnect())
  }

  #down(reason: string): void {
    this.#state = 'down'
    this.#reason = reason
    this.#options.onDown(`${UNREACHABLE}${reason}`)
  }

  #reconnect(): void {
    if (this.#state !== 'closed') this.#attempt = this.#connect()
  }

  #lost(connection: PostgresConnection, next: 'connecting' | 'down', reason: string): void {
    // While an attempt prepares the connection, it handles the loss itself.
    if (connection !== this.#connection || this.#state !== 'up') return
    this.#connection = undefined
    this.#timer?.cancel()
    this.#options.log.error({ reason }, 'store lost')
    if (next === 'down') this.#down(reason)
    else {
      this.#state = next
      this.#reason = reason
    }
    this.#options.onLost()
    this.#reconnect()
  }

  async #heartbeat(): Promise<void> {
    const { clock } = this.#options
    const connection = this.#connection
    try {
      await this.#inOrder(refuseReadOnly)
      if (this.#connection === connection && this.#state === 'up') {
        this.#timer = clock.schedule(HEARTBEAT_MILLISECONDS, () => void this.#heartbeat())
      }
    } catch (error) {
      if (connection === undefined) return
      this.#lost(connection, 'down', error instanceof Error ? error.message : String(error))
      connection.cut('it does not answer')
    }
  }

  /** Runs `work` after the statements before it. Rejects when the server is unreachable by then. */
  #inOrder(work: (connection: PostgresConnection) => Promise<unknown>): Promise<void> {
    const result = this.#last.then(async () => {
      if (this.#connection === undefined || this.#state !== 'up') {
        throw new StoreUnavailable(`${UNREACHABLE}${this.#reason}`)
      }
      await work(this.#connection)
    })
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Whether the promise settled within the time. Rejects as it does. */
  #isInTime(milliseconds: number, promise: Promise<void>): Promise<boolean> {
    const settled = promise.then(() => true)
    return withTimeLimit(this.#options.clock, milliseconds, settled, () => false)
  }
}

/** The heartbeat: a query without a table, whose answer also shows whether the server accepts writes. */
async function refuseReadOnly(connection: PostgresConnection): Promise<void> {
  const { rows } = await connection.run('show transaction_read_only', [], HEARTBEAT_ANSWER_MILLISECONDS_MAX)
  if (rows[0]?.transaction_read_only !== 'off') throw new StoreUnavailable('the server is read-only')
}

function quoted(channel: string): string {
  return `"${channel.replaceAll('"', '""')}"`
}
