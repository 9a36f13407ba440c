/**
 * Limits for machines with the role `executor`: they claim under their token's name, handle only assets bound to the
 * token, and report only their own attempts as paid. Other roles have none of these limits.
 */
import type { CallingOperator } from '../../access/clients/operator-calls.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

/** The name under which the operator claims: a machine's token name, or a person's own name. */
export function executorName({ name, role, token }: CallingOperator): string {
  return role === 'executor' && token !== undefined ? token.name : name
}

/** Throws 400 when a machine claims under another name than its token's. */
export function refuseForeignName(operator: CallingOperator, executor: string): void {
  const own = executorName(operator)
  if (operator.role !== 'executor' || executor === own) return
  throw invalidRequest([{ pointer: '/executor', detail: `must be ${own}, the token’s name` }])
}

/**
 * Throws 403 for a delivery in an asset outside the token's binding.
 * @param attempt the attempt reported as paid. Throws 403 when another executor claimed it, or none did.
 */
export async function refuseForeignDelivery<Tables>(
  transaction: Transaction<Tables>,
  operator: CallingOperator,
  id: string,
  attempt?: number,
): Promise<void> {
  if (operator.role !== 'executor') return
  const { rows } = await sql<{ asset: string; executor: string | null }>`
    select asset, case when channel = 'manual' then made.executor end as executor from deliveries
    left join delivery_attempts as made on made.delivery_id = deliveries.id and made.attempt = ${attempt ?? null}::integer
    where deliveries.id = ${id}
  `.execute(transaction)
  const [row] = rows
  // Without a delivery the call itself reports the error.
  if (row === undefined) return
  const { assets } = operator.token ?? {}
  if (assets && !assets.includes(row.asset))
    throw new Problem('outside_binding', `the token is not bound to ${row.asset}`)
  // A person may have paid by hand what was never handed out. A machine has claimed what it pays.
  if (attempt === 0)
    throw new Problem('outside_binding', 'attempt: it was never claimed, and a machine pays what it claims')
  if (row.executor !== null && row.executor !== executorName(operator)) {
    throw new Problem(
      'outside_binding',
      `attempt: ${row.executor} made it, but this token belongs to ${executorName(operator)}`,
    )
  }
}
