/**
 * The store's invariants between any two transactions, however they were interleaved and wherever a process crashed:
 * every rule is a query that returns its violations. The queries read tables and share no code with the product.
 */
import type { Db } from '../../src/platform/store/db.ts'
import { sql } from '../../src/platform/store/sql.ts'

/** Rules by name. Each query returns one text column, with a row for each violation. */
const RULES: Readonly<Record<string, string>> = {
  'a balance is the sum of its postings': `
    with sums as (
      select profile_id, asset,
        coalesce(sum(amount) filter (where bucket = 'available'), 0) as available,
        coalesce(sum(amount) filter (where bucket = 'in_transit'), 0) as in_transit,
        coalesce(sum(amount) filter (where bucket = 'held'), 0) as held,
        coalesce(-sum(amount) filter (where bucket = 'receivable'), 0) as receivable
      from (
        select debit_profile_id as profile_id, asset, debit_bucket as bucket, -amount as amount from postings
        union all select credit_profile_id, asset, credit_bucket, amount from postings
      ) as moved where profile_id is not null group by 1, 2
    )
    select coalesce(sums.profile_id, balances.profile_id) || ' ' || coalesce(sums.asset, balances.asset)
    from sums full join balances on balances.profile_id = sums.profile_id and balances.asset = sums.asset
    where (coalesce(sums.available, 0), coalesce(sums.in_transit, 0), coalesce(sums.held, 0), coalesce(sums.receivable, 0))
      is distinct from (balances.available, balances.in_transit, balances.held, balances.receivable)`,
  'no bucket is below zero': `
    select profile_id || ' ' || asset from balances where least(available, in_transit, held, receivable) < 0`,
  'a payment is one deposit': `
    select network || ' ' || tx_hash || ' ' || tx_index from deposits where tx_hash is not null
    group by network, tx_hash, tx_index having count(*) > 1`,
  'a COMPLETED deposit is credited exactly once, any other never; a REVERSED one is taken back once': `
    select id || ' ' || status || ' in ' || came || ' out ' || went || ' of ' || amount from (
      select deposits.*,
        (select coalesce(sum(amount), 0) from postings where group_id = deposits.id and debit_bucket = 'external') as came,
        (select coalesce(sum(amount), 0) from postings where group_id = deposits.id and credit_bucket = 'external') as went
      from deposits where corrections = '[]'
    ) as deposits
    where came <> case when status = 'COMPLETED' then amount else 0 end
      or went <> case when secondary_status = 'REVERSED' then amount else 0 end`,
  'of a corrected deposit nothing is left but its last credit': `
    select id || ' ' || status || ' has ' || rest || ' of ' || amount || ' ' || asset || ', other assets: ' || others from (
      select deposits.*,
        (select coalesce(sum(case when debit_bucket = 'external' then amount else -amount end), 0) from postings
          where group_id = deposits.id and asset = deposits.asset and 'external' in (debit_bucket, credit_bucket)) as rest,
        (select count(*) from (
          select from postings where group_id = deposits.id and asset <> deposits.asset
            and 'external' in (debit_bucket, credit_bucket) group by asset
          having sum(case when debit_bucket = 'external' then amount else -amount end) <> 0) as odd) as others
      from deposits where corrections <> '[]'
    ) as deposits
    where others > 0
      or rest <> case when status = 'COMPLETED' and secondary_status is distinct from 'REVERSED' then amount else 0 end`,
  'money comes from outside by deposits and ledger entries alone': `
    select id || ' ' || group_id from postings
    where debit_bucket = 'external'
      and group_id not in (select id from deposits union all select id from ledger_entries)`,
  'a COMPLETED deposit has one disposition, and ORCHESTRATED ones have their orchestration': `
    select deposits.id || ' ' || coalesce(disposition, 'none')
    from deposits left join orchestrations on orchestrations.id = orchestration_id
    where (deposits.status = 'COMPLETED') <> (disposition is not null)
      or (coalesce(disposition, '') = 'ORCHESTRATED') <> (orchestrations.id is not null)`,
  'what is in transit is what orchestrations and deliveries under way have reserved': `
    with reserved as (
      select profile_id, source_asset as asset, source_amount as amount from orchestrations
        where status = 'PROCESSING' and step = 'convert'
      union all select profile_id, destination_asset, destination_amount from orchestrations
        where status = 'PROCESSING' and step = 'deliver'
      union all select profile_id, asset, amount from deliveries
        where deposit_id is not null and status not in ('SETTLED', 'FAILED')
    ), sums as (select profile_id, asset, sum(amount) as amount from reserved group by 1, 2)
    select coalesce(sums.profile_id, balances.profile_id) || ' ' || coalesce(sums.asset, balances.asset)
      || ': ' || coalesce(sums.amount, 0) || ' reserved, ' || coalesce(in_transit, 0) || ' in transit'
    from sums full join balances on balances.profile_id = sums.profile_id and balances.asset = sums.asset
    where coalesce(sums.amount, 0) <> coalesce(in_transit, 0)`,
  'transfers add up to what deposits, orchestrations and deliveries have changed of each balance': `
    with moved as (
      select profile_id, asset, sum(change) as amount from (
        select credit_profile_id as profile_id, asset, group_id, amount as change from postings
        union all select debit_profile_id, asset, group_id, -amount from postings
      ) as sides
      where profile_id is not null and group_id in
        (select id from deposits union all select id from orchestrations union all select id from deliveries)
      group by 1, 2
    ), shown as (
      -- The fee of a payment is charged when the payment is created.
      select profile_id, asset, sum(case when direction = 'CREDIT' then 1 else -1 end * case
        when status = 'COMPLETED' then amount + fee
        when status = 'PENDING' and direction = 'DEBIT' then fee
        else 0 end) as amount
      from transfers group by 1, 2
    )
    select coalesce(moved.profile_id, shown.profile_id) || ' ' || coalesce(moved.asset, shown.asset)
      || ': changed by ' || coalesce(moved.amount, 0) || ', shown ' || coalesce(shown.amount, 0)
    from moved full join shown on shown.profile_id = moved.profile_id and shown.asset = moved.asset
    where coalesce(moved.amount, 0) <> coalesce(shown.amount, 0)`,
  'an orchestration converts at most once': `
    select group_id::text from postings where 'desk' in (debit_bucket, credit_bucket)
    group by group_id having count(*) filter (where debit_bucket = 'desk') > 1
      or count(*) filter (where credit_bucket = 'desk') > 1`,
  'conversions and their postings agree': `
    select orchestration_id::text from conversions where not exists (
      select from postings where group_id = orchestration_id and credit_bucket = 'desk' and asset = source_asset
        and amount = conversions.source_amount
    ) or not exists (
      select from postings where group_id = orchestration_id and debit_bucket = 'desk' and asset = destination_asset
        and amount = conversions.destination_amount
    )`,
  'a delivery leaves exactly once when it is SETTLED, and never otherwise': `
    select id || ' ' || status || ' out ' || went || ' of ' || amount from (
      select deliveries.*,
        (select coalesce(sum(amount), 0) from postings where group_id = deliveries.id and credit_bucket = 'external') as went
      from deliveries
    ) as deliveries where went <> case when status = 'SETTLED' then amount else 0 end`,
  'an orchestration has at most one settled delivery, and is final with it': `
    select orchestrations.id || ' ' || orchestrations.status || ' ' || string_agg(deliveries.status, ' ')
    from orchestrations join deliveries on orchestration_id = orchestrations.id
    group by orchestrations.id having count(*) filter (where deliveries.status = 'SETTLED') > 1
      or bool_or(deliveries.status = 'SETTLED') <> (orchestrations.status = 'COMPLETED')
      or (bool_or(deliveries.status = 'FAILED') and orchestrations.status <> 'FAILED')`,
  'money leaves by deliveries, reversals and ledger entries alone': `
    select id || ' ' || group_id from postings where credit_bucket = 'external'
      and group_id not in
        (select id from deliveries union all select id from deposits union all select id from ledger_entries)`,
  'only PROCESSING orchestrations have work that is due': `
    select orchestration_id::text from orchestration_queue join orchestrations on id = orchestration_id
    where status <> 'PROCESSING'`,
  'a PROCESSING orchestration is due, or its delivery is under way': `
    select id || ' ' || step || ' ' || coalesce(waiting_for, '') from orchestrations where status = 'PROCESSING'
      and id not in (select orchestration_id from orchestration_queue)
      and not exists (
        select from deliveries where orchestration_id = orchestrations.id and deliveries.status not in ('SETTLED', 'FAILED')
      ) and waiting_for is distinct from 'HOLD'`,
  'a customer’s events are numbered without a gap, in the order of their times': `
    select customer_id || ' ' || coalesce(sequence, 0) || ' ' || coalesce(last_sequence, 0) from (
      select *, row_number() over numbered as place, lag(created_at) over numbered as earlier,
        count(*) over (partition by customer_id) as number
      from event_counters full join events using (customer_id)
      window numbered as (partition by customer_id order by sequence)
    ) as numbered
    where (sequence, number) is distinct from (place, last_sequence) or created_at < earlier`,
  'an object’s last event has its state, and two in a row differ': `
    with states as (
      select id, coalesce(secondary_status, status) as status, customer_id, case
        when type in ('CRYPTO_DEPOSIT', 'WIRE_DEPOSIT', 'CUBIX_DEPOSIT') then 'transfer.deposit.' else 'transfer.transfer.' end
        || lower(coalesce(secondary_status, status)) as type from transfers
      union all select id, status, customer_id, 'orchestration.orchestration.' || case when status <> 'PROCESSING'
        then lower(status) when waiting_for is null then 'processing' else 'waiting' end from orchestrations
      union all select id, status, customer_id, 'orchestration.rule.' || lower(status) from rules
      union all select id, status, customer_id, 'transfer.destination.' || lower(status) from destinations
    ), of_objects as (
      select *, lag(type) over of_object as earlier, lead(type) over of_object is null as is_last
      from events where object_id in (select id from states) and type <> 'transfer.limit.reached'
      window of_object as (partition by object_id order by sequence)
    )
    select states.id || ' is ' || states.type || ', its event ' || coalesce(of_objects.type, 'is missing')
    from states full join of_objects on states.id = object_id and states.customer_id = of_objects.customer_id
    where coalesce(is_last, true)
      and (states.type, states.status) is distinct from (of_objects.type, of_objects.status) or earlier = of_objects.type`,
  'each change of an account or a rule in the audit trail has one event': `
    with changed as (
      select subject, count(*) as number from audit
      where action in ('account.create', 'account.review', 'account.update', 'rule.create', 'rule.approve', 'rule.reject',
        'rule.delete')
      group by subject
    ), noted as (
      select object_id::text as subject, count(*) as number from events
      where object_type in ('account', 'orchestration_rule') group by object_id
    )
    select coalesce(changed.subject, noted.subject) || ': ' || coalesce(changed.number, 0) || ' audit rows, '
      || coalesce(noted.number, 0) || ' events'
    from changed full join noted on noted.subject = changed.subject
    where changed.number is distinct from noted.number`,
  'a final orchestration has as many events as audit rows': `
    select object_id || ' ' || type || ' ' || count(*) from events
    where type in ('orchestration.orchestration.completed', 'orchestration.orchestration.failed')
    group by object_id, type having count(*) <> (
      select count(*) from audit where subject = object_id::text and not detail ? 'delivery_id' and action = any (case split_part(type, '.', 3)
        when 'completed' then array['orchestration.complete']
        else array['orchestration.fail', 'orchestration.cancel', 'orchestration.reject'] end))`,
}

