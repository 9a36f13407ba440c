/**
 * A table's upkeep, an hour apart: each statement deletes or moves some old rows and is repeated until it finds none. Several
 * nodes may do it at the same time.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { reportFailure } from '../due-worker.ts'

const INTERVAL_MILLISECONDS = 3_600_000

export interface HourlyUpkeepOptions {
  readonly clock: Clock
  readonly log: Log
  /** The log message's beginning after a failed statement, such as "old events were not deleted". */
  readonly failure: string
  /** In their order. Each returns its number of rows. */
  readonly statements: readonly (() => Promise<number>)[]
}

export class HourlyUpkeep {
  readonly #options: HourlyUpkeepOptions
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #isStopped = false

  /** The first run is at once. */
  constructor(options: HourlyUpkeepOptions) {
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
    this.#timer = this.#options.clock.schedule(INTERVAL_MILLISECONDS, () => this.#look())
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    const { log, failure, statements } = this.#options
    try {
      for (const statement of statements) while (!this.#isStopped && (await statement()) > 0);
    } catch (error) {
      reportFailure(log, error, `${failure}. The next attempt is in an hour`)
    }
  }
}
