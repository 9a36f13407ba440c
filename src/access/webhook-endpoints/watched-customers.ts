/** The customers whose new events are announced to the sender: those with active endpoints. */
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

/** Longer than the time between two searches that extend it. */
const WATCHED_SECONDS = 60

/**
 * Asks for announcements about the events of customers with active endpoints, for the next while.
 * @param isWanted the condition for their endpoints
 */
export function watchEvents(isWanted: RawBuilder<boolean>): RawBuilder<unknown> {
  return sql`
    insert into event_counters as counter (customer_id, last_sequence, last_created_at, watched_until)
    select customer_id, 0, '-infinity', clock_timestamp() + ${WATCHED_SECONDS} * interval '1 second'
    from (
      select distinct customer_id from webhook_endpoints left join event_counters using (customer_id)
      where status = 'ACTIVE' and ${isWanted}
        and coalesce(watched_until < clock_timestamp() + ${WATCHED_SECONDS / 2} * interval '1 second', true)
    ) as watched
    order by customer_id
    on conflict (customer_id) do update set watched_until = greatest(counter.watched_until, excluded.watched_until)`
}
