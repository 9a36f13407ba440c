/** What must be true of the store, the sources and the executor when no process is killed any more and nothing is due. */
import type { Db } from '../../../../src/platform/store/db.ts'
import { sql } from '../../../../src/platform/store/sql.ts'
import { ledgerDifferences } from '../../../support/ledger.ts'
import { moneyViolations, unexplained } from '../../../support/money-oracles.ts'
import { type Campaign, UNKNOWN_ADDRESS } from './campaign.ts'
import type { Executor } from './executor.ts'

/** What is wrong; empty when nothing is. */
export async function findViolations(db: Db, campaign: Campaign, executor: Executor): Promise<readonly string[]> {
  return [
    ...(await moneyViolations(db)),
    ...(await unexplained(db)),
    ...(await ledgerDifferences(db)),
    ...(await wrongPayments(db, campaign)),
    ...(await lostReports(db, campaign)),
    ...(await wrongDeliveries(db, executor)),
    ...executor.violations,
    ...executor.paidTwice.map((id) => `an orchestration was paid twice: ${id}`),
  ]
}

/** Every payment is one COMPLETED deposit of its amount with one credit and one disposition; there are no others. */
async function wrongPayments(db: Db, { payments }: Campaign): Promise<readonly string[]> {
  const { rows } = await sql<{ key: string; what: string }>`
    select tx_hash || ' ' || tx_index as key, status || ' ' || (
      select coalesce(string_agg(trim_scale(amount * 1e-6)::text, ' and '), 'nothing') from postings
      where group_id = deposits.id and debit_bucket = 'external'
    ) || ' ' || disposition as what
    from deposits
  `.execute(db.tables())
  const found = rows.map(({ key, what }) => `${key}: ${what}`)
  const wanted = payments.map(({ txHash, txIndex, amount, address }) => {
    const disposition = address === UNKNOWN_ADDRESS ? 'UNATTRIBUTED' : 'ORCHESTRATED'
    return `${txHash} ${txIndex}: COMPLETED ${amount.replace(/\.?0+$/, '')} ${disposition}`
  })
  return difference(found, wanted, 'a payment is one deposit, credited once')
}

/** What a source was answered is what the store knows of it: a report that was acknowledged is never lost. */
async function lostReports(db: Db, { acknowledged }: Campaign): Promise<readonly string[]> {
  const { rows } = await sql<{
    name: string
  }>`select source || ' ' || external_id as name from deposit_sightings`.execute(db.tables())
  const known = new Set(rows.map(({ name }) => name))
  return acknowledged
    .map(({ source, externalId }) => `${source} ${externalId}`)
    .filter((name) => !known.has(name))
    .map((name) => `an acknowledged report is lost: ${name}`)
}

/**
 * A delivery is SETTLED by the payment that the executor made for it, FAILED by its refusal alone, and what was paid
 * without an answer waits for the operator with its money in transit.
 */
async function wrongDeliveries(db: Db, executor: Executor): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string; what: string }>`
    select deliveries.id, deliveries.status || ' ' || coalesce(reference, deliveries.fail_code, '') || ' '
      || orchestrations.status || ' ' || coalesce(orchestrations.waiting_for, '') as what
    from deliveries join orchestrations on orchestrations.id = orchestration_id
  `.execute(db.tables())
  const found = rows.map(({ id, what }) => `${id}: ${what.trim()}`)
  const wanted = [...executor.deliveries].map(([id, { manner, reference }]) => {
    if (manner === 'refuses') return `${id}: FAILED REFUSED FAILED`
    if (manner === 'is silent') return `${id}: NEEDS_OPERATOR  PROCESSING OPERATOR`
    return `${id}: SETTLED ${reference} COMPLETED`
  })
  return difference(found, wanted, 'a delivery is what the executor did')
}

/** Both lists hold the same, each as often. */
function difference(found: readonly string[], wanted: readonly string[], rule: string): readonly string[] {
  const counts = new Map<string, number>()
  for (const text of wanted) counts.set(text, (counts.get(text) ?? 0) + 1)
  for (const text of found) counts.set(text, (counts.get(text) ?? 0) - 1)
  return [...counts].flatMap(([text, count]) => {
    if (count === 0) return []
    return [`${rule}: ${count > 0 ? 'missing' : 'unexpected'}: ${text}`]
  })
}