/** Every rule's violations, by name. Empty when all hold. */
export async function moneyViolations(db: Db, desk: Readonly<Record<string, bigint>> = {}): Promise<readonly string[]> {
  const union = Object.entries(RULES)
    .map(([name, query]) => `select '${name}' as rule, found.what from (${query}) as found (what)`)
    .join(' union all ')
  const { rows } = await sql.raw<{ rule: string; what: string }>(union).execute(db.tables())
  return [...rows.map(({ rule, what }) => `${rule}: ${what}`), ...(await deskViolations(db, desk))]
}

/** The desk's position after every posting, in order: it may be short by at most its limit. */
async function deskViolations(db: Db, limits: Readonly<Record<string, bigint>>): Promise<readonly string[]> {
  const { rows } = await sql<{ asset: string; lowest: string }>`
    select asset, min(position)::text as lowest from (
      select asset, sum(case when credit_bucket = 'desk' then amount else -amount end)
        over (partition by asset order by id) as position
      from postings where 'desk' in (debit_bucket, credit_bucket)
    ) as positions group by asset
  `.execute(db.tables())
  return rows
    .filter(({ asset, lowest }) => limits[asset] !== undefined && BigInt(lowest) < -(limits[asset] as bigint))
    .map(({ asset, lowest }) => `the desk stays within its limit: ${asset} ${lowest}`)
}

/**
 * Unfinished orchestrations that do not name what they wait for, or wait for what is available again. Empty once all
 * possible work is done, nothing is paused or on hold, and every book is live and inside its peg.
 */
export async function unexplained(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ what: string }>`
    select concat_ws(' ', id, step, 'waits for', waiting_for, waiting_detail, 'with the attempt', (
      select attempt from orchestration_queue where orchestration_id = orchestrations.id
    )) as what from orchestrations where status = 'PROCESSING'
      and (waiting_for is null or waiting_for in ('PAUSED', 'PEG', 'PRICE') or (waiting_for = 'HOLD' and not exists (
        select from balances where balances.profile_id = orchestrations.profile_id and receivable > 0
      )))
      and not exists (
        select from deliveries where orchestration_id = orchestrations.id
          and deliveries.status in ('WAITING', 'CLAIMED', 'SENT', 'NEEDS_OPERATOR')
      )
  `.execute(db.tables())
  return rows.map(({ what }) => what)
}
