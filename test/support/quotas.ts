/** Helpers for quota tests: a customer's counters and the records they count. */
import type { Db } from '../../src/platform/store/db.ts'
import { sql } from '../../src/platform/store/sql.ts'
import type { RestNode } from './rest.ts'

export interface Counts {
  readonly accounts: number
  readonly addresses: number
  readonly rules: number
}

/** How many records are stored. */
export async function recordsOf(db: Db, customerId: string): Promise<Counts> {
  const { rows } = await sql<Counts>`
    select
      (select count(*)::integer from accounts where customer_id = ${customerId}) as accounts,
      (select count(*)::integer from deposit_addresses where customer_id = ${customerId}) as addresses,
      (select count(*)::integer from rules where customer_id = ${customerId}) as rules
  `.execute(db.tables())
  return rows[0] as Counts
}

/** The counters in the store. */
export async function countersOf(db: Db, customerId: string): Promise<Counts & { readonly today: number }> {
  const { rows } = await sql<Counts & { readonly today: number }>`
    select accounts, addresses, rules, creations_today as today from customer_clocks where customer_id = ${customerId}
  `.execute(db.tables())
  return rows[0] as Counts & { readonly today: number }
}

/**
 * Runs a test that depends on the day on the store's clock. If the day ends at midnight UTC during the test, its result
 * is discarded and it runs once more, on the new day.
 */
export async function onOneDay<Result>(db: Db, work: () => Promise<Result>): Promise<Result> {
  const before = await dayOf(db)
  try {
    const result = await work()
    return before === (await dayOf(db)) ? result : await work()
  } catch (error) {
    if (before === (await dayOf(db))) throw error
    return await work()
  }
}

async function dayOf(db: Db): Promise<string> {
  const { rows } = await sql<{ day: string }>`select (clock_timestamp() at time zone 'UTC')::date as day`.execute(
    db.tables(),
  )
  return (rows[0] as { day: string }).day
}

/** How often each quota has refused a request, by the node's metric. */
export async function refusalsOf({ operatorUrl }: RestNode): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${operatorUrl}/metrics`)).text()
  const samples = text.matchAll(/^tidegate_quota_refusals_total\{quota="(\w+)"\} (\d+)$/gm)
  return Object.fromEntries([...samples].map(([, quota, count]) => [quota, Number(count)]))
}
