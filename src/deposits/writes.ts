/**
 * Writes deposits and sightings, many per statement. Unique indexes ensure that a payment is one deposit: a statement that
 * collides with a row of a concurrent transaction throws `LostRace` or the store's error of a unique violation, and the
 * caller repeats its transaction, which then finds that row.
 */
import { StatementFailed, type Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { unnested } from '../store/unnested.ts'
import type { Report } from './report.ts'
import type { DepositsTable } from './tables.ts'

/** A concurrent transaction stored the same payment after this one looked for it; this transaction must be rolled back. */
export class LostRace extends Error {
  override name = 'LostRace'
}

/** Attempts to record payments that lose races; the next attempt sees the row that won. */
const ATTEMPTS_MAX = 5

const UNIQUE_VIOLATION = '23505'

/** Repeats a transaction that records payments while it loses races against concurrent ones. */
export async function repeatLostRaces<Result>(record: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await record()
    } catch (error) {
      const isLost =
        error instanceof LostRace || (error instanceof StatementFailed && error.sqlState === UNIQUE_VIOLATION)
      if (!isLost || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

/** The columns of a new deposit that come from its first report. */
export type NewDeposit = Omit<
  DepositsTable,
  | 'created_at'
  | 'updated_at'
  | 'completed_at'
  | 'skips_rules'
  | 'delivery_id'
  | 'returned_from'
  | 'reason'
  | 'occurred_at'
>

export interface FirstReport {
  readonly deposit: NewDeposit
  readonly report: Report
}

/** New values of a known deposit; all of these columns are written. */
export type DepositChange = Pick<
  DepositsTable,
  | 'id'
  | 'customer_id'
  | 'profile_id'
  | 'account_id'
  | 'status'
  | 'secondary_status'
  | 'disposition'
  | 'bank_reference'
  | 'deposit_address_id'
  | 'fiat_instructions_id'
  | 'rule_id'
  | 'orchestration_id'
  | 'confirmations'
>

const NOW = sql`date_trunc('milliseconds', clock_timestamp())`

/**
 * Stores new deposits with their first sightings; returns the time of their creation.
 *
 * A key that exists is an error of the store: rows that might be passed over are written in two steps each.
 */
export async function insertDeposits<Tables>(
  transaction: Transaction<Tables>,
  firsts: readonly FirstReport[],
): Promise<string | undefined> {
  if (firsts.length === 0) return undefined
  const { rows } = await sql<{ readonly now: string }>`
    with wanted as materialized (
      select * from (select ${NOW} as now) as clock cross join ${unnested(firsts, [
        ['id', 'uuid', ({ deposit }) => deposit.id],
        ['customer_id', 'uuid', ({ deposit }) => deposit.customer_id],
        ['profile_id', 'uuid', ({ deposit }) => deposit.profile_id],
        ['account_id', 'uuid', ({ deposit }) => deposit.account_id],
        ['asset', 'text', ({ deposit }) => deposit.asset],
        ['amount', 'numeric', ({ deposit }) => deposit.amount],
        ['status', 'text', ({ deposit }) => deposit.status],
        ['secondary_status', 'text', ({ deposit }) => deposit.secondary_status],
        ['disposition', 'text', ({ deposit }) => deposit.disposition],
        ['network', 'text', ({ deposit }) => deposit.network],
        ['address', 'text', ({ deposit }) => deposit.address],
        ['tx_hash', 'text', ({ deposit }) => deposit.tx_hash],
        ['tx_index', 'integer', ({ deposit }) => deposit.tx_index],
        ['memo_id', 'text', ({ deposit }) => deposit.memo_id],
        ['remittance', 'text', ({ deposit }) => deposit.remittance],
        ['bank_reference', 'text', ({ deposit }) => deposit.bank_reference],
        ['sender', 'text', ({ deposit }) => deposit.sender],
        ['deposit_address_id', 'uuid', ({ deposit }) => deposit.deposit_address_id],
        ['fiat_instructions_id', 'uuid', ({ deposit }) => deposit.fiat_instructions_id],
        ['rule_id', 'uuid', ({ deposit }) => deposit.rule_id],
        ['orchestration_id', 'uuid', ({ deposit }) => deposit.orchestration_id],
        ['confirmations', 'integer', ({ deposit }) => deposit.confirmations],
        ['occurred_at', 'timestamptz', ({ report }) => report.occurredAt],
        ['source', 'text', ({ report }) => report.source],
        ['external_id', 'text', ({ report }) => report.externalId],
      ])}
    ), made as (
      insert into deposits (id, customer_id, profile_id, account_id, asset, amount, status, secondary_status, disposition,
        network, address, tx_hash, tx_index, memo_id, remittance, bank_reference, sender, deposit_address_id,
        fiat_instructions_id, rule_id, orchestration_id, confirmations, occurred_at, created_at, updated_at, completed_at)
      select id, customer_id, profile_id, account_id, asset, amount, status, secondary_status, disposition,
        network, address, tx_hash, tx_index, memo_id, remittance, bank_reference, sender, deposit_address_id,
        fiat_instructions_id, rule_id, orchestration_id, confirmations, occurred_at, now, now,
        case when status = 'COMPLETED' then now end
      from wanted order by network, tx_hash, tx_index, bank_reference
    ), sighted as (
      insert into deposit_sightings (source, external_id, deposit_id, status, confirmations, reports,
        first_reported_at, last_reported_at)
      select source, external_id, id, status, confirmations, 1, now, now from wanted order by source, external_id
    )
    select now from wanted limit 1
  `.execute(transaction)
  return rows[0]?.now
}

/** Counts reports of known, locked deposits; inserts the sighting when the source reports the deposit for the first time. */
export async function recordSightings<Tables>(
  transaction: Transaction<Tables>,
  sightings: readonly { readonly depositId: string; readonly report: Report }[],
): Promise<void> {
  if (sightings.length === 0) return
  const { rows } = await sql`
    insert into deposit_sightings (source, external_id, deposit_id, status, confirmations, reports,
      first_reported_at, last_reported_at)
    select source, external_id, deposit_id, status, confirmations, 1, ${NOW}, ${NOW}
    from ${unnested(sightings, [
      ['source', 'text', ({ report }) => report.source],
      ['external_id', 'text', ({ report }) => report.externalId],
      ['deposit_id', 'uuid', ({ depositId }) => depositId],
      ['status', 'text', ({ report }) => report.status],
      ['confirmations', 'integer', ({ report }) => report.confirmations],
    ])}
    order by source, external_id
    on conflict (source, external_id) do update set
      status = excluded.status,
      confirmations = greatest(deposit_sightings.confirmations, excluded.confirmations),
      reports = deposit_sightings.reports + 1,
      last_reported_at = excluded.last_reported_at
    where deposit_sightings.deposit_id = excluded.deposit_id
    returning deposit_id
  `.execute(transaction)
  if (rows.length < sightings.length) throw new LostRace('the name of a report was stored for another payment')
}

/** Writes the changes that reports made to locked deposits. */
export async function changeDeposits<Tables>(
  transaction: Transaction<Tables>,
  changes: readonly DepositChange[],
): Promise<void> {
  if (changes.length === 0) return
  await sql`
    update deposits set
      customer_id = wanted.customer_id,
      profile_id = wanted.profile_id,
      account_id = wanted.account_id,
      status = wanted.status,
      secondary_status = wanted.secondary_status,
      disposition = wanted.disposition,
      bank_reference = wanted.bank_reference,
      deposit_address_id = wanted.deposit_address_id,
      fiat_instructions_id = wanted.fiat_instructions_id,
      rule_id = wanted.rule_id,
      orchestration_id = wanted.orchestration_id,
      confirmations = wanted.confirmations,
      updated_at = greatest(${NOW}, deposits.updated_at + interval '1 millisecond'),
      completed_at = case when wanted.status = 'COMPLETED' then coalesce(deposits.completed_at, ${NOW}) end
    from ${unnested(changes, [
      ['id', 'uuid', ({ id }) => id],
      ['customer_id', 'uuid', ({ customer_id }) => customer_id],
      ['profile_id', 'uuid', ({ profile_id }) => profile_id],
      ['account_id', 'uuid', ({ account_id }) => account_id],
      ['status', 'text', ({ status }) => status],
      ['secondary_status', 'text', ({ secondary_status }) => secondary_status],
      ['disposition', 'text', ({ disposition }) => disposition],
      ['bank_reference', 'text', ({ bank_reference }) => bank_reference],
      ['deposit_address_id', 'uuid', ({ deposit_address_id }) => deposit_address_id],
      ['fiat_instructions_id', 'uuid', ({ fiat_instructions_id }) => fiat_instructions_id],
      ['rule_id', 'uuid', ({ rule_id }) => rule_id],
      ['orchestration_id', 'uuid', ({ orchestration_id }) => orchestration_id],
      ['confirmations', 'integer', ({ confirmations }) => confirmations],
    ])}
    where deposits.id = wanted.id
  `.execute(transaction)
}
