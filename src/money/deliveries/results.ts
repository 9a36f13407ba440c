/**
 * Applies results to locked deliveries in the caller's transaction. Each result changes the state by the table in
 * `model`, posts to the ledger, updates the customer's transfer and the attempt, and calls the owner. Callers check the
 * attempt first. Before a failure they also check that no attempt may have been paid.
 *
 * A fee charged for the payment is given back when the payment fails, and charged again when it was made after all. The
 * operator's own cost is stored with the delivery. It is in no posting and no transfer.
 */
import { assert } from '../../platform/base/assert.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'
import { type GatesWait, gatesText } from '../gates/model.ts'
import { lockBalances, post } from '../ledger/ledger.ts'
import type { LedgerAccount, MinorUnits, Posting } from '../ledger/posting.ts'
import { changeTransfers } from '../transfers/store.ts'
import { type DeliveryEvent, type DeliveryFailure, type DeliveryStatus, settleEvent, stepAfter } from './model.ts'
import { type DeliveryOwners, type LateDebit, ownerOf } from './owner.ts'
import { type DeliveryRow, deliveryOf, rowColumns } from './store.ts'
import { ATTEMPT_OUTCOMES, type AttemptOutcome } from './tables.ts'

/** A payment made by an executor. */
export interface Settlement {
  /** The executor's name for the payment, unique over all deliveries. */
  readonly reference: string
  /** The attempt that paid. Absent: the present one. */
  readonly attempt?: number
  /** The payment's cost to the operator, in the delivery's asset. Absent when it was not reported. */
  readonly fee?: MinorUnits
}

/** An attempt's result. */
interface AttemptEnd {
  readonly outcome: AttemptOutcome
  readonly detail?: string
}

/** 32 bytes in hexadecimal, the form of a transaction hash on most networks. */
const TRANSACTION_HASH = /^(0x)?[0-9a-f]{64}$/i

/** Settles a delivery in any state but SETTLED. The settlement is late when the delivery is FAILED. */
export async function settle<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  row: DeliveryRow,
  { reference, attempt = row.attempt, fee }: Settlement,
): Promise<void> {
  const late = row.status === 'FAILED'
  const status = next(row, settleEvent(row.status))
  const settled = await change(
    transaction,
    row,
    sql`
    status = ${status}, reference = ${reference}, late = ${late},
    fee = ${fee === undefined ? null : String(fee)}::numeric
  `,
  )
  const delivery = deliveryOf(settled)
  const debit = await ownerOf(transaction, owners, delivery).settled(transaction, delivery)
  const paid = postingOf(row, { bucket: 'external' })
  await post(transaction, late ? await latePostings(transaction, row, debit) : [paid])
  const hash = 'crypto' in row.destination && TRANSACTION_HASH.test(reference) ? { cryptoTxHash: reference } : {}
  await changeTransfers(transaction, [{ id: row.id, status: 'COMPLETED', ...hash }])
  await endAttempts(transaction, [{ id: row.id, attempt }], { outcome: 'SETTLED' })
}

/** Fails deliveries that were not paid and never will be. Their amounts and fees return to their profiles. */
export async function failAll<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  rows: readonly DeliveryRow[],
  failure: DeliveryFailure,
): Promise<void> {
  const failed: DeliveryRow[] = []
  for (const row of rows) {
    const { code, detail } = failure
    const set = sql`status = ${next(row, 'fail')}, fail_code = ${code}, fail_detail = ${detail}`
    failed.push(await change(transaction, row, set))
  }
  const postings = rows.map((row) => postingOf(row, { bucket: row.fails_to, profileId: row.profile_id }))
  for (const delivery of failed.map(deliveryOf)) {
    const amount = await ownerOf(transaction, owners, delivery).failed(transaction, delivery, failure)
    const { id: groupId, profileId, asset } = delivery
    const credit = { bucket: 'available', profileId } as const
    if (amount > 0n) postings.push({ asset, amount, debit: { bucket: 'fees' }, credit, groupId })
  }
  await post(transaction, postings)
  await changeTransfers(
    transaction,
    rows.map(({ id }) => ({ id, status: 'FAILED' })),
  )
  await endAttempts(transaction, rows, {
    outcome: failure.code === 'REFUSED' ? 'REFUSED' : 'FAILED',
    detail: failure.detail,
  })
}

/** Marks a delivery as SENT: the executor accepted the webhook request, will pay, and will report the result. */
export async function accept<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  row: DeliveryRow,
  detail: string,
): Promise<void> {
  const sent = await change(transaction, row, sql`status = ${next(row, 'accept')}`)
  await endAttempts(transaction, [row], { outcome: 'ACCEPTED', detail })
  const delivery = deliveryOf(sent)
  if (row.waiting_for !== null) await ownerOf(transaction, owners, delivery).waits(transaction, delivery, undefined)
}

