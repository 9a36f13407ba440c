/**
 * Finds and locks the deposits for reported payments, by the source's name for the payment or by the payment's
 * identity.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'
import { plainReference } from './bank-reference.ts'
import type { PaymentTerms, Report } from './report.ts'
import type { DepositsTable, DepositTables } from './tables.ts'

export type DepositRow = DepositsTable

/** A stored reference's `plainReference`, as in the index `deposits_bank_reference`. */
const PLAIN_REFERENCE = sql`upper(translate(deposits.bank_reference, E' \\t\\n\\r\\f', '') collate "C")`

export interface Known {
  readonly deposit: DepositRow
  /** The source's name for the payment and the payment's identity belong to two different deposits. */
  readonly isTorn: boolean
}

/** Each report's deposit, in the same order, locked until the transaction ends. Undefined when there is none yet. */
export async function lockKnown<Tables>(
  transaction: Transaction<Tables>,
  reports: readonly Report[],
): Promise<readonly (Known | undefined)[]> {
  // A credited payment's identity never changes, so it may be read before the rows are locked. If it changed in
  // between, the report conflicts. `limit 1` never changes the result, but without it the planner scans all deposits
  // while its statistics count only a few.
  const { rows } = await sql<{ readonly sighted_id: string | null; readonly payment_id: string | null }>`
    select sighted.deposit_id as sighted_id, coalesce(mined.id, banked.id) as payment_id
    from ${unnested(reports, [
      ['source', 'text', ({ source }) => source],
      ['external_id', 'text', ({ externalId }) => externalId],
      ['network', 'text', ({ network }) => network],
      ['tx_hash', 'text', ({ txHash }) => txHash],
      ['tx_index', 'integer', ({ txIndex }) => txIndex],
      ['bank_reference', 'text', ({ bankReference }) => bankReference && plainReference(bankReference)],
      ['number', 'integer', (_, index) => index],
    ])}
    left join lateral (
      select deposit_id from deposit_sightings
      where deposit_sightings.source = wanted.source and deposit_sightings.external_id = wanted.external_id limit 1
    ) as sighted on true
    left join lateral (
      select id from deposits
      where deposits.network = wanted.network and deposits.tx_hash = wanted.tx_hash
        and deposits.tx_index = wanted.tx_index limit 1
    ) as mined on true
    left join lateral (
      select id from deposits
      where deposits.network = wanted.network and bank_reference is not null and not repeats_reference
        and ${PLAIN_REFERENCE} = wanted.bank_reference limit 1
    ) as banked on true
    order by wanted.number
  `.execute(transaction)
  const ids = rows.flatMap(({ sighted_id, payment_id }) => sighted_id ?? payment_id ?? [])
  const locked = await lockDeposits(transaction, ids)
  return rows.map(({ sighted_id, payment_id }) => {
    const deposit = locked.get(sighted_id ?? payment_id ?? '')
    if (deposit === undefined) return undefined
    return { deposit, isTorn: sighted_id !== null && payment_id !== null && sighted_id !== payment_id }
  })
}

/** Deposits, locked until the transaction ends. */
export async function lockDeposits<Tables>(
  transaction: Transaction<Tables>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DepositRow>> {
  if (ids.length === 0) return new Map()
  const ours = transaction as unknown as Transaction<DepositTables>
  const rows = await ours
    .selectFrom('deposits')
    .selectAll()
    .where(sql<boolean>`id = any(${[...new Set(ids)]}::uuid[])`)
    .orderBy('id')
    .modifyEnd(forUpdate(transaction, 'deposit', ids))
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** The terms of a deposit's payment. */
export function termsOf(row: DepositRow): PaymentTerms {
  return {
    asset: row.asset,
    amount: BigInt(row.amount),
    network: row.network,
    address: row.address,
    txHash: row.tx_hash,
    txIndex: row.tx_index,
    memoId: row.memo_id,
    remittance: row.remittance,
    bankReference: row.bank_reference,
    sender: row.sender,
  }
}
