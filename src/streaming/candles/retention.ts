/**
 * Deletes old bars and gaps, an hour apart and in bounded statements. Several nodes may do it at the same time. Requests
 * never ask for what is deleted here.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { reportFailure } from '../../platform/store/due-worker.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS, MINUTE_MILLISECONDS } from './bar.ts'
import { MINUTE_BARS_DAYS } from './candle-reader.ts'
import { deleteCandleGaps, deleteCandles } from './candle-table.ts'

export interface CandleRetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The setting `candles.retention_days`. */
  retentionDays(): number
}

export class CandleRetention {
  readonly #options: CandleRetentionOptions
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #isStopped = false

  /** The first run is at once. */
  constructor(options: CandleRetentionOptions) {
    this.#options = options
    this.#look()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#running
  }

  /** Resolves when no run is under way. */
  async settled(): Promise<void> {
    await this.#running
  }

  #look(): void {
    if (this.#isStopped) return
    this.#timer = this.#options.clock.schedule(HOUR_MILLISECONDS, () => this.#look())
    this.#running ??= this.#deleteAll().finally(() => {
      this.#running = undefined
    })
  }

  async #deleteAll(): Promise<void> {
    const { db, clock, log, retentionDays } = this.#options
    const before = (days: number) => clock.wallInstant().milliseconds - days * DAY_MILLISECONDS
    try {
      while (!this.#isStopped && (await deleteCandles(db, MINUTE_MILLISECONDS, before(MINUTE_BARS_DAYS))) > 0);
      while (!this.#isStopped && (await deleteCandles(db, HOUR_MILLISECONDS, before(retentionDays()))) > 0);
      await deleteCandleGaps(db, before(retentionDays()))
    } catch (error) {
      reportFailure(log, error, 'old candles were not deleted. The next attempt is in an hour')
    }
  }
}
