/** Time that passes for work in the store, and what is left of the work. */
import { DELIVERIES_CHANNEL } from '../../../../src/money/deliveries/create.ts'
import { WORK_CHANNEL } from '../../../../src/money/orchestrations/start.ts'
import type { Db } from '../../../../src/platform/store/db.ts'
import { sql } from '../../../../src/platform/store/sql.ts'

/**
 * Ends every claim and every wait, also of workers that live: to them it is as if they had stood still. Only what a
 * transaction holds at the moment stays. What was begun was begun that number of seconds earlier.
 */
export async function passTime(db: Db, seconds: number): Promise<void> {
  await db.transaction(async (transaction) => {
    await sql`
      update orchestration_queue set next_attempt_at = least(next_attempt_at, clock_timestamp())
      where orchestration_id in (select orchestration_id from orchestration_queue for update skip locked)
    `.execute(transaction)
    await sql`
      update deliveries set next_attempt_at = least(next_attempt_at, clock_timestamp()),
        first_attempt_at = first_attempt_at - ${seconds} * interval '1 second'
      where id in (select id from deliveries where next_attempt_at is not null for update skip locked)
    `.execute(transaction)
    await sql`select pg_notify(${WORK_CHANNEL}, ''), pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
  })
}

/** Orchestrations and deliveries that something is due for, now or later. */
export async function remaining(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (select count(*) from orchestration_queue)::integer
      + (select count(*) from deliveries where next_attempt_at is not null)::integer as count
  `.execute(db.tables())
  return rows[0]?.count ?? 0
}
