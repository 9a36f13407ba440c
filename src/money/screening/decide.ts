/**
 * A person's decision about a movement: for one that the hook holds or rejects, or while the hook does not answer. The
 * next question is asked when the terms change or the decision has aged, as after an answer of the hook.
 */
import { Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { type ScreeningKind, type ScreeningStatus, STATUS_AFTER } from './model.ts'
import type { ScreenedKinds } from './movements.ts'
import { recordDecision } from './questions.ts'

export interface PersonsDecision {
  readonly decision: 'ALLOW' | 'REJECT'
  readonly note: string
  /** The terms that the person has seen. Absent: the present ones. */
  readonly revision?: number
}

interface MovementRow {
  readonly kind: ScreeningKind
  readonly movement_id: string
}

/** Locks a screening's movement until the transaction ends. Throws 404 when no screening has this id. */
export async function lockScreened<Tables>(
  transaction: Transaction<Tables>,
  kinds: ScreenedKinds,
  id: string,
): Promise<MovementRow> {
  // Neither column ever changes.
  const { rows } = await sql<MovementRow>`select kind, movement_id from screenings where id = ${id}`.execute(
    transaction,
  )
  const [row] = rows
  if (row === undefined) return noScreening()
  await kinds[row.kind].lock(transaction, row.movement_id)
  return row
}

/**
 * Does nothing when this is the decision already. Throws 409 when the terms have changed since the given revision, and
 * when the movement no longer waits for a decision.
 */
export async function decideScreening<Tables>(
  transaction: Transaction<Tables>,
  kinds: ScreenedKinds,
  actor: string,
  id: string,
  { decision, note, revision: seen }: PersonsDecision,
): Promise<void> {
  const { kind, movement_id: movementId } = await lockScreened(transaction, kinds, id)
  const { rows } = await sql<{ readonly status: ScreeningStatus; readonly revision: number }>`
    select status, revision from screenings where id = ${id}
  `.execute(transaction)
  const { status, revision } = rows[0] as (typeof rows)[number]
  if (seen !== undefined && seen !== revision) {
    throw new Problem('record_changed', `revision: the terms have changed since ${seen}: read them again`)
  }
  if (status === STATUS_AFTER[decision]) return
  const refused = (detail: string) => new Problem('invalid_state', detail, { meta: { current: status } })
  if (status === 'CLOSED') throw refused('its movement has ended')
  await recordDecision(transaction, id, sql<boolean>`true`, { actor, by: actor, decision, reason: note })
  const apply = decision === 'ALLOW' ? kinds[kind].allow : kinds[kind].reject
  if ((await apply(transaction, movementId, actor)) === 'outdated') {
    throw refused(`the ${kind} no longer waits for its screening`)
  }
}

export function noScreening(): never {
  throw new Problem('not_found', 'there is no screening with this id')
}
