/**
 * The work that is due on orchestrations: a narrow table with a row only while something is due, so finished ones never
 * slow a claim. A claim raises the row's `attempt`, which is the fencing token of everything that is done with it:
 * whoever finds another number has lost the claim and changes nothing. Times are those of the store's clock.
 */
import type { Db, Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'

/** A claimed piece of work, for the worker that claimed it alone until the claim ends. */
export interface Claim {
  readonly orchestrationId: string
  readonly attempt: string
  readonly sourceAsset: string
  readonly destinationAsset: string
  /** When it was due, by the store's clock. */
  readonly dueAt: string
}

export interface ClaimRequest {
  readonly kinds: readonly string[]
  readonly limit: number
  readonly claimSeconds: number
  /** What was due earlier than a little before this time is not looked for; absent: everything that is due. */
  readonly dueSince?: string
}

/** Its work is somebody else's by now, or gone. */
export class ClaimLost extends Error {
  override name = 'ClaimLost'
}

/** Waits between attempts: a quarter of the time waited so far, within these. */
const RETRY_SECONDS_MIN = 1
const RETRY_SECONDS_MAX = 30

/** Longer than the transaction takes that makes work due: it is seen later than work that was due after it. */
const OVERLAP_SECONDS = 5

/**
 * Claims what is due, the longest overdue first, at most `limit`. Other kinds than these are left: a newer version of
 * the program may know them. What another worker is claiming at the moment is skipped.
 */
export async function claimWork(
  db: Db,
  { kinds, limit, claimSeconds, dueSince }: ClaimRequest,
): Promise<readonly Claim[]> {
  const isRecent =
    dueSince === undefined
      ? sql`true`
      : sql`next_attempt_at >= ${dueSince}::timestamptz - ${OVERLAP_SECONDS} * interval '1 second'`
  // The time of the statement, not clock_timestamp(): a range of the index ends there.
  const { rows } = await sql<Claim>`
    with due as (
      select orchestration_id, next_attempt_at as due_at from orchestration_queue
      where next_attempt_at <= statement_timestamp() and ${isRecent} and kind = any(${[...kinds]}::text[])
      order by next_attempt_at limit ${limit} for update skip locked
    ), claimed as (
      update orchestration_queue as queue
      set attempt = queue.attempt + 1, next_attempt_at = clock_timestamp() + make_interval(secs => ${claimSeconds})
      from due where queue.orchestration_id = due.orchestration_id
      returning queue.orchestration_id, queue.attempt, due_at
    )
    select claimed.orchestration_id as "orchestrationId", claimed.attempt, source_asset as "sourceAsset",
      destination_asset as "destinationAsset", due_at as "dueAt"
    from claimed join orchestrations on orchestrations.id = claimed.orchestration_id
    order by claimed.orchestration_id
  `.execute(db.tables())
  return rows
}

/** Ends the work of these claims; `ClaimLost` when one of them is lost. */
export async function finishWork<Tables>(transaction: Transaction<Tables>, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return
  const { numAffectedRows } = await sql`
    delete from orchestration_queue as queue using ${listed(claims)}
    where queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt
  `.execute(transaction)
  refuseLost(claims, numAffectedRows)
}

/**
 * Puts off the work of claims whose orchestrations wait: the next attempt comes the later the longer they wait already,
 * and not after `expires_at` while its clock runs. `ClaimLost` when one of them is lost.
 */
export async function putOffWork<Tables>(transaction: Transaction<Tables>, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return
  const { numAffectedRows } = await sql`
    update orchestration_queue as queue set next_attempt_at = greatest(
      clock_timestamp() + make_interval(secs => ${RETRY_SECONDS_MIN}),
      least(
        clock_timestamp() + make_interval(secs => ${RETRY_SECONDS_MAX}),
        clock_timestamp() + (clock_timestamp() - waiting_since) / 4,
        case when waiting_for not in ('HOLD', 'PAUSED') then expires_at end
      )
    )
    from ${listed(claims)} join orchestrations on orchestrations.id = claims.orchestration_id
    where queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt
  `.execute(transaction)
  refuseLost(claims, numAffectedRows)
}

/** Puts off work that failed, for longer with each attempt. Lost claims are left. */
export async function putOffFailedWork(db: Db, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return
  await sql`
    update orchestration_queue as queue set next_attempt_at = clock_timestamp()
      + make_interval(secs => least(${RETRY_SECONDS_MAX}, power(2, least(queue.attempt, 10))))
    from ${lockedInOrder(claims)} where queue.orchestration_id = locked.orchestration_id
  `.execute(db.tables())
}

/** Gives claims back at once: whoever stops does not keep others waiting for the end of its claims. */
export async function returnWork(db: Db, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return
  await sql`
    update orchestration_queue as queue set next_attempt_at = clock_timestamp()
    from ${lockedInOrder(claims)} where queue.orchestration_id = locked.orchestration_id
  `.execute(db.tables())
}

/** The rows of the claims that still hold, as `locked`: locked in the order of their ids, as everywhere. */
function lockedInOrder(claims: readonly Claim[]) {
  return sql`(
    select queue.orchestration_id from orchestration_queue as queue join ${listed(claims)}
      on queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt
    order by queue.orchestration_id for update of queue
  ) as locked`
}

/** The claims as rows `claims`, for a statement. */
export function listed(claims: readonly Claim[]) {
  const ids = claims.map(({ orchestrationId }) => orchestrationId)
  const attempts = claims.map(({ attempt }) => attempt)
  return sql`unnest(${ids}::uuid[], ${attempts}::bigint[]) as claims (orchestration_id, attempt)`
}

function refuseLost(claims: readonly Claim[], affected: bigint | undefined): void {
  if (affected !== BigInt(claims.length)) throw new ClaimLost('a claim ended before its work was finished')
}
