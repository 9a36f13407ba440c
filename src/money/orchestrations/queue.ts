/**
 * The work queue for orchestrations. It is a narrow table with a row only while an orchestration has work now or later,
 * so finished ones never slow a claim. A claim increments the row's `attempt`, its fencing token: a worker that finds
 * another number has lost the claim and changes nothing. Claims, returns and retries of failed work are transactions of
 * their own. Finishing work and putting it off belong to the batch's transaction. All times come from the store's
 * clock.
 */
import type { Db, Transaction } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { CLOCK_STOPPING } from './model.ts'

/** A piece of work that belongs to one worker until the claim ends. */
export interface Claim {
  readonly orchestrationId: string
  readonly attempt: string
  readonly sourceAsset: string
  readonly destinationAsset: string
  /** When the work was due, by the store's clock. */
  readonly dueAt: string
}

interface ClaimRequest {
  readonly kinds: readonly string[]
  readonly limit: number
  readonly claimSeconds: number
}

/** The claim has ended: another worker has claimed its work, or the work is done. */
export class ClaimLost extends Error {
  override name = 'ClaimLost'
}

/** Limits for the wait between attempts, normally a quarter of the time waited so far. */
const RETRY_SECONDS_MIN = 1
const RETRY_SECONDS_MAX = 30

/**
 * Claims due work, at most `limit`, the longest overdue first. Other kinds of work are left to newer program versions.
 * Rows locked by another worker are skipped.
 * @param isRecent a search condition (see `platform/store/due-search`)
 */
export async function claimWork(
  db: Db,
  { kinds, limit, claimSeconds }: ClaimRequest,
  isRecent: RawBuilder<boolean>,
): Promise<readonly Claim[]> {
  // Not clock_timestamp(), which is volatile and cannot bound an index scan.
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

/** Deletes these claims' finished work. Throws `ClaimLost` when a claim is lost. */
export async function finishWork<Tables>(transaction: Transaction<Tables>, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return
  const { numAffectedRows } = await sql`
    delete from orchestration_queue as queue using ${listed(claims)}
    where queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt
  `.execute(transaction)
  refuseLost(claims, numAffectedRows)
}

/**
 * Schedules the next attempt for claims whose orchestrations wait. The longer they have waited, the later it is, but
 * not after `expires_at` unless the wait extends it. Throws `ClaimLost` when a claim is lost.
 *
 * @param secondsMin the least time until the next attempt, by claim
 */
export async function putOffWork<Tables>(
  transaction: Transaction<Tables>,
  claims: readonly Claim[],
  secondsMin: readonly number[],
): Promise<void> {
  if (claims.length === 0) return
  const { numAffectedRows } = await sql`
    update orchestration_queue as queue set next_attempt_at = greatest(
      clock_timestamp() + make_interval(secs => ${RETRY_SECONDS_MIN}),
      clock_timestamp() + make_interval(secs => seconds_min),
      least(
        clock_timestamp() + make_interval(secs => ${RETRY_SECONDS_MAX}),
        clock_timestamp() + (clock_timestamp() - waiting_since) / 4,
        case when waiting_for <> all(${[...CLOCK_STOPPING]}::text[]) then expires_at end
      )
    )
    from ${listed(claims)}
    join unnest(${claims.map(({ orchestrationId }) => orchestrationId)}::uuid[], ${secondsMin}::float8[])
      as minimums (id, seconds_min) on minimums.id = claims.orchestration_id
    join orchestrations on orchestrations.id = claims.orchestration_id
    where queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt
  `.execute(transaction)
  refuseLost(claims, numAffectedRows)
}

/** Schedules failed work again with exponential backoff. Lost claims are skipped. */
export async function putOffFailedWork(db: Db, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return
  await sql`
    update orchestration_queue as queue set next_attempt_at = clock_timestamp()
      + make_interval(secs => least(${RETRY_SECONDS_MAX}, power(2, least(queue.attempt, 10))))
    from ${lockedInOrder(claims)} where queue.orchestration_id = locked.orchestration_id
  `.execute(db.tables())
}

/** Makes the claims' work due again when this worker stops, so the work does not wait until the claims end. */
export async function returnWork(db: Db, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return
  await sql`
    update orchestration_queue as queue set next_attempt_at = clock_timestamp()
    from ${lockedInOrder(claims)} where queue.orchestration_id = locked.orchestration_id
  `.execute(db.tables())
}

/** The queue rows whose claims are not lost, as `locked`, locked in id order. */
function lockedInOrder(claims: readonly Claim[]) {
  return sql`(
    select queue.orchestration_id from orchestration_queue as queue join ${listed(claims)}
      on queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt
    order by queue.orchestration_id for update of queue
  ) as locked`
}

/** The claims as the table `claims` in a statement. */
export function listed(claims: readonly Claim[]) {
  const ids = claims.map(({ orchestrationId }) => orchestrationId)
  const attempts = claims.map(({ attempt }) => attempt)
  return sql`unnest(${ids}::uuid[], ${attempts}::bigint[]) as claims (orchestration_id, attempt)`
}

function refuseLost(claims: readonly Claim[], affected: bigint | undefined): void {
  if (affected !== BigInt(claims.length)) throw new ClaimLost('a claim ended before its work was finished')
}
