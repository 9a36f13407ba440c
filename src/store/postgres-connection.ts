/**
 * One connection to a PostgreSQL server, and the only file that knows its driver. It turns the driver's rows and errors
 * into the store's, and holds the server to its time: a statement that is not answered loses the connection. It never
 * reconnects, never repeats a statement, and keeps the address, which may hold a password, out of every message.
 */
import { Socket } from 'node:net'
import { Client, DatabaseError, type QueryArrayResult } from 'pg'
import type { Clock } from '../base/clock.ts'
import type { StatementOutcome, WrittenParameters } from './caller-session.ts'
import { affectedRowsOf, ColumnTypeProblem, namedRows, SESSION_SETTINGS } from './column-types.ts'
import { STATEMENT_MILLISECONDS_MAX, StatementFailed, StoreUnavailable } from './db.ts'
import { CANCEL_LEAD_MILLISECONDS, CLOSE_MILLISECONDS_MAX, TRANSACTION_IDLE_MILLISECONDS_MAX } from './limits.ts'

export interface ConnectionOptions {
  readonly url: string
  readonly clock: Clock
  readonly onNotification?: (channel: string, payload: string) => void
  /** Called once, when a connection that was open is lost without having been asked to end: cut, or fallen silent. */
  readonly onLost?: (connection: PostgresConnection, reason: string, wasSilent: boolean) => void
}

/**
 * Codes of PostgreSQL (appendix A) for statements that are right and that the server cannot execute now; a
 * class of two characters, or a whole code. Beside these, whatever ends the session (FATAL, PANIC) is one of them.
 */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  '08': 'connection exception',
  '53': 'insufficient resources: disk full, out of memory, too many connections',
  '58': 'system error outside PostgreSQL',
  '25006': 'read-only: a standby, or a server that takes no writes',
  '25P03': 'the transaction was idle for too long',
  '57014': 'cancelled: it took too long',
  '57P01': 'shutting down',
  '57P02': 'crashed',
  '57P03': 'starting up or shutting down',
  '57P05': 'the session was idle for too long',
}

/** Every value stays the server's text until `column-types` reads it. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

/** What the runtime reads at once from a socket that has more, and over TLS one record. */
const FULL_READ_BYTES = 16_384

/**
 * Statements here take milliseconds. Where the planner expects more, because a table has no statistics yet, compiling one
 * takes 30 to 130 ms, every time.
 */
const JIT_OFF = 'set jit = off'

/** A backstop behind our own limit, for when this process cannot act any more. */
const SERVER_IDLE_MILLISECONDS_MAX = TRANSACTION_IDLE_MILLISECONDS_MAX * 2

export class PostgresConnection {
  readonly #client: Client
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  #state: 'opening' | 'open' | 'ending' | 'lost' = 'opening'
  /** Why we cut it ourselves; absent when it was cut from outside. */
  #cutBecause: string | undefined
  #wasSilent = false

