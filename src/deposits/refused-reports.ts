/**
 * Reports that were refused, because they differ from the known payment or may be another one, in the audit trail of the
 * deposit that they collided with. Reporters repeat what they see: the same refusal is recorded once.
 */
import { formatAmount } from '../ledger/amounts.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Report } from './report.ts'

export interface RefusedReport {
  readonly report: Report
  readonly depositId: string
  readonly problem: 'deposit_conflict' | 'ambiguous_payment'
  /** The members that differ from the known payment. */
  readonly fields: readonly string[]
}

/** @param decimalsOf of an asset, which every report has */
export async function recordRefusals<Tables>(
  transaction: Transaction<Tables>,
  refused: readonly RefusedReport[],
  decimalsOf: (asset: string) => number | undefined,
): Promise<void> {
  for (const { report, depositId, problem, fields } of refused) {
    const { source, externalId: external_id, asset, status } = report
    const amount = formatAmount(report.amount, decimalsOf(asset) ?? 0)
    const detail = JSON.stringify({ source, external_id, status, amount, asset, problem, fields: fields.join(', ') })
    await sql`
      insert into audit (actor, action, subject, detail)
      select ${report.reportedBy}, 'deposit.refuse_report', ${depositId}, ${detail}::jsonb
      where not exists (
        select from audit
        where subject = ${depositId} and action = 'deposit.refuse_report' and detail = ${detail}::jsonb
      )
    `.execute(transaction)
  }
}
