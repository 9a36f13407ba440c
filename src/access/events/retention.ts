/**
 * Deletes events after `events.retention_days`, an hour apart and in bounded statements. A customer's events are deleted
 * from its oldest on, so what is kept has no gap. Several nodes may do it at the same time.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { reportFailure } from '../../platform/store/due-worker.ts'
import { sql } from '../../platform/store/sql.ts'

const INTERVAL_MILLISECONDS = 3_600_000
/** One statement deletes from this many customers, and this many events of each. */
const CUSTOMERS_MAX = 5
const EVENTS_MAX = 1_000

export interface EventRetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The setting `events.retention_days`. */
  days(): number
}

export class EventRetention {
  readonly #options: EventRetentionOptions
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #stopped = false

  /** The first run is at once. */
  constructor(options: EventRetentionOptions) {
    this.#options = options
    this.#look()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#running
  }

  /** Resolves when no run is under way. */
  async settled(): Promise<void> {
    await this.#running
  }

  #look(): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.schedule(INTERVAL_MILLISECONDS, () => this.#look())
    this.#running ??= this.#deleteAll().finally(() => {
      this.#running = undefined
    })
  }

  async #deleteAll(): Promise<void> {
    const { db, log, days } = this.#options
    try {
      while (!this.#stopped && (await deleteOldEvents(db, days())) > 0);
    } catch (error) {
      reportFailure(log, error, 'old events were not deleted. The next attempt is in an hour')
    }
  }
}

/** Deletes some of the events older than `days`, the oldest first. Returns how many: 0 when there are none. */
async function deleteOldEvents(db: Db, days: number): Promise<number> {
  const before = sql`clock_timestamp() - make_interval(days => ${days})`
  // The inner limits keep the planner from reading the whole table, however many rows it expects.
  const { numAffectedRows } = await sql`
    delete from events using (
      select customer_id, first.sequence
      from (
        select customer_id
        from event_counters cross join lateral (
          select created_at from events
          where events.customer_id = event_counters.customer_id order by sequence limit 1
        ) as oldest
        where created_at < ${before}
        limit ${CUSTOMERS_MAX}
      ) as old
      cross join lateral (
        select sequence, created_at from events
        where events.customer_id = old.customer_id order by sequence limit ${EVENTS_MAX}
      ) as first
      where first.created_at < ${before}
    ) as expired
    where events.customer_id = expired.customer_id and events.sequence = expired.sequence
  `.execute(db.tables())
  return Number(numAffectedRows)
}
