/**
 * Writes deposits and sightings, many per statement. Unique indexes ensure that a payment has one deposit. When a
 * statement collides with a concurrent transaction's row, it throws `LostRace` or the store's unique violation. The
 * caller then repeats its transaction, which finds that row.
 */
import { assert } from '../../platform/base/assert.ts'
import { StatementFailed, type Transaction } from '../../platform/store/db.ts'
import { holding } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { type Column, inserting, namesOf, unnested } from '../../platform/store/unnested.ts'
import { gatesText } from '../gates/model.ts'
import type { Report } from './report.ts'
import type { DepositValues } from './tables.ts'

/**
 * A concurrent transaction stored the same payment after this one looked for it. This transaction must be rolled back.
 */
export class LostRace extends Error {
  override name = 'LostRace'
}

/** Attempts to record payments after lost races. The next attempt sees the row that won. */
const ATTEMPTS_MAX = 5

const UNIQUE_VIOLATION = '23505'

/** Repeats a transaction that lost a race against a concurrent one. */
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

/** A report, and its deposit after the report. */
export interface Reported {
  readonly report: Report
  readonly after: DepositValues
}

/** Every column except the times that the store sets. */
const TYPES: Readonly<Record<keyof DepositValues, string>> = {
  id: 'uuid',
  customer_id: 'uuid',
  profile_id: 'uuid',
  account_id: 'uuid',
  asset: 'text',
  amount: 'numeric',
  status: 'text',
  secondary_status: 'text',
  disposition: 'text',
  network: 'text',
  address: 'text',
  tx_hash: 'text',
  tx_index: 'integer',
  memo_id: 'text',
  remittance: 'text',
  bank_reference: 'text',
  sender: 'text',
  deposit_address_id: 'uuid',
  fiat_instructions_id: 'uuid',
  rule_id: 'uuid',
  orchestration_id: 'uuid',
  skips_rules: 'boolean',
  delivery_id: 'uuid',
  returned_from: 'text',
  confirmations: 'integer',
  reason: 'text',
  gates: 'jsonb',
  opened_gates: 'text',
  occurred_at: 'timestamptz',
  corrections: 'jsonb',
  transfer_id: 'uuid',
}

const NAMES = Object.keys(TYPES) as (keyof DepositValues)[]

const COLUMNS = NAMES.map((name): Column<Pick<Reported, 'after'>> => {
  if (name === 'corrections') return [name, TYPES[name], ({ after }) => JSON.stringify(after.corrections)]
  if (name === 'gates')
    return [name, TYPES[name], ({ after: { gates } }) => (gates === null ? null : gatesText({ gates }))]
  if (name === 'opened_gates') return [name, TYPES[name], ({ after }) => `{${after.opened_gates.join(',')}}`]
  return [name, TYPES[name], ({ after }) => after[name]]
})

/** The columns of a new deposit. No release has opened a gate for it. */
const FIRST_COLUMNS = COLUMNS.filter(([name]) => name !== 'opened_gates')

const NOW = sql`date_trunc('milliseconds', clock_timestamp())`

/**
 * Stores new deposits with their first sightings, and returns their creation time.
 *
 * An existing key is a store error. `on conflict` is not used, because with it each row is written in two steps.
 */
export async function insertDeposits<Tables>(
  transaction: Transaction<Tables>,
  firsts: readonly Reported[],
): Promise<string | undefined> {
  if (firsts.length === 0) return undefined
  const sighted: readonly Column<Reported>[] = [
    ...FIRST_COLUMNS,
    ['source', 'text', ({ report }) => report.source],
    ['external_id', 'text', ({ report }) => report.externalId],
  ]
  const names = sql.raw(namesOf(FIRST_COLUMNS))
  const ids = firsts.map(({ after }) => after.id)
  holding(transaction, 'deposit', ids)
  const { rows } = await sql<{ readonly now: string }>`
    with wanted as materialized (
      select * from (select ${NOW} as now) as clock cross join ${unnested(firsts, sighted)}
    ), made as (
      insert into deposits (${names}, created_at, updated_at, completed_at)
      select ${names}, now, now, case when status = 'COMPLETED' then now end
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

/**
 * Counts reports about known, locked deposits. Inserts the sighting when the source reports the deposit for the first
 * time.
 */
export async function recordSightings<Tables>(
  transaction: Transaction<Tables>,
  sightings: readonly Reported[],
): Promise<void> {
  if (sightings.length === 0) return
  const columns: readonly Column<Reported>[] = [
    ['source', 'text', ({ report }) => report.source],
    ['external_id', 'text', ({ report }) => report.externalId],
    ['deposit_id', 'uuid', ({ after }) => after.id],
    ['status', 'text', ({ report }) => report.status],
    ['confirmations', 'integer', ({ report }) => report.confirmations],
  ]
  const computed = { reports: sql`1`, first_reported_at: NOW, last_reported_at: NOW }
  const { rows } = await sql`
    ${inserting('deposit_sightings', sightings, columns, computed)}
    order by source, external_id
    on conflict (source, external_id) do update set
      status = excluded.status,
      confirmations = greatest(deposit_sightings.confirmations, excluded.confirmations),
      reports = deposit_sightings.reports + 1,
      last_reported_at = excluded.last_reported_at
    where deposit_sightings.deposit_id = excluded.deposit_id
    returning deposit_id
  `.execute(transaction)
  if (rows.length < sightings.length) throw new LostRace('a report’s name was stored for another payment')
}

/**
 * Writes all columns for locked deposits. Each may occur once: two reports under different names can complete one bank
 * payment, and are recorded one after the other.
 */
export async function changeDeposits<Tables>(
  transaction: Transaction<Tables>,
  changes: readonly DepositValues[],
): Promise<void> {
  if (changes.length === 0) return
  assert(new Set(changes.map(({ id }) => id)).size === changes.length, 'a call changes each deposit once')
  const rows = changes.map((after) => ({ after }))
  const written = NAMES.filter((name) => name !== 'id').map((name) =>
    sql.raw(`${name} = wanted.${name}${name === 'opened_gates' ? '::text[]' : ''}`),
  )
  await sql`
    update deposits set ${sql.join(written)},
      updated_at = greatest(${NOW}, deposits.updated_at + interval '1 millisecond'),
      completed_at = case when wanted.status = 'COMPLETED' then coalesce(deposits.completed_at, ${NOW}) end
    from ${unnested(rows, COLUMNS)}
    where deposits.id = wanted.id
  `.execute(transaction)
}
