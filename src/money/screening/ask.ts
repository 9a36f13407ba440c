/**
 * Reads the gate SCREENING, and asks about movements without a valid answer: one statement reads the answers and
 * creates or renews the questions. Another registration of the destination is asked about again. The caller holds the movements' locks. The sender is notified when the transaction
 * commits.
 */
import { newId } from '../../platform/base/ids.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'
import type { GateFinding, GateSubject } from '../gates/model.ts'
import { CLOSED_DETAILS, type ScreenedMovement, type ScreeningSettings, type ScreeningStatus } from './model.ts'

/** The store's notification channel for due questions. */
export const SCREENINGS_CHANNEL = 'tidegate_screenings'

interface AskedRow {
  readonly movement_id: string
  readonly status: ScreeningStatus
}

/** Returns each movement's closed gate, in the same order. Undefined: the hook or a person has allowed it. */
async function askScreenings<Tables>(
  transaction: Transaction<Tables>,
  movements: readonly ScreenedMovement[],
  { validHours }: ScreeningSettings,
): Promise<readonly (GateFinding | undefined)[]> {
  if (movements.length === 0) return []
  const { rows } = await sql<AskedRow>`
    with wanted as materialized (
      select * from ${unnested(movements, [
        ['movement_id', 'uuid', ({ id }) => id],
        ['id', 'uuid', () => newId()],
        ['question_id', 'uuid', () => newId()],
        ['kind', 'text', ({ kind }) => kind],
        ['customer_id', 'uuid', ({ customerId }) => customerId],
        ['profile_id', 'uuid', ({ profileId }) => profileId],
        ['asset', 'text', ({ asset }) => asset],
        ['amount', 'numeric', ({ amount }) => String(amount)],
        ['destination', 'jsonb', ({ destination }) => (destination === undefined ? null : JSON.stringify(destination))],
        ['registration_id', 'uuid', ({ registrationId }) => registrationId ?? null],
      ])}
    ), asked as (
      insert into screenings as known (id, kind, movement_id, customer_id, profile_id, asset, amount,
        destination, registration_id, status, question_id, asked_at, next_attempt_at, created_at)
      select id, kind, movement_id, customer_id, profile_id, asset, amount, destination, registration_id, 'PENDING',
        question_id, clock_timestamp(), clock_timestamp(), clock_timestamp()
      from wanted order by movement_id
      on conflict (movement_id) do update set
        customer_id = excluded.customer_id, profile_id = excluded.profile_id,
        asset = excluded.asset, amount = excluded.amount, destination = excluded.destination,
        registration_id = excluded.registration_id, revision = known.revision + ${IS_CHANGED}::integer,
        ${asNewQuestion(sql`excluded.question_id`)}
      where ${IS_CHANGED} or known.status = 'CLOSED'
        or (known.status = 'ALLOWED' and known.decided_at <= clock_timestamp() - ${validHours} * interval '1 hour')
      returning known.movement_id
    ), inherited as (
      insert into movement_parties (movement_id, parties, destination_id)
      select movement_id, parties, destinations.id from wanted join destinations on destinations.id = registration_id
      where parties is not null order by movement_id
      on conflict (movement_id) do nothing
    )
    select wanted.movement_id, case when asked.movement_id is null then screenings.status else 'PENDING' end as status,
      case when asked.movement_id is not null then pg_notify(${SCREENINGS_CHANNEL}, '') end
    from wanted
    left join screenings on screenings.movement_id = wanted.movement_id
    left join asked on asked.movement_id = wanted.movement_id
  `.execute(transaction)
  const statuses = new Map(rows.map(({ movement_id, status }) => [movement_id, status]))
  return movements.map(({ id }) => {
    const status = statuses.get(id) ?? 'PENDING'
    return status === 'ALLOWED' ? undefined : { code: 'SCREENING', detail: CLOSED_DETAILS[status] }
  })
}

/** Asks again about a movement that waits again after its screening was closed, or answered while it did not wait. */
export async function askAgain<Tables>(transaction: Transaction<Tables>, movementId: string): Promise<void> {
  await sql`
    with asked as (
      update screenings set ${asNewQuestion(sql`${newId()}::uuid`)}
      where movement_id = ${movementId} and status in ('CLOSED', 'ALLOWED')
      returning id
    )
    select pg_notify(${SCREENINGS_CHANNEL}, '') from asked
  `.execute(transaction)
}

/** The columns of a screening that is asked about again. */
function asNewQuestion(questionId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`status = 'PENDING', question_id = ${questionId}, asked_at = clock_timestamp(), facts = null, attempt = 0,
    next_attempt_at = clock_timestamp(), fault = null, decided_by = null, decided_at = null, reason = null`
}

const IS_CHANGED = sql<boolean>`(
  (known.profile_id, known.asset, known.amount, known.destination, known.registration_id) is distinct from
    (excluded.profile_id, excluded.asset, excluded.amount, excluded.destination, excluded.registration_id)
)`

/**
 * The gate, as `controls/gates` reads it for deposits that are credited and payments that leave. A deposit that is
 * returned is not screened: the operator has decided about it.
 *
 * @param registrationIds the destinations' registrations, in subject order
 */
export function readScreening<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  { screening }: { readonly screening?: ScreeningSettings | undefined },
  registrationIds: readonly (string | undefined)[] = [],
): Promise<readonly (readonly GateFinding[])[]> | undefined {
  if (screening === undefined) return undefined
  const screened = subjects.flatMap((subject, index) => {
    const movement = movementOf(subject)
    return movement === undefined
      ? []
      : [{ subject, movement: { ...movement, registrationId: registrationIds[index] } }]
  })
  if (screened.length === 0) return undefined
  const asked = askScreenings(
    transaction,
    screened.map(({ movement }) => movement),
    screening,
  )
  return asked.then((findings) => {
    const found = new Map(screened.map(({ subject }, index) => [subject, findings[index]]))
    return subjects.map((subject) => [found.get(subject) ?? []].flat())
  })
}

function movementOf({ owner, isDelivery, amount, ...subject }: GateSubject): ScreenedMovement | undefined {
  if (amount === undefined || isDelivery !== 'orchestrationId' in owner) return undefined
  const { customerId, profileId, asset, destination } = subject
  const terms = { customerId, profileId, asset, amount }
  return 'depositId' in owner
    ? { kind: 'deposit', id: owner.depositId, ...terms }
    : { kind: 'payment', id: owner.orchestrationId, ...terms, destination }
}
