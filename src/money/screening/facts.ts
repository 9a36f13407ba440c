/**
 * The facts in a question, gathered in SQL when it is first sent: the movement, its customer and account, how old the
 * destination is and how often it was used, and the profile's sums of the last 24 hours. Amounts are decimal text.
 */
import { sql } from '../../platform/store/sql.ts'

const time = (column: string) => sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const amount = (units: ReturnType<typeof sql>, asset: ReturnType<typeof sql>) => sql`
  trim_scale(${units} * ('1e-' || (select decimals from ledger_assets where symbol = ${asset}))::numeric)::text`

const TERMS = sql`jsonb_build_object('id', claimed.movement_id, 'type', claimed.kind, 'asset', claimed.asset,
  'amount', ${amount(sql`claimed.amount`, sql`claimed.asset`)}, 'destination', claimed.destination)`

/** Of a deposit, how it arrived. */
const ARRIVAL = sql`(
  select jsonb_build_object('network', network, 'address', address, 'tx_hash', tx_hash, 'tx_index', tx_index,
    'memo_id', memo_id, 'remittance', remittance, 'bank_reference', bank_reference, 'sender', sender,
    'occurred_at', ${time('occurred_at')})
  from deposits where deposits.id = claimed.movement_id
)`

const CUSTOMER = sql`(
  select jsonb_build_object('id', id, 'name', name, 'created_at', ${time('created_at')})
  from customers where customers.id = claimed.customer_id
)`

const ACCOUNT = sql`(
  select jsonb_build_object('id', id, 'type', type, 'identity_id', identity_id, 'ref_id', ref_id,
    'review_status', review_status, 'created_at', ${time('created_at')})
  from accounts where accounts.profile_id = claimed.profile_id
)`

/** The customer's settled payments to the same destination. Other customers' payments do not count. */
const DESTINATION_USE = sql`(
  select jsonb_build_object('payments', payments, 'first_paid_at', ${time('first_paid_at')},
    'last_paid_at', ${time('last_paid_at')})
  from (
    select count(*) as payments, min(updated_at) as first_paid_at, max(updated_at) as last_paid_at
    from deliveries
    where status = 'SETTLED' and customer_id = claimed.customer_id
      and md5(destination::text) = md5(claimed.destination::text)
  ) as paid
)`

/** When and as which destination a payment's place was registered. */
const REGISTRATION = sql`(
  select jsonb_build_object('id', id, 'registered_at', ${time('created_at')}, 'usable_at', ${time('usable_at')},
    'unverified', unverified)
  from destinations where destinations.id = claimed.registration_id
)`

/** Per asset, what arrived at the profile from outside, and what has left it or is about to. */
const DAY = sql`(
  select jsonb_agg(jsonb_build_object('asset', asset,
    'deposits', jsonb_build_object('count', deposits, 'amount', ${amount(sql`deposited`, sql`asset`)}),
    'payments', jsonb_build_object('count', payments, 'amount', ${amount(sql`paid`, sql`asset`)})) order by asset)
  from (
    select asset,
      count(*) filter (where type like '%\_DEPOSIT') as deposits,
      coalesce(sum(amount) filter (where type like '%\_DEPOSIT'), 0) as deposited,
      count(*) filter (where type like '%\_WITHDRAWAL') as payments,
      coalesce(sum(amount) filter (where type like '%\_WITHDRAWAL'), 0) as paid
    from transfers
    where customer_id = claimed.customer_id and profile_id = claimed.profile_id
      and created_at > clock_timestamp() - interval '24 hours' and status <> 'FAILED'
      and (type like '%\_DEPOSIT' and direction = 'CREDIT' or type like '%\_WITHDRAWAL')
    group by asset
  ) as sums
)`

/** Of the row `claimed`. Members without a value are left out. */
export const FACTS = sql`jsonb_strip_nulls(jsonb_build_object(
  'movement', ${TERMS} || case when claimed.kind = 'deposit' then ${ARRIVAL} else '{}' end,
  'profile_id', claimed.profile_id, 'customer', ${CUSTOMER}, 'account', ${ACCOUNT},
  'destination_registration', ${REGISTRATION}, 'destination_use', case when claimed.kind = 'payment' then ${DESTINATION_USE} end, 'last_24_hours', ${DAY}))`
