/**
 * The one connection to a PostgreSQL server that listens, and that knows whether the server is there: it sends a
 * heartbeat, so a server or a path that fell silent is noticed, and reconnects for as long as it takes. Nothing of what
 * callers store goes over it.
 *
 * States: `connecting` (not known; callers wait), `up`, `down` (the last attempt failed or the server fell silent;
 * callers are refused at once, and hang nowhere), `closed`. A connection that is cut while up leads to `connecting`, a
 * silence to `down`; every attempt leads to `up` or `down`.
 */
import { jitteredBackoff } from '../base/backoff.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { withTimeLimit } from '../base/time-limit.ts'
import { StoreUnavailable } from './db.ts'
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
  /** The connection was lost: others to the same server are not to be trusted either. */
  readonly onLost: () => void
  /** The server is known to be unreachable. */
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
  /** Settles with the attempt that runs; never rejects. */
  #attempt: Promise<void>
  /** Settles when what was asked on the connection has answered: one question at a time, in order. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: WatchOptions) {
    this.#options = options
    this.#attempt = this.#connect()
  }

  get isUp(): boolean {
    return this.#state === 'up'
  }

  /** Why it is not known to be there; undefined when it is. */
  get problem(): string | undefined {
    return this.isUp ? undefined : this.#reason
  }

  /** Waits, at most that long, while it is not known whether the server is there; throws unless it is. */
  async ready(waitMillisecondsMax: number): Promise<void> {
    if (this.#state === 'connecting') await this.#isInTime(waitMillisecondsMax, this.#attempt)
    if (this.#state !== 'up') throw new StoreUnavailable(`${UNREACHABLE}${this.#reason}`)
  }

  /** Listens, as soon as it is known whether the server is there. */
  async listen(channel: string, waitMillisecondsMax: number): Promise<void> {
    const { clock } = this.#options
    const deadline = clock.monotonicMilliseconds() + waitMillisecondsMax
    await this.ready(waitMillisecondsMax)
    const listening = this.#inTurn((connection) =>
      connection.run(`listen ${quoted(channel)}`, [], HEARTBEAT_ANSWER_MILLISECONDS_MAX),
    )
    const inTime = await this.#isInTime(deadline - clock.monotonicMilliseconds(), listening)
    if (!inTime) throw new StoreUnavailable('the store did not answer in time')
  }

  /** Ends that, unless somebody listens again by then; a connection that is lost listens to nothing anyway. */
  async unlisten(channel: string): Promise<void> {
    try {
      await this.#inTurn(async (connection) => {
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
    if (this.#failures++ === 0) log.warn({ err: error }, 'store unreachable')
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
    // While it is being prepared, the attempt itself sees to what follows.
    if (connection !== this.#connection || this.#state !== 'up') return
    this.#connection = undefined
    this.#timer?.cancel()
    this.#options.log.warn({ reason }, 'store lost')
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
      await this.#inTurn(refuseReadOnly)
      if (this.#connection === connection && this.#state === 'up') {
        this.#timer = clock.schedule(HEARTBEAT_MILLISECONDS, () => void this.#heartbeat())
      }
    } catch (error) {
      if (connection === undefined) return
      this.#lost(connection, 'down', error instanceof Error ? error.message : String(error))
      connection.cut('it does not answer')
    }
  }

  #inTurn(work: (connection: PostgresConnection) => Promise<unknown>): Promise<void> {
    const result = this.#last.then(async () => {
      if (this.#connection === undefined || this.#state !== 'up') {
        throw new StoreUnavailable(`${UNREACHABLE}${this.#reason}`)
      }
      await work(this.#connection)
    })
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Whether the promise settled within the time; rejects as it does. */
  #isInTime(milliseconds: number, promise: Promise<void>): Promise<boolean> {
    const settled = promise.then(() => true)
    return withTimeLimit(this.#options.clock, milliseconds, settled, () => false)
  }
}

/** A small question that the server answers without reading a table, and whose answer matters. */
async function refuseReadOnly(connection: PostgresConnection): Promise<void> {
  const { rows } = await connection.run('show transaction_read_only', [], HEARTBEAT_ANSWER_MILLISECONDS_MAX)
  if (rows[0]?.transaction_read_only !== 'off') throw new StoreUnavailable('the server takes no writes')
}

function quoted(channel: string): string {
  return `"${channel.replaceAll('"', '""')}"`
}
