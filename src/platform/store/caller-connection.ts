/**
 * One caller's use of an engine's connection: its statements in order, its transaction, its deadlines, the same on both
 * engines. The connection is given back exactly once and without an open transaction, and the caller gets its result or
 * an error by its deadline, even when the connection needs longer.
 */
import { assert } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { withTimeLimit } from '../base/time-limit.ts'
import { writeParameter } from './column-types.ts'
import { STATEMENT_MILLISECONDS_MAX, StatementFailed, StoreTooSlow } from './db.ts'
import { TRANSACTION_IDLE_MILLISECONDS_MAX } from './limits.ts'
import type { StatementResult, StoreConnection } from './sql.ts'

export type WrittenParameters = readonly (string | Uint8Array | null)[]

export interface StatementOutcome extends StatementResult {
  /** The command tag reported by the server: `INSERT`, `COMMIT`, `ROLLBACK`. */
  readonly command: string
}

/** The engine's connection, in use until `giveBack`. */
export interface EngineConnection {
  /** False when it is lost, together with its transaction. */
  readonly isAlive: boolean
  /** Begins a transaction whose statements take at most the time that `run` is given for each. */
  readonly beginText: string
  /**
   * The SQL for limiting the transaction's later statements. Undefined when the current limit is short enough, or when
   * the engine cannot cancel statements.
   */
  limitText(millisecondsMax: number): string | undefined
  /** Runs one statement at a time. After `millisecondsMax` the connection is lost. */
  run(text: string, parameters: WrittenParameters, millisecondsMax: number): Promise<StatementOutcome>
  /**
   * Called once, when no statement runs. Resolves when the committed work is durable. Rejects when that is unknown: the
   * work may or may not be stored.
   */
  giveBack(): Promise<void>
}

export interface CallerConnectionOptions {
  readonly connection: EngineConnection
  readonly clock: Clock
  /**
   * On the monotonic clock: the whole transaction's deadline, or with `isFirstStatementOnly` its first statement's. It
   * includes the caller's wait for the connection.
   */
  readonly deadlineMilliseconds: number
  readonly isFirstStatementOnly: boolean
  readonly statementMillisecondsMax: number
}

/** `held` until the caller has finished or got an error. The connection is given back when no statement runs. */
type State = 'held' | 'idle-too-long' | 'late' | 'released'

const REFUSALS: Readonly<Partial<Record<State, string>>> = {
  'idle-too-long': 'the transaction was idle for too long and was rolled back',
  late: 'the store did not answer in time',
}

export class CallerConnection implements StoreConnection {
  readonly #options: CallerConnectionOptions
  #state: State = 'held'
  #inTransaction = false
  #statements = 0
  /** Settles when the last statement has finished. Never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  #running = 0
  #idleSinceMilliseconds = 0
  #idleTimer: Timer | undefined

  constructor(options: CallerConnectionOptions) {
    this.#options = options
  }

  async execute(text: string, parameters: readonly unknown[]): Promise<StatementResult> {
    return await this.#run(text, parameters, true)
  }

  async begin(): Promise<void> {
    this.#inTransaction = true
    await this.#run(this.#options.connection.beginText, [])
    this.#watchIdle()
  }

  async commit(): Promise<void> {
    const { command } = await this.#run('commit', [])
    this.#inTransaction = false
    // PostgreSQL reports success when a failed transaction commits, with the command tag ROLLBACK.
    if (command === 'ROLLBACK') {
      throw new StatementFailed('a statement in the transaction failed. Nothing was stored', '25P02')
    }
  }

  async rollback(): Promise<void> {
    // There is no transaction to roll back after the deadline or a lost connection.
    if (this.#state !== 'held' || !this.#options.connection.isAlive) return
    await this.#run('rollback', [])
    this.#inTransaction = false
  }

  async release(): Promise<void> {
    this.#idleTimer?.cancel()
    if (this.#state !== 'held') return
    this.#state = 'released'
    await this.#end()
  }

  /** Waits for the running statement, rolls an open transaction back, gives the connection back. */
  async #end(): Promise<void> {
    const { connection, statementMillisecondsMax } = this.#options
    await this.#last
    try {
      if (this.#inTransaction && connection.isAlive) await connection.run('rollback', [], statementMillisecondsMax)
    } finally {
      await connection.giveBack()
    }
  }

