/**
 * Deletes events after `events.retention_days`, in bounded statements. A customer's events are deleted
 * from its oldest on, so what is kept has no gap.
 */
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { HourlyUpkeep } from '../../platform/store/upkeep/hourly-upkeep.ts'

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

export function startEventRetention({ db, clock, log, days }: EventRetentionOptions): HourlyUpkeep {
  const statements = [() => deleteOldEvents(db, days())]
  return new HourlyUpkeep({ clock, log, failure: 'old events were not deleted', statements })
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
