/** Fails a reversed deposit's orchestration or its retry, unless the deposit is converted already. */
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
 * transaction. So does a retry of a failed one, which has the deposit's money then. A converted or final one stays
 * unchanged, as does a retry with what a conversion has made.
 */
export async function stopForReversal<Tables>(transaction: Transaction<Tables>, id: string): Promise<void> {
  const { rows } = await sql<UnconvertedRow>`
    with recursive tried as (select id, source_asset from orchestrations where id = ${id}
      union all select next.id, next.source_asset from tried join orchestrations as next
        on next.retry_of = tried.id and next.source_asset = tried.source_asset)
    select id, profile_id, source_asset, source_amount from orchestrations
    where id in (select id from tried) and status = 'PROCESSING' and step = 'convert'
    ${forUpdate(transaction, 'orchestration', [id])}
  `.execute(transaction)
  for (const row of rows) await failUnconverted(transaction, row, REVERSED, 'worker')
}