  private constructor(options: ConnectionOptions) {
    this.#options = options
    // Our own socket, because the driver has no way to give a connection up whose server is silent.
    this.#socket = new Socket()
    this.#client = new Client({
      connectionString: options.url,
      fallback_application_name: 'tidegate',
      keepAlive: true,
      stream: () => this.#socket,
      types: AS_TEXT as never,
    })
    this.#client.on('error', (error) => this.#lose(error.message))
    this.#client.on('end', () => this.#lose('the server closed it'))
    this.#client.on('notification', ({ channel, payload }) => options.onNotification?.(channel, payload ?? ''))
  }

  /** Connects, and prepares the session; fails with `StoreUnavailable` when that takes longer. */
  static async open(options: ConnectionOptions, millisecondsMax: number): Promise<PostgresConnection> {
    const connection = new PostgresConnection(options)
    await connection.#within(millisecondsMax, async () => {
      await connection.#client.connect()
      await connection.#client.query(
        [
          SESSION_SETTINGS,
          JIT_OFF,
          `set statement_timeout = ${serverMilliseconds(STATEMENT_MILLISECONDS_MAX)}`,
          `set idle_in_transaction_session_timeout = ${SERVER_IDLE_MILLISECONDS_MAX}`,
        ].join(';'),
      )
    })
    connection.#paceReading()
    connection.#state = 'open'
    return connection
  }

  get isAlive(): boolean {
    return this.#state === 'open'
  }

  /** Whether nothing of a transaction is left, so that somebody else can use it. */
  get isClean(): boolean {
    return this.isAlive && this.#client.getTransactionStatus() === 'I'
  }

  /** One statement, or several without parameters; the next one only when this one has answered. */
  async run(text: string, parameters: WrittenParameters, millisecondsMax: number): Promise<StatementOutcome> {
    if (!this.isAlive) throw new StoreUnavailable('the connection to the store was lost')
    const answer = await this.#within(millisecondsMax, () =>
      this.#client.query<(string | null)[]>({ text, values: [...parameters], rowMode: 'array' }),
    )
    // Several statements in one text give a result each, which the driver's types leave out.
    const result = [answer].flat().at(-1) as QueryArrayResult<(string | null)[]>
    const { command, fields, rows, rowCount } = result
    try {
      return { command, rows: namedRows(fields, rows), affectedRows: affectedRowsOf(command, rowCount) }
    } catch (error) {
      if (error instanceof ColumnTypeProblem) throw new StatementFailed(error.message, '')
      throw error
    }
  }

  /** Ends the session; a server that does not answer is left. */
  async end(): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    const patience = this.#options.clock.schedule(CLOSE_MILLISECONDS_MAX, () => this.#socket.destroy())
    await this.#client.end()
    patience.cancel()
  }

  /** Gives it up at once; what runs on it fails, and may or may not have been done. */
  cut(reason: string): void {
    this.#cutBecause ??= reason
    this.#socket.destroy(new Error(reason))
    this.#lose(reason)
  }

  /**
   * One full read for each tick of the event loop: a long answer is not decoded all at once, however fast the server is.
   * Over TLS the driver reads from a stream of its own.
   */
  #paceReading(): void {
    const { stream } = this.#client.connection
    stream.on('data', (chunk: Buffer) => {
      if (chunk.length < FULL_READ_BYTES) return
      stream.pause()
      setImmediate(() => stream.resume())
    })
  }

  async #within<Value>(millisecondsMax: number, work: () => Promise<Value>): Promise<Value> {
    const { clock } = this.#options
    let answered = false
    const timer = clock.schedule(millisecondsMax, () => {
      // After a pause of our own process the answer may be there already, unread.
      clock.endOfTurn(() => {
        if (answered) return
        this.#wasSilent = true
        this.cut(`no answer within ${Math.round(millisecondsMax)} ms`)
      })
    })
    try {
      return await work()
    } catch (error) {
      const problem = this.#problemOf(error)
      if (this.#state === 'opening') this.cut('it could not be opened')
      throw problem
    } finally {
      answered = true
      timer.cancel()
    }
  }

  #lose(reason: string): void {
    if (this.#state !== 'open') return
    this.#state = 'lost'
    this.#socket.destroy()
    this.#options.onLost?.(this, this.#cutBecause ?? reason, this.#wasSilent)
  }

  #problemOf(error: unknown): Error {
    if (!(error instanceof DatabaseError)) {
      const reason = this.#cutBecause ?? (error instanceof Error ? error.message : 'for no reason that it named')
      const what =
        this.#state === 'opening' ? 'the store cannot be reached' : 'lost while it may or may not have been done'
      return new StoreUnavailable(`${what}: ${reason}`, { cause: error })
    }
    const { message, code = '', severity, constraint } = error
    const isFatal = severity === 'FATAL' || severity === 'PANIC'
    if (isFatal) this.cut(message)
    if (isFatal || UNAVAILABLE[code] !== undefined || UNAVAILABLE[code.slice(0, 2)] !== undefined) {
      return new StoreUnavailable(`the store cannot do this now: ${message} (${code})`, { cause: error })
    }
    return new StatementFailed(message, code, constraint)
  }
}

/** What begins a transaction whose statements the server gives that long. */
export function beginTextFor(statementMillisecondsMax: number): string {
  if (statementMillisecondsMax === STATEMENT_MILLISECONDS_MAX) return 'begin'
  return `begin; ${limitTextFor(serverMilliseconds(statementMillisecondsMax))}`
}

/** What has the server cancel later statements of the transaction after so long. */
export function limitTextFor(milliseconds: number): string {
  return `set local statement_timeout = ${milliseconds}`
}

/** How long the server may take for a statement, so that it cancels before its caller gives up. */
export function serverMilliseconds(callerMilliseconds: number): number {
  return Math.max(1, Math.floor(callerMilliseconds - CANCEL_LEAD_MILLISECONDS))
}
