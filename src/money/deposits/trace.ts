/**
 * Reads a deposit's history in time order: its reports, the actions on it and their actors, its postings, and the
 * orchestrations and deliveries that it started. Read-only.
 */
import type { Db, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { formatAmount } from '../ledger/amounts.ts'
import { readDecimals } from '../ledger/assets.ts'
import { type DepositDocument, readDeposit } from './store.ts'
import type { DepositTables } from './tables.ts'
import {
  attemptEntry,
  auditEntry,
  conversionEntry,
  deliveryEntries,
  inOrderOfTime,
  orchestrationEntries,
  postingEntry,
  sightingEntry,
  type TracedAttempt,
  type TracedAudit,
  type TracedConversion,
  type TracedDelivery,
  type TracedOrchestration,
  type TracedPosting,
  type TracedSighting,
  type TraceEntry,
  withNames,
} from './trace-text.ts'

export interface DepositTrace {
  readonly deposit: DepositDocument
  /** Names for its customer, profile and rule, where they have one. */
  readonly names: { readonly customer?: string; readonly profile?: string; readonly rule?: string }
  readonly entries: readonly TraceEntry[]
}

/**
 * The most rows per kind. A deposit has only a few. A delivery without a result for a day may have about a hundred
 * attempts.
 */
const ROWS_MAX = 1_000

/** The trace, read in one transaction. Throws 404 when there is no deposit with this id. */
export async function traceDeposit(db: Db, id: string): Promise<DepositTrace> {
  return await db.transaction<DepositTables, DepositTrace>(async (transaction) => {
    const deposit = await readDeposit<DepositTables>(transaction, id)
    const decimals = await readDecimals<DepositTables>(transaction)
    const withAmounts = <Row extends object>(row: Row): Row => amountsOf(row, decimals)
    const orchestrations = await readOrchestrations(transaction, id)
    const orchestrationIds = orchestrations.map((each) => each.id)
    const deliveries = await readDeliveries(transaction, id, orchestrationIds)
    const ids = [id, ...orchestrationIds, ...deliveries.map((each) => each.id)]
    const sightings = await readSightings(transaction, id)
    const audits = await readAudits(transaction, ids)
    const postings = await readPostings(transaction, ids)
    const conversions = await readConversions(transaction, orchestrationIds)
    const attempts = await readAttempts(
      transaction,
      deliveries.map((each) => each.id),
    )
    const { customer_id, profile_id, orchestration_rule_id: rule_id } = deposit
    const profiles = postings.flatMap((each) => [each.debit_profile_id ?? [], each.credit_profile_id ?? []].flat())
    const assigned = audits.flatMap(({ detail }) => (typeof detail.profile_id === 'string' ? [detail.profile_id] : []))
    const known = [customer_id ?? [], profile_id ?? [], rule_id ?? []].flat()
    const names = await readNames(transaction, [...known, ...profiles, ...assigned])
    return {
      deposit,
      names: {
        ...named('customer', names.get(customer_id ?? '')),
        ...named('profile', names.get(profile_id ?? '')),
        ...named('rule', names.get(rule_id ?? '')),
      },
      entries: inOrderOfTime([
        ...sightings.map(sightingEntry),
        ...audits.map(auditEntry),
        ...postings.map(withAmounts).map(postingEntry),
        ...orchestrations.map(withAmounts).flatMap(orchestrationEntries),
        ...conversions.map(withAmounts).map(conversionEntry),
        ...deliveries.map(withAmounts).flatMap(deliveryEntries),
        ...attempts.map(attemptEntry),
      ]).map((entry) => withNames(entry, names)),
    }
  })
}

/** The amounts in a row, each with the member for its asset. */
const AMOUNTS = { amount: 'asset', source_amount: 'source_asset', destination_amount: 'destination_asset' } as const

/** The row with its amounts as decimal text. The store has them in minor units. */
function amountsOf<Row extends object>(row: Row, decimals: ReadonlyMap<string, number>): Row {
  const members = { ...row } as Record<string, unknown>
  for (const [name, assetName] of Object.entries(AMOUNTS)) {
    const [units, asset] = [members[name], members[assetName]]
    const digits = typeof asset === 'string' ? decimals.get(asset) : undefined
    if (typeof units === 'string' && digits !== undefined) members[name] = formatAmount(BigInt(units), digits)
  }
  return members as Row
}

function named(member: string, name: string | undefined) {
  return name === undefined ? {} : { [member]: name }
}

type Trx = Transaction<DepositTables>

/** Names by id. Records without a name are missing. */
async function readNames(transaction: Trx, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)]
  const { rows } = await sql<{ id: string; name: string }>`
    select id, name from customers where id = any(${wanted}::uuid[])
    union all select id, nickname from profiles where id = any(${wanted}::uuid[]) and nickname is not null
    union all select id, nickname from rules where id = any(${wanted}::uuid[]) and nickname is not null
  `.execute(transaction)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

