/**
 * Keeps usage by hour for 14 days, then by day until `metering.retention_days`: an hour apart, in bounded statements. A
 * statement moves rows, so each is counted once whatever fails, and several nodes may do it at the same time.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { reportFailure } from '../../platform/store/due-worker.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

const INTERVAL_MILLISECONDS = 3_600_000
const HOURS_KEPT_DAYS = 14
const ROWS_PER_STATEMENT = 2_000

export interface UsageUpkeepOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The setting `metering.retention_days`. */
  days(): number
}

export class UsageUpkeep {
  readonly #options: UsageUpkeepOptions
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #isStopped = false

  /** The first run is at once. */
  constructor(options: UsageUpkeepOptions) {
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
    const { db, clock, log, days } = this.#options
    const daysAgo = (count: number) => {
      const day = new Date(clock.wallInstant().milliseconds)
      day.setUTCHours(0, 0, 0, 0)
      day.setUTCDate(day.getUTCDate() - count)
      return sql`${day.toISOString()}::timestamptz`
    }
    const statements = [
      deletingRows('usage_hours', 'hour', daysAgo(days())),
      summingHours(daysAgo(HOURS_KEPT_DAYS)),
      deletingRows('usage_days', 'day', daysAgo(days())),
      // Its rows are summed by then.
      sql`delete from usage_runs where ended_at < ${daysAgo(HOURS_KEPT_DAYS + 1)} or flushed_at < ${daysAgo(days())}`,
      sql`delete from usage_gaps where until < ${daysAgo(days())}`,
    ]
    try {
      for (const statement of statements) {
        const moves = async () => Number((await statement.execute(db.tables())).numAffectedRows)
        while (!this.#isStopped && (await moves()) > 0);
      }
    } catch (error) {
      reportFailure(log, error, 'old usage was not summed. The next attempt is in an hour')
    }
  }
}

/** Moves some of the oldest hours before a time to their days. */
function summingHours(before: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    with oldest as (
      select ctid from usage_hours where hour < ${before} order by hour limit ${ROWS_PER_STATEMENT}
      for update skip locked
    ), moved as (
      delete from usage_hours using oldest where usage_hours.ctid = oldest.ctid returning usage_hours.*
    )
    insert into usage_days as sums
      (customer_id, day, client_id, market, channel, messages, bytes, connection_ms, rest_requests)
    select customer_id, date_trunc('day', hour, 'UTC'), client_id, market, channel,
      sum(messages), sum(bytes), sum(connection_ms), sum(rest_requests)
    from moved group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (customer_id, day, client_id, market, channel) do update set
      messages = sums.messages + excluded.messages, bytes = sums.bytes + excluded.bytes,
      connection_ms = sums.connection_ms + excluded.connection_ms,
      rest_requests = sums.rest_requests + excluded.rest_requests`
}

function deletingRows(table: string, column: string, before: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    delete from ${sql.ref(table)} where ctid = any (array(
      select ctid from ${sql.ref(table)} where ${sql.ref(column)} < ${before} limit ${ROWS_PER_STATEMENT}
    ))`
}
