/**
 * The times at which a customer's records come into being: within one customer they never go back in the order of
 * commits, over clock steps and nodes too, so whoever polls a list may go on from the last time it saw. It owns one row
 * a customer, whose lock orders the transactions that create something.
 */
import type { Transaction } from './db.ts'
import { sql } from './sql.ts'

/**
 * `created_at` of what `transaction` makes for this customer: now, or the last one given when the clock is behind it.
 * Other transactions that ask for the same customer wait until this one ends, so it is asked for after every lock that
 * they may want too.
 */
export async function nextCreationTime<Tables>(transaction: Transaction<Tables>, customerId: string): Promise<string> {
  // The time of the statement's own work: the update is evaluated when the row's lock is held.
  const { rows } = await sql<{ last_created_at: string }>`
    insert into customer_clocks (customer_id, last_created_at)
    values (${customerId}, date_trunc('milliseconds', clock_timestamp()))
    on conflict (customer_id) do update
      set last_created_at =
        greatest(date_trunc('milliseconds', clock_timestamp()), customer_clocks.last_created_at)
    returning last_created_at
  `.execute(transaction)
  return (rows[0] as { last_created_at: string }).last_created_at
}