async function readSightings(transaction: Trx, depositId: string): Promise<readonly TracedSighting[]> {
  const { rows } = await sql<TracedSighting>`
    select source, external_id, status, confirmations, reports, first_reported_at, last_reported_at
    from deposit_sightings where deposit_id = ${depositId} order by first_reported_at limit ${ROWS_MAX}
  `.execute(transaction)
  return rows
}

/** The deposit's orchestration, and its retries. */
async function readOrchestrations(transaction: Trx, depositId: string): Promise<readonly TracedOrchestration[]> {
  const { rows } = await sql<TracedOrchestration>`
    with recursive of_deposit as (
      select orchestrations.* from orchestrations where deposit_id = ${depositId}
      union all
      select orchestrations.* from of_deposit join orchestrations on orchestrations.retry_of = of_deposit.id
    )
    select id, status, step, source_asset, source_amount, destination_asset, destination_amount, waiting_for,
      waiting_detail, waiting_since, fail_code, fail_detail, retry_of, created_at, updated_at
    from of_deposit limit ${ROWS_MAX}
  `.execute(transaction)
  return rows
}

async function readDeliveries(
  transaction: Trx,
  depositId: string,
  orchestrationIds: readonly string[],
): Promise<readonly TracedDelivery[]> {
  const { rows } = await sql<TracedDelivery>`
    select id, asset, amount, destination, status, reference, late, waiting_for, fail_code, fail_detail, created_at,
      updated_at
    from deliveries where deposit_id = ${depositId} or orchestration_id = any(${[...orchestrationIds]}::uuid[])
    order by created_at limit ${ROWS_MAX}
  `.execute(transaction)
  return rows
}

async function readAudits(transaction: Trx, subjects: readonly string[]): Promise<readonly TracedAudit[]> {
  const { rows } = await sql<TracedAudit>`
    select created_at, actor, action, subject, detail from audit
    where subject = any(${[...subjects]}::text[]) order by id limit ${ROWS_MAX}
  `.execute(transaction)
  return rows
}

async function readPostings(transaction: Trx, groupIds: readonly string[]): Promise<readonly TracedPosting[]> {
  const { rows } = await sql<TracedPosting>`
    select created_at, group_id, asset, amount, debit_bucket, debit_profile_id, credit_bucket, credit_profile_id
    from postings where group_id = any(${[...groupIds]}::uuid[]) order by id limit ${ROWS_MAX}
  `.execute(transaction)
  return rows
}

async function readConversions(
  transaction: Trx,
  orchestrationIds: readonly string[],
): Promise<readonly TracedConversion[]> {
  const { rows } = await sql<TracedConversion>`
    select orchestration_id, kind, market, source_asset, source_amount, destination_asset, destination_amount,
      date_trunc('milliseconds', created_at) as created_at
    from conversions where orchestration_id = any(${[...orchestrationIds]}::uuid[]) limit ${ROWS_MAX}
  `.execute(transaction)
  return rows
}

async function readAttempts(transaction: Trx, deliveryIds: readonly string[]): Promise<readonly TracedAttempt[]> {
  const { rows } = await sql<TracedAttempt>`
    select delivery_id, attempt, executor, started_at, ended_at, outcome, detail from delivery_attempts
    where delivery_id = any(${[...deliveryIds]}::uuid[]) order by started_at limit ${ROWS_MAX}
  `.execute(transaction)
  return rows
}
