/**
 * One caller's turn at an engine's connection: its statements in order, its transaction, its limits; the same on both
 * engines. Whatever happens in it, the connection is given back exactly once and without an open transaction, and the
 * caller hears within its time, also when the connection needs longer.
 */
import { assert } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { withTimeLimit } from '../base/time-limit.ts'
import { writeParameter } from './column-types.ts'
import { STATEMENT_MILLISECONDS_MAX, StatementFailed, StoreUnavailable } from './db.ts'
import { TRANSACTION_IDLE_MILLISECONDS_MAX } from './limits.ts'
import type { Session, StatementResult } from './sql.ts'

export type WrittenParameters = readonly (string | Uint8Array | null)[]

export interface StatementOutcome extends StatementResult {
  /** The command tag that the server reports: `INSERT`, `COMMIT`, `ROLLBACK`. */
  readonly command: string
}

/** What a session needs of its engine: one connection, for as long as the turn lasts. */
export interface HeldConnection {
  /** False when it is lost, and its transaction with it. */
  readonly isAlive: boolean
  /** Begins a transaction whose statements take at most the time that `run` is given for each. */
  readonly beginText: string
  /**
   * Has the engine itself cancel the later statements of the transaction after so long; undefined where the limit in
   * force is short enough, or where the engine cannot cancel.
   */
  limitText(millisecondsMax: number): string | undefined
  /** One statement at a time; over its time the connection is lost. */
  run(text: string, parameters: WrittenParameters, millisecondsMax: number): Promise<StatementOutcome>
  /**
   * Called once, when nothing runs any more. Settles when what was committed is durable; rejects when that is not known,
   * and then the caller's work may or may not be stored.
   */
  giveBack(): Promise<void>
}

export interface CallerSessionOptions {
  readonly connection: HeldConnection
  readonly clock: Clock
  /**
   * Until then, on the monotonic clock, the first statement must have answered, because the caller has waited already;
   * and the whole transaction, unless `isFirstStatementOnly`.
   */
  readonly deadlineMilliseconds: number
  readonly isFirstStatementOnly: boolean
  readonly statementMillisecondsMax: number
}

/** `held` until the caller is done, or has got an error; the connection follows when it is quiet. */
type State = 'held' | 'taken-back' | 'late' | 'released'

const REFUSALS: Readonly<Partial<Record<State, string>>> = {
  'taken-back': 'the transaction took too long while it waited for something else, and was rolled back',
  late: 'the store did not answer in time, and the caller got an error',
}

export class CallerSession implements Session {
  readonly #options: CallerSessionOptions
  #state: State = 'held'
  #inTransaction = false
  #statements = 0
  /** Settles when the last statement that was handed over has answered; never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  #running = 0
  #idleSinceMilliseconds = 0
  #idleTimer: Timer | undefined

  constructor(options: CallerSessionOptions) {
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
    // PostgreSQL answers the commit of a failed transaction with a rollback and calls it a success.
    if (command === 'ROLLBACK') {
      throw new StatementFailed('a statement of the transaction had failed, nothing was stored', '25P02')
    }
  }

  async rollback(): Promise<void> {
    // A session that was lost or taken back has no transaction left, which is what was asked for.
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

  /** Waits for what still runs, ends what is still open, gives the connection back. */
  async #end(): Promise<void> {
    const { connection, statementMillisecondsMax } = this.#options
    await this.#last
    try {
      if (this.#inTransaction && connection.isAlive) await connection.run('rollback', [], statementMillisecondsMax)
    } finally {
      await connection.giveBack()
    }
  }

  /** Ends it while the caller still believes to have it. */
  #takeAway(state: 'taken-back' | 'late'): void {
    this.#state = state
    // It fails only when the connection is lost, and the transaction with it.
    this.#end().catch(() => undefined)
  }

  /** @param isOfWork false for what begins and ends transactions: the server must be able to do that at any time */
  #run(text: string, parameters: readonly unknown[], isOfWork = false): Promise<StatementOutcome> {
    assert(this.#state !== 'released', 'a transaction was used after its end')
    const refusal = REFUSALS[this.#state]
    if (refusal !== undefined) return Promise.reject(new StoreUnavailable(refusal))
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

  /** Runs a statement when those before it have answered. */
  async #runNow(text: string, parameters: WrittenParameters, isOfWork: boolean): Promise<StatementOutcome> {
    const { connection, clock, deadlineMilliseconds, isFirstStatementOnly, statementMillisecondsMax } = this.#options
    if (isOfWork && this.#inTransaction && !isFirstStatementOnly) {
      const limitText = connection.limitText(deadlineMilliseconds - clock.monotonicMilliseconds())
      if (limitText !== undefined) await connection.run(limitText, [], statementMillisecondsMax)
    }
    return await connection.run(text, parameters, statementMillisecondsMax)
  }

  /**
   * The caller's own limit includes the time it waited for its session and the statements before, so it may end before
   * the statement's. The statement continues then, because ending the connection would harm other callers; no
   * caller waits for it, and the transaction is rolled back when it has answered.
   */
  async #beforeDeadline<Value>(result: Promise<Value>): Promise<Value> {
    const { clock, deadlineMilliseconds } = this.#options
    let answered = false
    const giveUp = (reject: (error: Error) => void): void => {
      if (answered) return
      if (this.#state === 'held') this.#takeAway('late')
      reject(new StoreUnavailable(`the store did not answer within ${STATEMENT_MILLISECONDS_MAX} ms`))
    }
    // After a pause of this process the answer may have arrived without having been read yet.
    const afterReading = () => new Promise<never>((_, reject) => clock.endOfTurn(() => giveUp(reject)))
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
      this.#takeAway('taken-back')
      return
    }
    // While a statement runs at the deadline, its own call ends the transaction.
    const wait = Math.min(TRANSACTION_IDLE_MILLISECONDS_MAX - idleMilliseconds, Math.max(untilDeadline, 1))
    this.#idleTimer = clock.schedule(wait, () => this.#watchIdle())
  }
}
