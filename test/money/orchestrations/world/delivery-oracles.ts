/**
 * What has to hold of payments that leave, checked against what executors really did: nothing is recorded as paid that was not,
 * and no money goes back to a profile but by a refusal, by a report, or before any attempt to pay.
 */
import type { Db } from '../../../../src/platform/store/db.ts'
import { sql } from '../../../../src/platform/store/sql.ts'
import type { World } from './world.ts'

interface Row {
  readonly id: string
  readonly status: string
  readonly channel: string | null
  readonly attempt: number
  readonly reference: string | null
  readonly fail_code: string | null
  readonly late: boolean
  readonly is_own: boolean
  readonly returned: string
  readonly amount: string
  readonly settles: number
}

export async function deliveryViolations(world: World): Promise<readonly string[]> {
  const { rows } = await sql<Row>`
    select id, status, channel, attempt, reference, fail_code, late, amount,
      exists (
        select from deposit_addresses where address = deliveries.destination -> 'crypto' ->> 'address'
      ) as is_own,
      (select coalesce(sum(amount), 0) from postings
        where group_id = deliveries.id and debit_bucket = 'in_transit' and credit_bucket <> 'external') as returned,
      (select count(*)::integer from audit where subject = deliveries.id::text and action = 'delivery.settle') as settles
    from deliveries
  `.execute(world.db.tables())
  const { executor, wrongs } = world
  return [...executor.faults, ...wrongs, ...rows.flatMap((row) => violationsOf(row, world))]
}

function violationsOf(row: Row, { executor, failed }: World): readonly string[] {
  const { id, status, channel, attempt, reference, fail_code, late, is_own, returned, amount, settles } = row
  const paid = executor.paid.get(id)
  const hasFailed = status === 'FAILED' || late
  const rules: Readonly<Record<string, boolean>> = {
    'is settled at most once': settles === (status === 'SETTLED' ? 1 : 0),
    'gives its money back exactly when it fails': returned === (hasFailed ? amount : '0'),
    'is settled with what was really paid': status !== 'SETTLED' || channel !== 'webhook' || reference === paid,
    'is asked for by requests alone': paid === undefined || channel === 'webhook',
    'is refused by the executor alone': fail_code !== 'REFUSED' || (executor.refused.has(id) && paid === undefined),
    'fails by a report of an operator': fail_code !== 'OPERATOR_FAILED' || failed.has(id),
    'fails for its address before any attempt': fail_code !== 'OWN_ADDRESS' || (attempt === 0 && is_own),
    'is cancelled before any attempt': fail_code !== 'CANCELLED' || attempt === 0,
    'is never sent to an address of the service': !is_own || attempt === 0,
    'fails for a known reason':
      !hasFailed || ['REFUSED', 'OPERATOR_FAILED', 'OWN_ADDRESS', 'CANCELLED'].includes(fail_code ?? 'nothing'),
  }
  const broken = Object.entries(rules).filter(([, holds]) => !holds)
  return broken.map(([rule]) => `a delivery ${rule}: ${JSON.stringify({ ...row, paid })}`)
}

/** Payments that are not final once every executor is well; of a profile that owes money, all of them may wait. */
export async function unfinishedDeliveries(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ what: string }>`
    select id || ' ' || status || ' ' || coalesce(waiting_for, 'nothing') as what from deliveries
    where status not in ('SETTLED', 'FAILED') and not exists (
      select from balances where balances.profile_id = deliveries.profile_id and receivable > 0
    )
  `.execute(db.tables())
  return rows.map(({ what }) => `a payment ends when its executor is well: ${what}`)
}
