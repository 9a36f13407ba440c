/** Fails the orchestration of a deposit that is reversed, unless it is converted already. */
import { assert } from '../base/assert.ts'
import { post } from '../ledger/ledger.ts'
import { writeAudit } from '../store/audit.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'

interface StoppedRow {
  readonly id: string
  readonly profile_id: string
  readonly source_asset: string
  readonly source_amount: string
}

/**
 * An orchestration of this deposit at step `convert` becomes FAILED with code REVERSED, and its amount is available again
 * in the same transaction. One that is converted or final stays as it is. The orchestration is locked before any balance,
 * as everywhere.
 */
export async function stopForReversal<Tables>(transaction: Transaction<Tables>, depositId: string): Promise<void> {
  const { rows } = await sql<StoppedRow>`
    update orchestrations set status = 'FAILED', step = null, waiting_for = null, waiting_detail = null,
      waiting_since = null, fail_code = 'REVERSED', fail_detail = 'the deposit was reversed',
      updated_at = greatest(updated_at, date_trunc('milliseconds', clock_timestamp()))
    where deposit_id = ${depositId} and status = 'PROCESSING' and step = 'convert'
    returning id, profile_id, source_asset, source_amount
  `.execute(transaction)
  assert(rows.length <= 1, 'a deposit starts one orchestration')
  const [stopped] = rows
  if (stopped === undefined) return
  await sql`delete from orchestration_queue where orchestration_id = ${stopped.id}`.execute(transaction)
  const { id, profile_id: profileId, source_asset: asset, source_amount } = stopped
  const debit = { bucket: 'in_transit', profileId } as const
  const credit = { bucket: 'available', profileId } as const
  await post(transaction, [{ asset, amount: BigInt(source_amount), debit, credit, groupId: id }])
  const detail = { status: 'FAILED', fail_code: 'REVERSED' }
  await writeAudit(transaction, { actor: 'worker', action: 'orchestration.fail', subject: id, detail })
}
