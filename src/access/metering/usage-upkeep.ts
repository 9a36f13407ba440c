/**
 * Keeps usage by hour for 14 days, then by day until `metering.retention_days`, in bounded statements. A statement moves
 * rows, so each is counted once whatever fails. A row that its process may still replace is left, because it would be
 * counted again: a wrong clock can make it look old.
 */
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { HourlyUpkeep } from '../../platform/store/upkeep/hourly-upkeep.ts'

const HOURS_KEPT_DAYS = 14
const ROWS_PER_STATEMENT = 2_000

export interface UsageUpkeepOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The setting `metering.retention_days`. */
  days(): number
}

export function startUsageUpkeep({ db, clock, log, days }: UsageUpkeepOptions): HourlyUpkeep {
  // By the store's clock if it is behind: on PostgreSQL, a wrong clock here deletes nothing.
  const daysAgo = (count: number) => {
    const day = new Date(clock.wallInstant().milliseconds)
    day.setUTCHours(0, 0, 0, 0)
    day.setUTCDate(day.getUTCDate() - count)
    return sql`least(
      ${day.toISOString()}::timestamptz, date_trunc('day', clock_timestamp(), 'UTC') - make_interval(days => ${count}))`
  }
  const statements = [
    () => deletingRows('usage_hours', 'hour', daysAgo(days())),
    () => summingHours(daysAgo(HOURS_KEPT_DAYS)),
    () => deletingRows('usage_days', 'day', daysAgo(days())),
    // Its rows are summed by then.
    () =>
      sql`delete from usage_runs where ended_at < ${daysAgo(HOURS_KEPT_DAYS + 1)} or flushed_at < ${daysAgo(days())}`,
    () => sql`delete from usage_gaps where until < ${daysAgo(days())}`,
  ].map((statement) => async () => Number((await statement().execute(db.tables())).numAffectedRows))
  return new HourlyUpkeep({ clock, log, failure: 'old usage was not summed', statements })
}

/** Moves some of the oldest hours before a time to their days. */
function summingHours(before: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    with oldest as (
      select ctid from usage_hours
      where hour < ${before} and not exists (
        select from usage_runs
        where id = usage_hours.run_id and ended_at is null and flushed_at < usage_hours.hour + interval '1 hour'
          and written_at > clock_timestamp() - interval '1 day'
      )
      order by hour limit ${ROWS_PER_STATEMENT}
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