  /** Ends the connection's use while the caller still holds it. */
  #takeAway(state: 'idle-too-long' | 'late'): void {
    this.#state = state
    // Fails only when the connection is lost, and the transaction with it.
    this.#end().catch(() => undefined)
  }

  /** @param isOfWork false for `begin`, `commit` and `rollback`, to which the caller's limit does not apply */
  #run(text: string, parameters: readonly unknown[], isOfWork = false): Promise<StatementOutcome> {
    assert(this.#state !== 'released', 'a transaction was used after its end')
    const refusal = REFUSALS[this.#state]
    if (refusal !== undefined) return Promise.reject(new StoreTooSlow(refusal))
    const isFirst = this.#statements++ === 0
    const written = parameters.map(writeParameter)
    this.#running++
    const result = this.#last.then(() => this.#runNow(text, written, isOfWork))
    const answered = () => {
      this.#running--
      this.#idleSinceMilliseconds = this.#options.clock.monotonicMilliseconds()
    }
    this.#last = result.then(answered, answered)
    return isFirst || !this.#options.isFirstStatementOnly ? this.#beforeDeadline(result) : result
  }

  /** Runs a statement. The previous ones have finished. */
  async #runNow(text: string, parameters: WrittenParameters, isOfWork: boolean): Promise<StatementOutcome> {
    const { connection, clock, deadlineMilliseconds, isFirstStatementOnly, statementMillisecondsMax } = this.#options
    if (isOfWork && this.#inTransaction && !isFirstStatementOnly) {
      const limitText = connection.limitText(deadlineMilliseconds - clock.monotonicMilliseconds())
      if (limitText !== undefined) await connection.run(limitText, [], statementMillisecondsMax)
    }
    return await connection.run(text, parameters, statementMillisecondsMax)
  }

  /**
   * The caller's deadline includes its wait for the connection and earlier statements, so it may pass while a statement
   * runs. The caller then gets an error. The statement continues, because closing the connection would affect other
   * callers, and the transaction is rolled back afterwards.
   */
  async #beforeDeadline<Value>(result: Promise<Value>): Promise<Value> {
    const { clock, deadlineMilliseconds } = this.#options
    let answered = false
    const giveUp = (reject: (error: Error) => void): void => {
      if (answered) return
      if (this.#state === 'held') this.#takeAway('late')
      reject(new StoreTooSlow(`the store did not answer within ${STATEMENT_MILLISECONDS_MAX} ms`))
    }
    // After a pause in this process the answer may have arrived without having been read yet.
    const afterReading = () => new Promise<never>((_, reject) => clock.endOfTick(() => giveUp(reject)))
    try {
      return await withTimeLimit(clock, deadlineMilliseconds - clock.monotonicMilliseconds(), result, afterReading)
    } finally {
      answered = true
    }
  }

  #watchIdle(): void {
    if (this.#state !== 'held') return
    const { clock, deadlineMilliseconds, isFirstStatementOnly } = this.#options
    const idleMilliseconds = this.#running > 0 ? 0 : clock.monotonicMilliseconds() - this.#idleSinceMilliseconds
    const untilDeadline = isFirstStatementOnly
      ? Number.POSITIVE_INFINITY
      : deadlineMilliseconds - clock.monotonicMilliseconds()
    if (idleMilliseconds >= TRANSACTION_IDLE_MILLISECONDS_MAX || (this.#running === 0 && untilDeadline <= 0)) {
      this.#takeAway('idle-too-long')
      return
    }
    // While a statement runs at the deadline, its own call ends the transaction.
    const wait = Math.min(TRANSACTION_IDLE_MILLISECONDS_MAX - idleMilliseconds, Math.max(untilDeadline, 1))
    this.#idleTimer = clock.schedule(wait, () => this.#watchIdle())
  }
}
