/**
 * One caller's turn at the embedded store: its statements in order, its transaction, its limits. Whatever happens in
 * it, the turn is passed on exactly once and the session behind it is left without an open transaction.
 */
import { assert } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { writeParameter } from './column-types.ts'
import { STATEMENT_MILLISECONDS_MAX, StatementFailed, StoreUnavailable } from './db.ts'
import type { EmbeddedEngine, EngineLife } from './embedded-engine.ts'
import { TRANSACTION_IDLE_MILLISECONDS_MAX } from './embedded-limits.ts'
import type { Session, StatementResult } from './sql.ts'
import type { TurnQueue } from './turn-queue.ts'

export interface SessionOptions {
  readonly engine: EmbeddedEngine
  readonly life: EngineLife
  readonly turns: TurnQueue
  readonly clock: Clock
  /** Until then, on the monotonic clock, the first statement must have answered: the caller has waited already. */
  readonly deadlineMilliseconds: number
  readonly statementMillisecondsMax: number
}

type State = 'held' | 'taken-back' | 'released'

export class EmbeddedSession implements Session {
  readonly #options: SessionOptions
  #state: State = 'held'
  #inTransaction = false
  #statements = 0
  /** Settles when the last statement that was handed over has answered; never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  #running = 0
  #idleSinceMilliseconds = 0
  #idleTimer: Timer | undefined

  constructor(options: SessionOptions) {
    this.#options = options
  }

  async execute(text: string, parameters: readonly unknown[]): Promise<StatementResult> {
    return await this.#run(text, parameters)
  }

  async begin(): Promise<void> {
    this.#inTransaction = true
    await this.#run('begin', [])
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
    if (this.#state !== 'held' || this.#options.engine.life !== this.#options.life) return
    await this.#run('rollback', [])
    this.#inTransaction = false
  }

  async release(): Promise<void> {
    this.#idleTimer?.cancel()
    if (this.#state !== 'held') return
    this.#state = 'released'
    await this.#end()
  }

  /** Waits for what still runs, ends what is still open, passes the turn. */
  async #end(): Promise<void> {
    const { engine, life, turns, statementMillisecondsMax } = this.#options
    await this.#last
    try {
      if (this.#inTransaction && engine.life === life) await engine.run(life, 'rollback', [], statementMillisecondsMax)
    } finally {
      turns.pass()
    }
  }

  #run(text: string, parameters: readonly unknown[]) {
    assert(this.#state !== 'released', 'a transaction was used after its end')
    if (this.#state === 'taken-back') {
      return Promise.reject(new StoreUnavailable('the transaction was idle for too long and was rolled back'))
    }
    const { engine, life, statementMillisecondsMax } = this.#options
    const isFirst = this.#statements++ === 0
    const written = parameters.map(writeParameter)
    this.#running++
    const result = this.#last.then(() => engine.run(life, text, written, statementMillisecondsMax))
    const answered = () => {
      this.#running--
      this.#idleSinceMilliseconds = this.#options.clock.monotonicMilliseconds()
    }
    this.#last = result.then(answered, answered)
    return isFirst ? this.#beforeDeadline(result) : result
  }

  /**
   * The caller's own limit includes the time it waited for its turn, so it may end before the statement's. The
   * statement goes on then (ending the thread for it would be unjust), and `release` waits for it.
   */
  async #beforeDeadline<Value>(result: Promise<Value>): Promise<Value> {
    const { clock, deadlineMilliseconds } = this.#options
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      timer = clock.schedule(deadlineMilliseconds - clock.monotonicMilliseconds(), () =>
        reject(new StoreUnavailable(`the store did not answer within ${STATEMENT_MILLISECONDS_MAX} ms`)),
      )
    })
    try {
      return await Promise.race([result, late])
    } finally {
      timer?.cancel()
    }
  }

  #watchIdle(): void {
    const { clock } = this.#options
    const idleMilliseconds = this.#running > 0 ? 0 : clock.monotonicMilliseconds() - this.#idleSinceMilliseconds
    if (idleMilliseconds >= TRANSACTION_IDLE_MILLISECONDS_MAX) {
      this.#state = 'taken-back'
      // It fails only when the thread is lost, and the transaction with it.
      this.#end().catch(() => undefined)
      return
    }
    this.#idleTimer = clock.schedule(TRANSACTION_IDLE_MILLISECONDS_MAX - idleMilliseconds, () => this.#watchIdle())
  }
}
