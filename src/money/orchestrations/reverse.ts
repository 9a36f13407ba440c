/** Fails a reversed deposit's orchestration, unless it is converted already. */
import type { Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { failUnconverted, type UnconvertedRow } from './fail-unconverted.ts'

const REVERSED = {
  action: 'orchestration.fail',
  failCode: 'REVERSED',
  failDetail: 'the deposit was reversed',
} as const

/**
 * At step `convert`, the orchestration becomes FAILED with code REVERSED, and its amount is available again in the same
 * transaction. A converted or final one stays unchanged.
 */
export async function stopForReversal<Tables>(transaction: Transaction<Tables>, id: string): Promise<void> {
  const { rows } = await sql<UnconvertedRow>`
    select id, profile_id, source_asset, source_amount from orchestrations
    where id = ${id} and status = 'PROCESSING' and step = 'convert'
    ${forUpdate(transaction, 'orchestration', [id])}
  `.execute(transaction)
  for (const row of rows) await failUnconverted(transaction, row, REVERSED, 'worker')
}