/** Ends a delivery's retries, so the operator finds out whether it was paid. Its amount stays in transit. */
export async function giveUp<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  row: DeliveryRow,
  detail: string,
): Promise<void> {
  const given = await change(transaction, row, sql`status = ${next(row, 'give_up')}`)
  await writeAudit(transaction, { actor: 'worker', action: 'delivery.give_up', subject: row.id, detail: { detail } })
  const delivery = deliveryOf(given)
  await ownerOf(transaction, owners, delivery).waits(transaction, delivery, { waitingFor: 'OPERATOR', detail })
}

/** Records why a delivery was not handed out, and when it is due again. */
export async function block<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  row: DeliveryRow,
  wait: GatesWait,
  secondsMin: number,
): Promise<void> {
  const secondsUntilNext = Math.max(secondsMin, ...wait.gates.map(({ retrySeconds = 0 }) => retrySeconds))
  await sql`
    update deliveries set waiting_for = ${wait.waitingFor}, waiting_detail = ${wait.detail},
      gates = ${gatesText(wait)}::jsonb,
      next_attempt_at = clock_timestamp() + ${secondsUntilNext} * interval '1 second'
    where id = ${row.id}
  `.execute(transaction)
  if (row.waiting_for === wait.waitingFor && gatesText({ gates: row.gates ?? [] }) === gatesText(wait)) return
  const delivery = deliveryOf(row)
  await ownerOf(transaction, owners, delivery).waits(transaction, delivery, wait)
}

/**
 * Records the same result for one attempt per delivery. A delivery that was never handed out has no attempt.
 *
 * @param replaceable the outcomes that the result may replace
 */
export async function endAttempts<Tables>(
  transaction: Transaction<Tables>,
  rows: readonly Pick<DeliveryRow, 'id' | 'attempt'>[],
  { outcome, detail }: AttemptEnd,
  replaceable: readonly AttemptOutcome[] = ATTEMPT_OUTCOMES,
): Promise<void> {
  await sql`
    update delivery_attempts set outcome = ${outcome}, detail = ${detail ?? null},
      ended_at = greatest(started_at, date_trunc('milliseconds', clock_timestamp()))
    from ${unnested(rows, [
      ['id', 'uuid', ({ id }) => id],
      ['attempt', 'integer', ({ attempt }) => attempt],
    ])}
    where delivery_id = wanted.id and delivery_attempts.attempt = wanted.attempt
      and outcome = any(${[...replaceable]}::text[])
  `.execute(transaction)
}

function next({ status }: DeliveryRow, event: DeliveryEvent): DeliveryStatus {
  const after = stepAfter(status, event)
  assert(after !== undefined, 'the caller has checked the event')
  return after
}

/** Updates a delivery, and removes it from the due ones. */
async function change<Tables>(
  transaction: Transaction<Tables>,
  { id, status, attempt }: DeliveryRow,
  set: ReturnType<typeof sql>,
): Promise<DeliveryRow> {
  const { rows } = await sql<DeliveryRow>`
    update deliveries set ${set}, next_attempt_at = null, waiting_for = null, waiting_detail = null, gates = null,
      updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
    where id = ${id} and status = ${status} and attempt = ${attempt}
    returning ${rowColumns}
  `.execute(transaction)
  const [changed] = rows
  assert(changed !== undefined, 'the delivery’s row is locked')
  return changed
}

/** The posting that moves the amount out of `in_transit`. */
function postingOf({ id, profile_id: profileId, asset, amount }: DeliveryRow, credit: LedgerAccount): Posting {
  return { asset, amount: BigInt(amount), debit: { bucket: 'in_transit', profileId }, credit, groupId: id }
}

/**
 * A late settlement's postings: the money was returned to the profile and was also paid. The amount and the fee are
 * debited from the money's present bucket, then from `available`. The profile owes the rest.
 */
async function latePostings<Tables>(
  transaction: Transaction<Tables>,
  { id: groupId, profile_id: profileId, asset, amount }: DeliveryRow,
  { bucket: present, fee }: LateDebit,
): Promise<readonly Posting[]> {
  const left = { ...(await lockBalances(transaction, [{ profileId, asset }]))({ profileId, asset }) }
  const buckets = new Set([present, 'available'] as const)
  const postings: Posting[] = []
  const take = (wanted: MinorUnits, credit: LedgerAccount): void => {
    let missing = wanted
    for (const bucket of buckets) {
      const taken = left[bucket] < missing ? left[bucket] : missing
      if (taken > 0n) postings.push({ asset, amount: taken, debit: { bucket, profileId }, credit, groupId })
      left[bucket] -= taken
      missing -= taken
    }
    if (missing > 0n)
      postings.push({ asset, amount: missing, debit: { bucket: 'receivable', profileId }, credit, groupId })
  }
  take(BigInt(amount), { bucket: 'external' })
  take(fee, { bucket: 'fees' })
  return postings
}
