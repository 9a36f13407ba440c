/**
 * Questions to the hook in the store: claims due ones with the facts repeated in every request, and records answers. A
 * question's id is new for every revision of the movement's terms and whenever an answer has aged, so the answer to an
 * earlier question changes nothing.
 */
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { claimedRows } from '../../platform/store/due-search.ts'
import { unlessLocked } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { ScreeningAnswer } from './answer.ts'
import { FACTS } from './facts.ts'
import { type ScreeningDecision, type ScreeningKind, STATUS_AFTER } from './model.ts'
import type { ScreenedKinds } from './movements.ts'

/** Longer than a request takes. */
const LEASE_SECONDS = 60
/** The first request's facts are repeated in every later one. */
const FACTS_KEPT = sql`facts = coalesce(facts, ${FACTS}),`
/** The most screenings closed by one statement. */
const CLOSED_MAX = 100
/** The most decisions kept for one movement. */
const DECISIONS_MAX = 50

export interface Question {
  /** The webhook's id. */
  readonly id: string
  readonly screeningId: string
  readonly kind: ScreeningKind
  readonly movementId: string
  readonly revision: number
  readonly attempt: number
  readonly askedAt: string
  readonly facts: Readonly<Record<string, unknown>>
  /** When it was due, by the store's clock. */
  readonly dueAt: string
}

/** An answer's effect. `outdated`: the question is not the current one, or the movement has ended. */
export type Recorded = 'allowed' | 'held' | 'rejected' | 'unanswered' | 'outdated'

/** Claims up to `limit` due questions, in the order in which they became due. */
export async function takeDue<Tables>(
  transaction: Transaction<Tables>,
  limit: number,
  isRecent: RawBuilder<boolean>,
): Promise<readonly Question[]> {
  const { rows } = await sql<Question>`
    ${claimedRows({ table: 'screenings', limit, isRecent, leaseSeconds: LEASE_SECONDS, changes: FACTS_KEPT })}
    select question_id as id, id as "screeningId", kind, movement_id as "movementId", revision, attempt,
      asked_at as "askedAt", facts, due_at as "dueAt"
    from claimed order by due_at, id
  `.execute(transaction)
  return rows
}

/** @param repeatSeconds the time until a question without an answer is asked again */
export async function recordAnswer<Tables>(
  transaction: Transaction<Tables>,
  kinds: ScreenedKinds,
  question: Question,
  answer: ScreeningAnswer,
  repeatSeconds: number,
): Promise<Recorded> {
  if (answer.kind === 'unanswered') {
    const { numAffectedRows } = await sql`
      update screenings set fault = ${answer.fault},
        next_attempt_at = clock_timestamp() + ${repeatSeconds} * interval '1 second'
      where id = ${question.screeningId} and question_id = ${question.id} and status = 'PENDING'
        and attempt = ${question.attempt}
    `.execute(transaction)
    return numAffectedRows === 0n ? 'outdated' : 'unanswered'
  }
  const { decision, reason } = answer
  const movements = kinds[question.kind]
  await movements.lock(transaction, question.movementId)
  const isCurrent = sql<boolean>`question_id = ${question.id} and status = 'PENDING'`
  const isRecorded = await recordDecision(transaction, question.screeningId, isCurrent, {
    actor: 'worker',
    by: 'hook',
    decision,
    reason,
  })
  if (!isRecorded) return 'outdated'
  const apply = { ALLOW: movements.allow, HOLD: movements.hold, REJECT: movements.reject }[decision]
  if ((await apply(transaction, question.movementId, 'worker')) === 'outdated') return 'outdated'
  return ({ ALLOW: 'allowed', HOLD: 'held', REJECT: 'rejected' } as const)[decision]
}

export interface Decision {
  readonly actor: string
  /** `hook`, or the operator's name in the audit trail. */
  readonly by: string
  readonly decision: ScreeningDecision
  readonly reason: string | null
}

/** Records a decision if the condition holds. The movement is locked. Returns whether it was recorded. */
export async function recordDecision<Tables>(
  transaction: Transaction<Tables>,
  id: string,
  condition: RawBuilder<boolean>,
  { actor, by, decision, reason }: Decision,
): Promise<boolean> {
  const { rows } = await sql<{ readonly movement_id: string; readonly revision: number }>`
    update screenings set status = ${STATUS_AFTER[decision]}, next_attempt_at = null, fault = null,
      decided_by = ${by}, decided_at = clock_timestamp(), reason = ${reason},
      decisions = (case when jsonb_array_length(decisions) < ${DECISIONS_MAX} then decisions else decisions - 0 end)
        || jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
          'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'by', ${by}::text,
          'decision', ${decision}::text, 'revision', revision, 'reason', ${reason}::text)))
    where id = ${id} and ${condition}
    returning movement_id, revision
  `.execute(transaction)
  const [row] = rows
  if (row === undefined) return false
  const detail = {
    movement_id: row.movement_id,
    revision: row.revision,
    decision,
    ...(reason === null ? {} : { reason }),
  }
  await writeAudit(transaction, { actor, action: 'screening.decide', subject: id, detail })
  return true
}

/** Closes screenings whose movements have ended otherwise: no decision is needed about them. */
export async function closeEnded<Tables>(transaction: Transaction<Tables>): Promise<void> {
  await sql`
    update screenings set status = 'CLOSED', next_attempt_at = null
    where id in (
      select id from screenings
      where (status in ('PENDING', 'HELD') or status = 'REJECTED' and kind = 'deposit')
        and not exists (
          select from deposits
          where kind = 'deposit' and deposits.id = movement_id
            and deposits.status = 'COMPLETED' and deposits.secondary_status = 'HELD'
        ) and not exists (
          select from deliveries
          where kind = 'payment' and deliveries.orchestration_id = movement_id
            and deliveries.status in ('WAITING', 'CLAIMED')
        )
      order by id limit ${CLOSED_MAX} ${unlessLocked}
    )
  `.execute(transaction)
}
