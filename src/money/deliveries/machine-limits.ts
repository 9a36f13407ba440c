/**
 * What a machine with the role `executor` may do with deliveries: it claims in the name of its token, deals only with
 * assets that the token is bound to, and reports only its own attempts as paid. Other roles have none of these limits.
 */
import type { CallingOperator } from '../../access/clients/operator-calls.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

/** The name in which the operator claims: of a machine that of its token, of a person the own. */
export function executorName({ name, role, token }: CallingOperator): string {
  return role === 'executor' && token !== undefined ? token.name : name
}

/** 400 for a machine that claims in another name than its token's. */
export function refuseForeignName(operator: CallingOperator, executor: string): void {
  const own = executorName(operator)
  if (operator.role !== 'executor' || executor === own) return
  throw invalidRequest([{ pointer: '/executor', detail: `must be ${own}, the name of the token` }])
}

/**
 * 403 for a delivery in an asset that the token is not bound to.
 * @param attempt the one that is reported as paid; 403 when another executor claimed it
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
  // No delivery, or no such attempt: the call itself answers that.
  if (row === undefined) return
  const { assets } = operator.token ?? {}
  if (assets && !assets.includes(row.asset))
    throw new Problem('outside_binding', `the token is not bound to ${row.asset}`)
  if (row.executor !== null && row.executor !== executorName(operator)) {
    throw new Problem(
      'outside_binding',
      `attempt: ${row.executor} made it, and this token is of ${executorName(operator)}`,
    )
  }
}
