/**
 * Decides which attempts may have paid a delivery, and who may state that they did not. It changes nothing. An attempt
 * is unknown when it was not refused or failed and has no result: its claim ended, its webhook request was not
 * answered, or the answer came too late to count. The present attempt is known to the executor that holds it, to every
 * caller once the executor has accepted it, and to people while its claim runs. They report its result.
 */
import { Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { type DeliveryRow, isClaimRunning } from './store.ts'

/** The caller that reports a delivery as not paid. */
export interface Reporter {
  /** In the audit trail. */
  readonly actor: string
  /** The executor whose attempts it knows. Absent: the one that claimed the reported attempt. */
  readonly executor?: string
  /** Whether it may decide about others' attempts: people may, machines may not. */
  readonly mayDecide: boolean
}

interface UnknownAttempt {
  readonly attempt: number
  readonly executor: string
}

interface AttemptRow extends UnknownAttempt {
  readonly is_present: boolean
  /** The present claim has not ended. */
  readonly is_running: boolean
  /** The executor accepted the webhook request, and reports the result. */
  readonly is_accepted: boolean
  readonly is_webhook: boolean
}

/** The most attempts named in an error. */
const NAMED_MAX = 20

/**
 * Throws 409 `earlier_attempt_unknown` unless every unknown attempt is stated as not paid by its executor or a person.
 * The delivery is locked.
 */
export async function refuseUnknownAttempts<Tables>(
  transaction: Transaction<Tables>,
  { id }: DeliveryRow,
  { executor, mayDecide }: Reporter,
  isStated: boolean,
): Promise<void> {
  const rows = await readWithoutRefusal(transaction, id)
  const present = rows.find(({ is_present }) => is_present)
  const ours = executor ?? (present?.is_webhook === false ? present.executor : undefined)
  const isKnown = (row: AttemptRow) =>
    row.is_present && (row.executor === ours || row.is_accepted || (row.is_running && mayDecide))
  const unknown = rows.filter((row) => !isKnown(row))
  if (unknown.length === 0) return
  const others = unknown.filter((row) => row.executor !== ours)
  if (isStated && (mayDecide || others.length === 0)) return
  const attempts = unknown.slice(0, NAMED_MAX).map(({ attempt, executor: holder }) => ({ attempt, executor: holder }))
  throw new Problem('earlier_attempt_unknown', detailOf(unknown, mayDecide ? [] : others), { meta: { attempts } })
}

/** Whether an attempt was answered with SETTLED, but the answer did not count for the delivery. */
export async function hasPaidAttempt<Tables>(transaction: Transaction<Tables>, { id }: DeliveryRow): Promise<boolean> {
  const { rows } = await sql`
    select from delivery_attempts where delivery_id = ${id} and outcome = 'SETTLED'
  `.execute(transaction)
  return rows.length > 0
}

/** In order. */
async function readWithoutRefusal<Tables>(
  transaction: Transaction<Tables>,
  id: string,
): Promise<readonly AttemptRow[]> {
  const { rows } = await sql<AttemptRow>`
    select made.attempt, made.executor, made.attempt = deliveries.attempt as is_present,
      made.outcome = 'STARTED' and ${isClaimRunning} as is_running,
      made.outcome = 'ACCEPTED' as is_accepted, channel is not distinct from 'webhook' as is_webhook
    from delivery_attempts as made join deliveries on deliveries.id = made.delivery_id
    where made.delivery_id = ${id} and made.outcome not in ('REFUSED', 'FAILED')
    order by made.attempt
  `.execute(transaction)
  return rows
}

function detailOf(unknown: readonly UnknownAttempt[], others: readonly UnknownAttempt[]): string {
  const [{ attempt, executor }] = (others.length > 0 ? others : unknown) as [UnknownAttempt]
  if (others.length > 0) {
    return `attempt ${attempt} may have been paid: only its executor (${executor}) or a person can report that it was not`
  }
  return `attempt ${attempt} may have been paid. When you know that no attempt was, send "earlier_attempts": "not_paid"`
}
