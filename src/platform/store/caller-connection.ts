/**
 * One caller's use of an engine's connection: its statements in order, its transaction, its deadlines, the same on both
 * engines. The connection is given back exactly once and without an open transaction, and the caller gets its result or
 * an error by its deadline, even when the connection needs longer. A transaction's statements issued in one
 * event-loop tick are sent together, in one exchange with the engine. When one fails, those after it are not executed,
 * and have its error.
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

export interface Statement {
  /** One statement, or several without parameters. */
  readonly text: string
  readonly parameters: WrittenParameters
}

/** The results of statements sent together. */
export interface Outcomes {
  /** In the order of the statements, up to the first failure. */
  readonly outcomes: readonly StatementOutcome[]
  /** Why the next statement failed. */
  readonly failure?: Error
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
  /**
   * Runs these statements in order, up to the first failure. The previous call must have returned. When they take more
   * than `millisecondsMax` each, the connection is lost.
   */
  run(statements: readonly Statement[], millisecondsMax: number): Promise<Outcomes>
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

/** A statement that has not been sent. */
interface Waiting extends Statement {
  /** False for `begin`, `commit` and `rollback`, to which the caller's limit does not apply. */
  readonly isOfWork: boolean
  readonly resolve: (outcome: StatementOutcome) => void
  readonly reject: (error: unknown) => void
}

/** PostgreSQL's code for statements after a failed one in its transaction. */
const IN_FAILED_TRANSACTION = '25P02'

const ROLLBACK: Statement = { text: 'rollback', parameters: [] }

const REFUSALS: Readonly<Partial<Record<State, string>>> = {
  'idle-too-long': 'the transaction was idle for too long and was rolled back',
  late: 'the store did not answer in time',
}

export class CallerConnection implements StoreConnection {
  readonly #options: CallerConnectionOptions
  #state: State = 'held'
  #inTransaction = false
  /** `commit` or `rollback` was issued: a later statement would be stored by itself. */
  #isEnding = false
  #statements = 0
  readonly #waiting: Waiting[] = []
  /** Settles when no statement runs and none waits. Never rejects. */
  #sending: Promise<void> | undefined
  #running = 0
  #idleSinceMilliseconds = 0
  #idleTimer: Timer | undefined

  constructor(options: CallerConnectionOptions) {
    this.#options = options
  }

  async execute(text: string, parameters: readonly unknown[]): Promise<StatementResult> {
    assert(!this.#isEnding, 'a transaction was used after its end')
    return await this.#run(text, parameters, true)
  }

  async begin(): Promise<void> {
    this.#inTransaction = true
    const begun = this.#run(this.#options.connection.beginText, [])
    // Otherwise it is sent together with the first statement, which fails when it does.
    if (this.#options.isFirstStatementOnly) await begun
    else begun.catch(() => undefined)
    this.#watchIdle()
  }

  async commit(): Promise<void> {
    this.#isEnding = true
    const { command } = await this.#run('commit', [])
    this.#inTransaction = false
    // PostgreSQL reports success when a failed transaction commits, with the command tag ROLLBACK.
    if (command === 'ROLLBACK') {
      throw new StatementFailed('a statement in the transaction failed. Nothing was stored', IN_FAILED_TRANSACTION)
    }
  }

  async rollback(): Promise<void> {
    this.#isEnding = true
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
    await this.#sending
    try {
      if (this.#inTransaction && connection.isAlive) {
        const { failure } = await connection.run([ROLLBACK], statementMillisecondsMax)
        if (failure !== undefined) throw failure
      }
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

  #run(text: string, parameters: readonly unknown[], isOfWork = false): Promise<StatementOutcome> {
    assert(this.#state !== 'released', 'a transaction was used after its end')
    const refusal = REFUSALS[this.#state]
    if (refusal !== undefined) return Promise.reject(new StoreTooSlow(refusal))
    const isFirst = this.#statements++ === 0
    const written = parameters.map(writeParameter)
    this.#running++
    const result = new Promise<StatementOutcome>((resolve, reject) => {
      this.#waiting.push({ text, parameters: written, isOfWork, resolve, reject })
    })
    const answered = () => {
      this.#running--
      this.#idleSinceMilliseconds = this.#options.clock.monotonicMilliseconds()
    }
    result.then(answered, answered)
    this.#sending ??= this.#sendWaiting()
    return isFirst || !this.#options.isFirstStatementOnly ? this.#beforeDeadline(result) : result
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      // By then the caller has issued every statement for which it needs no answer.
      if (this.#inTransaction) await new Promise((resolve) => process.nextTick(resolve))
      await this.#send(this.#waiting.splice(0))
    }
    this.#sending = undefined
  }

  /** Sends statements together. The previous ones have finished. */
  async #send(waiting: readonly Waiting[]): Promise<void> {
    const { connection, statementMillisecondsMax } = this.#options
    const all = this.#withLimit(waiting)
    const statements = all.map(({ text, parameters }) => ({ text, parameters }))
    try {
      const { outcomes, failure } = await connection.run(statements, statementMillisecondsMax)
      for (const [index, { resolve, reject }] of all.entries()) {
        const outcome = outcomes[index]
        if (outcome !== undefined) resolve(outcome)
        // Also those that were not executed: whichever error the work sees first, it is the one that decides on a retry.
        else reject(failure)
      }
    } catch (error) {
      for (const { reject } of all) reject(error)
    }
  }

  /** The statements, where needed with one limiting the transaction's later statements. */
  #withLimit(waiting: readonly Waiting[]): readonly Waiting[] {
    const { connection, clock, deadlineMilliseconds, isFirstStatementOnly } = this.#options
    const first = waiting.findIndex(({ isOfWork }) => isOfWork)
    if (first < 0 || !this.#inTransaction || isFirstStatementOnly) return waiting
    const text = connection.limitText(deadlineMilliseconds - clock.monotonicMilliseconds())
    if (text === undefined) return waiting
    const ignore = () => undefined
    const limit = { text, parameters: [], isOfWork: false, resolve: ignore, reject: ignore }
    return waiting.toSpliced(first, 0, limit)
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
