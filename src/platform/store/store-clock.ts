/**
 * The store's clock, which all nodes share: it decides the deletion of rows by age, never a node's own clock. It
 * compares that clock with this node's, and logs a warning when they differ by more than a second.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Db } from './db.ts'
import { type RawBuilder, sql } from './sql.ts'

/** A larger difference is visible in message times and token lifetimes. */
export const CLOCK_DIFFERENCE_MILLISECONDS_MAX = 1_000

const INTERVAL_MILLISECONDS = 60_000
/** Time between two warnings. */
const WARNING_MILLISECONDS = 3_600_000

/** The query builder for a store or a transaction, whatever its tables. */
type Queryable = Parameters<RawBuilder<unknown>['execute']>[0]

/** The store's clock in milliseconds since the epoch, read when the statement runs, not when its transaction began. */
export async function readStoreTime(tables: Queryable): Promise<number> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp() as now`.execute(tables)
  return Date.parse((rows[0] as { now: string }).now)
}

/**
 * Milliseconds that this node's clock is ahead of the store's. Negative when it is behind. The store reads its clock at
 * an unknown time between request and answer. The result is 0 when that can explain the difference.
 */
export async function readClockDifference(db: Db, clock: Clock): Promise<number> {
  const before = clock.wallInstant().milliseconds
  const storeTime = await readStoreTime(db.tables())
  const after = clock.wallInstant().milliseconds
  return storeTime < before ? before - storeTime : Math.min(0, after - storeTime)
}

/** Compares the two clocks once a minute. An unreachable store leaves the last result in place. */
export class StoreClockWatch {
  readonly #options: { readonly db: Db; readonly clock: Clock; readonly log: Log }
  #difference: number | undefined
  #warnedMilliseconds: number | undefined
  #timer: Timer | undefined
  #running: Promise<void>
  #stopped = false

  /** The first comparison begins at once. */
  constructor(options: { readonly db: Db; readonly clock: Clock; readonly log: Log }) {
    this.#options = options
    this.#running = this.#compare()
  }

  /** Milliseconds that this node's clock is ahead of the store's. Undefined until they were compared once. */
  get differenceMilliseconds(): number | undefined {
    return this.#difference
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#running
  }

  async #compare(): Promise<void> {
    const { db, clock, log } = this.#options
    try {
      this.#difference = await readClockDifference(db, clock)
      this.#report(this.#difference)
    } catch (error) {
      log.debug({ err: error }, 'the store’s clock was not read. The next attempt is in a minute')
    }
    if (this.#stopped) return
    this.#timer = clock.schedule(INTERVAL_MILLISECONDS, () => {
      this.#running = this.#compare()
    })
  }

  #report(difference: number): void {
    const { clock, log } = this.#options
    if (Math.abs(difference) <= CLOCK_DIFFERENCE_MILLISECONDS_MAX) return
    const now = clock.monotonicMilliseconds()
    if (this.#warnedMilliseconds !== undefined && now - this.#warnedMilliseconds < WARNING_MILLISECONDS) return
    this.#warnedMilliseconds = now
    log.warn(
      { difference_seconds: difference / 1000 },
      'this node’s clock differs from the store’s clock (positive: this node is ahead): synchronise both with NTP',
    )
  }
}
