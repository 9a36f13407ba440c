/**
 * Records refused reports in the audit trail of the deposit with which they collided. A report is refused when it
 * differs from the known payment, or when it may be another payment. Reporters repeat themselves, so the same refusal
 * is recorded once. Each deposit records its first REFUSALS_MAX refusals. Later ones are only in the log.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'
import { formatAmount } from '../ledger/amounts.ts'
import type { Report } from './report.ts'

export interface RefusedReport {
  readonly report: Report
  readonly depositId: string
  readonly problem: 'deposit_conflict' | 'ambiguous_payment'
  /** The members that differ from the known payment. */
  readonly fields: readonly string[]
}

/** Per deposit. Two sources that disagree need a few, and a trace must also show later events. */
const REFUSALS_MAX = 20
const ACTION = 'deposit.refuse_report'

/** @param decimalsOf an asset's decimals. Every report has a configured asset */
export async function recordRefusals<Tables>(
  transaction: Transaction<Tables>,
  refused: readonly RefusedReport[],
  decimalsOf: (asset: string) => number | undefined,
): Promise<void> {
  if (refused.length === 0) return
  const detailOf = ({ report, problem, fields }: RefusedReport) => {
    const { source, externalId: external_id, asset, status } = report
    const amount = formatAmount(report.amount, decimalsOf(asset) ?? 0)
    return JSON.stringify({ source, external_id, status, amount, asset, problem, fields: fields.join(', ') })
  }
  await sql`
    insert into audit (actor, action, subject, detail)
    select actor, ${ACTION}, subject, detail from (
      select wanted.*, row_number() over (partition by subject order by number) + (
        select count(*) from audit where audit.subject = wanted.subject and audit.action = ${ACTION}
      ) as place
      from ${unnested(refused, [
        ['subject', 'text', ({ depositId }) => depositId],
        ['actor', 'text', ({ report }) => report.reportedBy],
        ['detail', 'jsonb', detailOf],
        ['number', 'integer', (_, index) => index],
      ])}
      where not exists (
        select from audit
        where audit.subject = wanted.subject and audit.action = ${ACTION} and audit.detail = wanted.detail
      )
    ) as found
    where place <= ${REFUSALS_MAX} order by number
  `.execute(transaction)
}
