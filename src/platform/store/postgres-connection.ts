/**
 * One connection to a PostgreSQL server, in the only file that uses the driver. It converts the driver's rows and
 * errors to the store's, and enforces deadlines: a statement not answered in time closes the connection. It never
 * reconnects, never repeats a statement, and never repeats the address, which may contain a password, in a message.
 */
import { Socket } from 'node:net'
import { Client, DatabaseError, type QueryArrayResult } from 'pg'
import type { Clock } from '../base/clock.ts'
import type { Outcomes, Statement, StatementOutcome, WrittenParameters } from './caller-connection.ts'
import { affectedRowsOf, ColumnTypeProblem, namedRows, SESSION_SETTINGS } from './column-types.ts'
import { isCorrupt } from './corruption.ts'
import { STATEMENT_MILLISECONDS_MAX, StatementFailed, StoreCorrupt, StoreTooSlow, StoreUnavailable } from './db.ts'
import { CANCEL_MARGIN_MILLISECONDS, CLOSE_MILLISECONDS_MAX, TRANSACTION_IDLE_MILLISECONDS_MAX } from './limits.ts'
import { type Executed, Pipeline } from './postgres-pipeline.ts'

export interface ConnectionOptions {
  readonly url: string
  readonly clock: Clock
  readonly onNotification?: (channel: string, payload: string) => void
  /** Called once, when an open connection is lost without `end`: cut, or without an answer in time (`wasSilent`). */
  readonly onLost?: (connection: PostgresConnection, reason: string, wasSilent: boolean) => void
}

/**
 * SQLSTATE codes, or two-character classes, for valid statements that the server cannot execute now. Every error that
 * ends the connection (FATAL, PANIC) is treated like them.
 */
/** The server ended the statement, because it took too long. */
const CANCELLED = '57014'
const UNAVAILABLE: Readonly<Record<string, string>> = {
  '08': 'connection exception',
  '53': 'insufficient resources: disk full, out of memory, too many connections',
  '58': 'system error outside PostgreSQL',
  '25006': 'read-only: a standby, or a server that rejects writes',
  '25P03': 'the transaction was idle for too long',
  [CANCELLED]: 'cancelled: it took too long',
  '57P01': 'shutting down',
  '57P02': 'crashed',
  '57P03': 'starting up or shutting down',
  '57P05': 'the session was idle for too long',
}

const BEGIN = 'begin'

/** The driver leaves values as text. `column-types` converts them. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

/** The size of a full socket read, and of a TLS record. */
const FULL_READ_BYTES = 16_384

/**
 * Our statements take milliseconds. Without statistics the planner expects more, and JIT compilation would take 30 to
 * 130 ms each time.
 */
const JIT_OFF = 'set jit = off'

/** The server's limit, for the case that this process cannot enforce its own. */
const SERVER_IDLE_MILLISECONDS_MAX = TRANSACTION_IDLE_MILLISECONDS_MAX * 2

export class PostgresConnection {
  readonly #client: Client
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  #state: 'opening' | 'open' | 'ending' | 'lost' = 'opening'
  /** Why `cut` was called. Absent when the connection was lost otherwise. */
  #cutBecause: string | undefined
  #wasSilent = false

