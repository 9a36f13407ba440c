/**
 * Background maintenance that a PostgreSQL server does and PGlite does not: checkpoints, without which the write-ahead
 * log grows until the store is closed, and vacuum and analyze, without which tables grow and plans become worse. Each
 * is one statement, started while no caller waits. Only the log's size forces a checkpoint. A failed statement is
 * logged and repeated at the next check.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { UPKEEP_MILLISECONDS } from '../limits.ts'

/** 16 MB each: a checkpoint when the store is idle, and one in any case. Recovery reads as much after a crash. */
const IDLE_LOG_SEGMENTS = 4
const LOG_SEGMENTS_MAX = 16
/** A checkpoint also after few writes, so a start after a crash is quick. */
const CHECKPOINT_MILLISECONDS = 3_600_000
/** After a look at the tables that found none due: PostgreSQL's autovacuum also looks once a minute (autovacuum_naptime). */
const TABLES_MILLISECONDS = 60_000

/** As in PostgreSQL's own autovacuum, with a larger minimum: small tables are read quickly in any state. */
const DUE_TABLES = `
  select quote_ident(schemaname) || '.' || quote_ident(relname) as name,
    n_dead_tup > 1000 + 0.2 * n_live_tup as is_vacuum_due
  from pg_stat_user_tables
  where n_dead_tup > 1000 + 0.2 * n_live_tup or n_mod_since_analyze > 1000 + 0.1 * n_live_tup
  order by n_dead_tup desc limit 1`

export interface UpkeepOptions {
  readonly clock: Clock
  readonly log: Log
  readonly isIdle: () => boolean
  /** Log segments begun since the last checkpoint. */
  readonly newLogSegments: () => number
  /** Runs one statement between the callers' statements. */
  readonly execute: (text: string) => Promise<readonly Record<string, unknown>[]>
}

export class EmbeddedUpkeep {
  readonly #options: UpkeepOptions
  #checkpointedMilliseconds: number
  #noTableUntilMilliseconds = Number.NEGATIVE_INFINITY
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: UpkeepOptions) {
    this.#options = options
    this.#checkpointedMilliseconds = options.clock.monotonicMilliseconds()
  }

  start(): void {
    const { clock, log } = this.#options
    this.#timer = clock.schedule(UPKEEP_MILLISECONDS, async () => {
      try {
        await this.run()
      } catch (error) {
        log.warn({ err: error }, 'store upkeep failed')
      }
      if (!this.#isStopped) this.start()
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  /** Runs the due maintenance, at most one checkpoint and one table. */
  async run(): Promise<void> {
    const { clock, isIdle, execute } = this.#options
    if (this.#isCheckpointDue()) await this.#timed('checkpoint')
    if (!isIdle() || clock.monotonicMilliseconds() < this.#noTableUntilMilliseconds) return
    const [table] = (await execute(DUE_TABLES)) as readonly { name: string; is_vacuum_due: boolean }[]
    if (table === undefined) this.#noTableUntilMilliseconds = clock.monotonicMilliseconds() + TABLES_MILLISECONDS
    else if (isIdle()) {
      await this.#timed(`${table.is_vacuum_due ? 'vacuum (analyze)' : 'analyze'} ${table.name}`)
    }
  }

  #isCheckpointDue(): boolean {
    const { clock, isIdle, newLogSegments } = this.#options
    const segments = newLogSegments()
    if (segments >= LOG_SEGMENTS_MAX) return true
    if (!isIdle()) return false
    const passedMilliseconds = clock.monotonicMilliseconds() - this.#checkpointedMilliseconds
    return segments >= IDLE_LOG_SEGMENTS || passedMilliseconds >= CHECKPOINT_MILLISECONDS
  }

  async #timed(text: string): Promise<void> {
    const { clock, log, execute } = this.#options
    const startedMilliseconds = clock.monotonicMilliseconds()
    await execute(text)
    const endedMilliseconds = clock.monotonicMilliseconds()
    if (text === 'checkpoint') this.#checkpointedMilliseconds = endedMilliseconds
    log.debug({ statement: text, milliseconds: Math.round(endedMilliseconds - startedMilliseconds) }, 'store upkeep')
  }
}
