/**
 * Assigns `created_at` to a customer's records and counts them. For one customer, times never decrease in commit order,
 * even when clocks step or nodes differ, so a client that polls a list may resume by time. It owns one row per
 * customer, whose lock serialises the creating transactions, so the counts are exact on any number of nodes. Records
 * from a rolled-back transaction are not counted. Limits are checked elsewhere (`money/accounts/quotas`), except in the
 * statement that creates an account.
 */
import type { Db, Transaction } from './db.ts'
import { locking } from './lock-order.ts'
import { type RawBuilder, sql } from './sql.ts'

/** Counted records, by kind. */
export interface CountedRecords {
  readonly accounts: number
  readonly addresses: number
  readonly rules: number
}

/** The records about to be created by a transaction. */
export interface Creation {
  readonly records: Partial<CountedRecords>
  /** Whether the customer itself requested it, which counts as one creation on that day. */
  readonly isByCustomer: boolean
}

/** A customer's record counts. */
export interface CreationCounts {
  readonly totals: CountedRecords
  /** Creations requested by the customer itself on this UTC day. */
  readonly today: number
  /** Whole seconds until that day is over, at least 1, by the store's clock. */
  readonly secondsOfDayLeft: number
}

interface CountRow extends CountedRecords {
  readonly today: number
  readonly seconds_left: number
}

/** For uncounted records. */
const UNCOUNTED: Creation = { records: {}, isByCustomer: false }

/** The UTC day on which a statement began. */
const TODAY = sql`(statement_timestamp() at time zone 'UTC')::date`

/**
 * The day that a creation counts towards, in an update of the row: the one on which the statement began. When other
 * transactions counted on the next day while this one waited for the lock, their day is kept. Any other stored day has
 * ended, or belongs to a clock that has been set back.
 */
const COUNTED_DAY = sql`case when customer_clocks.creations_day = excluded.creations_day + 1
  then customer_clocks.creations_day else excluded.creations_day end`

/** The creations already counted towards that day. */
const USED_TODAY = sql`
  case when customer_clocks.creations_day between excluded.creations_day and excluded.creations_day + 1
    then customer_clocks.creations_today else 0 end`

/**
 * `created_at` for the records that `transaction` creates for this customer (the current time, or the previous
 * `created_at` when the clock is behind it), and the counts including `creation`. Other transactions that call this for
 * the same customer wait until this one ends.
 */
export async function countCreation<Tables>(
  transaction: Transaction<Tables>,
  customerId: string,
  { records, isByCustomer }: Creation,
): Promise<CreationCounts & { readonly createdAt: string }> {
  const { accounts = 0, addresses = 0, rules = 0 } = records
  locking(transaction, 'customer clock', [customerId])
  const { rows } = await sql<CountRow & { readonly last_created_at: string }>`
    insert into customer_clocks
      (customer_id, last_created_at, accounts, addresses, rules, creations_day, creations_today)
    values (${customerId}, date_trunc('milliseconds', clock_timestamp()), ${accounts}, ${addresses}, ${rules},
      ${TODAY}, ${isByCustomer ? 1 : 0})
    on conflict (customer_id) do update set
      last_created_at =
        greatest(date_trunc('milliseconds', clock_timestamp()), customer_clocks.last_created_at),
      accounts = customer_clocks.accounts + excluded.accounts,
      addresses = customer_clocks.addresses + excluded.addresses,
      rules = customer_clocks.rules + excluded.rules,
      creations_day = ${COUNTED_DAY},
      creations_today = excluded.creations_today + ${USED_TODAY}
    returning last_created_at, accounts, addresses, rules, creations_today as today,
      ${secondsLeftOf(sql`creations_day`)} as seconds_left
  `.execute(transaction)
  const row = rows[0] as CountRow & { readonly last_created_at: string }
  return { createdAt: row.last_created_at, ...countsOf(row) }
}

/**
 * Part of a statement: counts one account created by the customer, and returns its time as `last_created_at`. The time
 * is later than every earlier one, so a customer's accounts are in commit order whatever their ids are. Creates nothing
 * when `source` has no row. Over a limit the statement fails with NOT_NULL_VIOLATION.
 */
export function accountCreation(
  customerId: string,
  { accountsMax, creationsPerDay }: { readonly accountsMax: number; readonly creationsPerDay: number },
  source: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const now = sql`date_trunc('milliseconds', clock_timestamp())`
  const isFirstAllowed = sql`least(${accountsMax}::integer, ${creationsPerDay}::integer) >= 1`
  const isAllowed = sql`customer_clocks.accounts < ${accountsMax} and ${USED_TODAY} < ${creationsPerDay}`
  return sql`
    insert into customer_clocks (customer_id, last_created_at, accounts, creations_day, creations_today)
    select ${customerId}::uuid, case when ${isFirstAllowed} then ${now} end, 1, ${TODAY}, 1 from ${source}
    on conflict (customer_id) do update set
      last_created_at =
        case when ${isAllowed} then greatest(${now}, customer_clocks.last_created_at + interval '1 millisecond') end,
      accounts = customer_clocks.accounts + 1,
      creations_day = ${COUNTED_DAY},
      creations_today = ${USED_TODAY} + 1
    returning last_created_at`
}

/** The SQLSTATE from `accountCreation` over a limit. */
export const NOT_NULL_VIOLATION = '23502'

/** `created_at` for an uncounted record. Otherwise like `countCreation`. */
export async function nextCreationTime<Tables>(transaction: Transaction<Tables>, customerId: string): Promise<string> {
  return (await countCreation(transaction, customerId, UNCOUNTED)).createdAt
}

/** `created_at` for uncounted records, by customer. Ids may be repeated. */
export async function nextCreationTimes<Tables>(
  transaction: Transaction<Tables>,
  customerIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const distinct = [...new Set(customerIds)]
  if (distinct.length === 0) return new Map()
  locking(transaction, 'customer clock', distinct)
  const { rows } = await sql<{ readonly customer_id: string; readonly last_created_at: string }>`
    insert into customer_clocks (customer_id, last_created_at)
    select customer_id, date_trunc('milliseconds', clock_timestamp())
    from unnest(${distinct}::uuid[]) as wanted (customer_id)
    order by customer_id
    on conflict (customer_id) do update set
      last_created_at = greatest(date_trunc('milliseconds', clock_timestamp()), customer_clocks.last_created_at)
    returning customer_id, last_created_at
  `.execute(transaction)
  return new Map(rows.map(({ customer_id, last_created_at }) => [customer_id, last_created_at]))
}

/** The current counts, without a lock. */
export async function readCreationCounts(db: Db, customerId: string): Promise<CreationCounts> {
  const { rows } = await sql<CountRow>`
    select coalesce(max(accounts), 0) as accounts, coalesce(max(addresses), 0) as addresses,
      coalesce(max(rules), 0) as rules,
      coalesce(max(creations_today) filter (where creations_day between ${TODAY} and ${TODAY} + 1), 0) as today,
      ${secondsLeftOf(TODAY)} as seconds_left
    from customer_clocks where customer_id = ${customerId}
  `.execute(db.tables())
  return countsOf(rows[0] as CountRow)
}

function secondsLeftOf(day: RawBuilder<unknown>): RawBuilder<unknown> {
  const left = sql`(${day} + 1)::timestamp - clock_timestamp() at time zone 'UTC'`
  return sql`greatest(1, ceil(extract(epoch from ${left})))::integer`
}

function countsOf({ accounts, addresses, rules, today, seconds_left }: CountRow): CreationCounts {
  return { totals: { accounts, addresses, rules }, today, secondsOfDayLeft: seconds_left }
}