  private constructor(options: ConnectionOptions) {
    this.#options = options
    // Our own socket: the driver cannot abandon a connection whose server is silent.
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

  /** Connects and sets the connection's parameters. Fails with `StoreUnavailable` after `millisecondsMax`. */
  static async open(options: ConnectionOptions, millisecondsMax: number): Promise<PostgresConnection> {
    const connection = new PostgresConnection(options)
    await connection.#within(millisecondsMax, async () => {
      await connection.#client.connect()
      await connection.#client.query(
        [
          SESSION_SETTINGS,
          JIT_OFF,
          `set statement_timeout = ${onServer(options.clock, serverMilliseconds(STATEMENT_MILLISECONDS_MAX))}`,
          `set idle_in_transaction_session_timeout = ${onServer(options.clock, SERVER_IDLE_MILLISECONDS_MAX)}`,
        ].join(';'),
      )
    })
    connection.#limitReading()
    connection.#state = 'open'
    return connection
  }

  get isAlive(): boolean {
    return this.#state === 'open'
  }

  /** Whether no transaction is open, so another caller can use it. */
  get isClean(): boolean {
    return this.isAlive && this.#client.getTransactionStatus() === 'I'
  }

  /** Runs one statement, or several without parameters. The previous call must have returned. */
  async run(text: string, parameters: WrittenParameters, millisecondsMax: number): Promise<StatementOutcome> {
    if (!this.isAlive) throw new StoreUnavailable('the connection to the store was lost')
    const answer = await this.#within(millisecondsMax, () =>
      this.#client.query<(string | null)[]>({ text, values: [...parameters], rowMode: 'array' }),
    )
    // Several statements in one text return an array of results, which the driver's types omit.
    const result = [answer].flat().at(-1) as QueryArrayResult<(string | null)[]>
    return outcomeOf(result)
  }

  /**
   * Runs statements in order, up to the first failure, each for up to `millisecondsMax`. The previous call must have
   * returned. Statements with parameters are sent together, also with `begin`.
   */
  async runAll(statements: readonly Statement[], millisecondsMax: number): Promise<Outcomes> {
    const outcomes: StatementOutcome[] = []
    try {
      for (const part of partsOf(statements)) {
        const [{ text, parameters }] = part
        if (part.length === 1) outcomes.push(await this.run(text, parameters, millisecondsMax))
        else await this.#runTogether(part, millisecondsMax * part.length, outcomes)
      }
      return { outcomes }
    } catch (error) {
      return { outcomes, failure: error as Error }
    }
  }

  async #runTogether(statements: readonly Statement[], millisecondsMax: number, outcomes: StatementOutcome[]) {
    if (!this.isAlive) throw new StoreUnavailable('the connection to the store was lost')
    const pipeline = new Pipeline(statements)
    try {
      await this.#within(millisecondsMax, () => this.#client.query(pipeline).ended)
    } finally {
      for (const executed of pipeline.executed) outcomes.push(outcomeOf(executed))
    }
  }

  /** Closes the connection. After CLOSE_MILLISECONDS_MAX without waiting for the server. */
  async end(): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    const patience = this.#options.clock.schedule(CLOSE_MILLISECONDS_MAX, () => this.#socket.destroy())
    await this.#client.end()
    patience.cancel()
  }

  /** Destroys the connection at once. A running statement fails, and may or may not have been executed. */
  cut(reason: string): void {
    this.#cutBecause ??= reason
    this.#socket.destroy(new Error(reason))
    this.#lose(reason)
  }

  /**
   * Limits reading to one full read per event-loop tick, so a fast server's long answer is not decoded at once. Over
   * TLS the driver reads from the TLS stream.
   */
  #limitReading(): void {
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
      // After a pause in this process the answer may have arrived and not been read yet.
      clock.endOfTick(() => {
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
      const reason = this.#cutBecause ?? (error instanceof Error ? error.message : 'no reason given')
      const prefix =
        this.#state === 'opening'
          ? 'the store cannot be reached'
          : 'connection lost. The statement may or may not have been executed'
      const Kind = this.#wasSilent ? StoreTooSlow : StoreUnavailable
      return new Kind(`${prefix}: ${reason}`, { cause: error })
    }
    const { message, code = '', severity, constraint } = error
    const isFatal = severity === 'FATAL' || severity === 'PANIC'
    if (isFatal) this.cut(message)
    if (isFatal || UNAVAILABLE[code] !== undefined || UNAVAILABLE[code.slice(0, 2)] !== undefined) {
      const detail = `the store cannot execute the statement now: ${message} (${code})`
      const Kind = code === CANCELLED ? StoreTooSlow : StoreUnavailable
      return new Kind(detail, { cause: error })
    }
    if (isCorrupt(code)) return new StoreCorrupt(`${message} (${code})`, { cause: error })
    return new StatementFailed(message, code, constraint)
  }
}

/** The SQL for beginning a transaction with this limit per statement. */
export function beginTextFor(clock: Clock, statementMillisecondsMax: number): string {
  if (statementMillisecondsMax === STATEMENT_MILLISECONDS_MAX) return BEGIN
  return `${BEGIN}; ${limitTextFor(clock, serverMilliseconds(statementMillisecondsMax))}`
}

/** The SQL for setting the server's limit for the transaction's later statements. */
export function limitTextFor(clock: Clock, milliseconds: number): string {
  return `set local statement_timeout = ${onServer(clock, milliseconds)}`
}

/** A duration on `clock` in milliseconds on the server's clock. */
function onServer({ slowness = 1 }: Clock, milliseconds: number): number {
  return Math.ceil(milliseconds * slowness)
}

/** The server's limit for a statement, so it cancels before the caller's deadline. */
export function serverMilliseconds(callerMilliseconds: number): number {
  return Math.max(1, Math.floor(callerMilliseconds - CANCEL_MARGIN_MILLISECONDS))
}

function outcomeOf({ command, fields, rows, rowCount }: Executed): StatementOutcome {
  try {
    return { command, rows: namedRows(fields, rows), affectedRows: affectedRowsOf(command, rowCount) }
  } catch (error) {
    if (error instanceof ColumnTypeProblem) throw new StatementFailed(error.message, '')
    throw error
  }
}

/** The statements in order, in parts that can be sent together. */
function partsOf(statements: readonly Statement[]): readonly (readonly [Statement, ...Statement[]])[] {
  const parts: [Statement, ...Statement[]][] = []
  let canJoin = false
  for (const statement of statements) {
    // Without parameters a text may have several statements, which the extended protocol refuses.
    const isOne = statement.parameters.length > 0 || statement.text === BEGIN
    const last = parts.at(-1)
    if (isOne && canJoin && last !== undefined) last.push(statement)
    else parts.push([statement])
    canJoin = isOne
  }
  return parts
}
