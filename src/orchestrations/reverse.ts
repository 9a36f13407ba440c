/** Fails the orchestration of a deposit that is reversed, unless it is converted already. */
import { assert } from '../base/assert.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { failUnconverted, type UnconvertedRow } from './fail-unconverted.ts'

const REVERSED = {
  action: 'orchestration.fail',
  failCode: 'REVERSED',
  failDetail: 'the deposit was reversed',
} as const

/**
 * An orchestration of this deposit at step `convert` becomes FAILED with code REVERSED, and its amount is available again
 * in the same transaction. One that is converted or final stays as it is. The orchestration is locked before any balance,
 * as everywhere.
 */
export async function stopForReversal<Tables>(transaction: Transaction<Tables>, depositId: string): Promise<void> {
  const { rows } = await sql<UnconvertedRow>`
    select id, profile_id, source_asset, source_amount from orchestrations
    where deposit_id = ${depositId} and status = 'PROCESSING' and step = 'convert' for update
  `.execute(transaction)
  assert(rows.length <= 1, 'a deposit starts one orchestration')
  for (const row of rows) await failUnconverted(transaction, row, REVERSED, 'worker')
}
