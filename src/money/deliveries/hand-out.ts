/**
 * Hands out due deliveries to a claiming executor or to the webhook sender. A person may also claim a single delivery.
 * A delivery has one holder at a time, and each hand-out has a new attempt number. When a claim ends without a result,
 * the delivery is handed out again, unless its settlement waits for a second operator. The gates are read in the same
 * transaction, and a stopped delivery is due again after BLOCKED_SECONDS. Deliveries in states and channels from newer
 * program versions are left to those versions.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import type { OperatorCallId } from '../../contract/operator-calls.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { unlessLocked } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { type GateSettings, readGates } from '../controls/gates.ts'
import { isRestored } from '../controls/store-identity.ts'
import { areOwnAddresses } from '../deposit-instructions/address-owner.ts'
import { type GateSubject, type GatesWait, waitingForOf } from '../gates/model.ts'
import { type LockedLimits, lockLimits } from '../limits/gate.ts'
import { hasReadableParties } from '../screening/parties.ts'
import { type DeliveryChannel, networkOf, stepAfter } from './model.ts'
import { type DeliveryOwners, ownerOf } from './owner.ts'
import { block, endAttempts, failAll, giveUp } from './results.ts'
import { type DeliveryRow, deliveryOf, isClaimRunning, lockDelivery, rowColumns } from './store.ts'

const OWN_ADDRESS = 'the destination is a deposit address of this service'
/** Seconds until a stopped delivery is due again. */
const BLOCKED_SECONDS = 10
/**
 * Searches per transaction: further ones find replacements for stopped deliveries. Limits the transaction's duration.
 */
const ROUNDS_MAX = 3
/** Hours from the first request until a delivery with an unknown outcome is no longer retried. */
const RETRY_HOURS = 24

export interface HandOut {
  readonly channel: DeliveryChannel
  /** The channel for deliveries that were never attempted. */
  readonly defaultChannel: DeliveryChannel
  readonly executor: string
  readonly limit: number
  readonly leaseSeconds: number
  /** The only assets to hand out. Null or absent: all. */
  readonly assets?: readonly string[] | null
  /** The key for the parties that go with the deliveries: those with other parties are left. Absent: no parties go. */
  readonly parties?: { readonly key: EncryptionKey | undefined }
  /** A search's condition (see `platform/store/due-search`). */
  readonly isRecent: RawBuilder<boolean>
}

/** How a single delivery is claimed. */
export type ClaimOfOne = Pick<HandOut, 'defaultChannel' | 'executor' | 'leaseSeconds'>

/** A delivery that was handed out. */
export interface HandedOut {
  readonly id: string
  /** When it was due, by the store's clock. */
  readonly dueAt: string
}

interface DueRow extends DeliveryRow {
  readonly due_at: string
  readonly is_overdue: boolean
}

interface Holder {
  readonly channel: DeliveryChannel
  readonly executor: string | null
  readonly is_running: boolean
  readonly is_reported: boolean
}

/** The decision about a due delivery. */
type Verdict =
  | { readonly kind: 'handed-out' }
  | { readonly kind: 'blocked'; readonly wait: GatesWait }
  | { readonly kind: 'own-address' }
  | { readonly kind: 'overdue' }

/** Returns the CLAIMED deliveries, in the order in which they became due. */
export async function handOut<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  request: HandOut,
): Promise<readonly HandedOut[]> {
  const claimed: HandedOut[] = []
  for (let round = 0; round < ROUNDS_MAX && claimed.length < request.limit; round++) {
    const due = await lockDue(transaction, request, request.limit - claimed.length)
    if (due.length === 0) break
    const decision = await decide(transaction, due, owners.gates(), round === 0)
    // These are due again in the next transaction, because this one has locked owners.
    if (decision.limits.isMissing) break
    const { verdicts, limits } = decision
    const those = (kind: Verdict['kind']) => due.filter((_, index) => verdicts[index]?.kind === kind)
    const handedOut = those('handed-out')
    await claim(transaction, owners, handedOut, request)
    claimed.push(...handedOut.map(({ id, due_at: dueAt }) => ({ id, dueAt })))
    for (const [index, row] of due.entries()) {
      const verdict = verdicts[index] as Verdict
      if (verdict.kind === 'blocked') await block(transaction, owners, row, verdict.wait, BLOCKED_SECONDS)
    }
    const detail = `no outcome is known ${RETRY_HOURS} hours after the first request`
    for (const row of those('overdue')) await giveUp(transaction, owners, row, detail)
    const own = those('own-address')
    await refuseOwnAddresses(transaction, owners, own)
    // Their postings locked balances, so no more owners may be locked. No limit may be locked after another one.
    if (own.length > 0 || limits.isLocked) break
  }
  return claimed
}

/**
 * Hands out this delivery, due or not, to a claiming executor. Returns false when the same executor holds it already.
 * Throws 409 when another executor holds it, when its state does not allow a claim, when it is sent to a webhook or to
 * an own address, and while a gate is closed.
 */
export async function handOutOne<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  id: string,
  request: ClaimOfOne,
): Promise<boolean> {
  const row = await lockDelivery(transaction, id)
  const { rows } = await sql<Holder>`
    select coalesce(channel, ${request.defaultChannel}) as channel, executor, ${isClaimRunning} as is_running,
      ${isReportedPaid} as is_reported
    from deliveries where id = ${id}
  `.execute(transaction)
  const { channel, executor, is_running, is_reported } = rows[0] as Holder
  const meta = { current: row.waiting_for ?? row.status, attempt: row.attempt }
  const refuse = (detail: string, current: string = meta.current): never => {
    throw new Problem('invalid_state', detail, { meta: { ...meta, current } })
  }
  if (stepAfter(row.status, 'claim') === undefined) refuse(`the delivery is ${row.status} and cannot be claimed`)
  if (channel !== 'manual') refuse('the delivery is sent to deliveries.webhook_url')
  if (is_running && executor === request.executor) return false
  if (is_running) refuse(`the delivery is claimed by ${executor}`)
  if (is_reported) refuse('an operator has reported the delivery as paid: another one must confirm or decline that')
  const { verdicts } = await decide(transaction, [{ ...row, is_overdue: false }], owners.gates())
  const [verdict] = verdicts
  if (verdict?.kind === 'blocked') refuse(`the delivery waits: ${verdict.wait.detail}`, verdict.wait.waitingFor)
  if (verdict?.kind === 'own-address') refuse(OWN_ADDRESS)
  await claim(transaction, owners, [row], { channel, ...request })
  return true
}

/**
 * Gives up webhook deliveries with an unknown outcome RETRY_HOURS after the first request, while
 * `deliveries.webhook_url` is empty.
 */
export async function giveUpOverdue<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  limit: number,
): Promise<void> {
  const { rows } = await sql<DeliveryRow>`
    select ${rowColumns} from deliveries
    where next_attempt_at <= statement_timestamp() and ${isKnown} and channel = 'webhook' and ${isOverdue}
    order by next_attempt_at, id limit ${limit} ${unlessLocked}
  `.execute(transaction)
  for (const row of rows) await giveUp(transaction, owners, row, 'deliveries.webhook_url is empty')
}

const isKnown = sql<boolean>`status in ('WAITING', 'CLAIMED')`
const SETTLE: OperatorCallId = 'POST /deliveries/:id/settle'
/** Whether one operator has reported it as paid, and a second one has not decided, or the confirmed call is not over. */
export const isReportedPaid = sql<boolean>`exists (
  select from change_requests
  where subject = deliveries.id::text and call = ${SETTLE} and change_requests.status in ('PENDING', 'CONFIRMED')
    and carried_out_at is null and expires_at > clock_timestamp()
)`
const isOverdue = sql<boolean>`first_attempt_at <= clock_timestamp() - ${RETRY_HOURS} * interval '1 hour'`

async function lockDue<Tables>(
  transaction: Transaction<Tables>,
  { channel, defaultChannel, assets, parties, isRecent }: HandOut,
  limit: number,
): Promise<readonly DueRow[]> {
  const isGivenUp = sql<boolean>`(channel is not distinct from 'webhook' and coalesce(${isOverdue}, false))`
  // Not clock_timestamp(), because it is volatile and cannot bound an index scan.
  const { rows } = await sql<DueRow>`
    select ${rowColumns}, next_attempt_at as due_at, ${isGivenUp} as is_overdue
    from deliveries
    where next_attempt_at <= statement_timestamp() and ${isRecent} and ${isKnown}
      and coalesce(channel, ${defaultChannel}) = ${channel}
      and ${assets ? sql<boolean>`asset = any(${assets}::text[])` : sql<boolean>`true`}
      and (${parties ? hasReadableParties(sql`orchestration_id`, parties.key) : sql<boolean>`true`} or ${isGivenUp})
      and not ${isReportedPaid}
    order by next_attempt_at, id limit ${limit} ${unlessLocked}
  `.execute(transaction)
  return rows
}

async function decide<Tables>(
  transaction: Transaction<Tables>,
  rows: readonly (DeliveryRow & Pick<DueRow, 'is_overdue'>)[],
  settings: GateSettings,
  mayLockLimits = true,
): Promise<{ readonly verdicts: readonly Verdict[]; readonly limits: LockedLimits }> {
  const subjects = rows.map(deliveryGates)
  const limits = await lockLimits(transaction, subjects, settings, mayLockLimits)
  if (limits.isMissing) return { verdicts: [], limits }
  await limits.count(subjects)
  const findings = await readGates(transaction, subjects, settings)
  const areOwn = await areOwnAddresses(
    transaction,
    rows.map(({ destination }) => ('crypto' in destination ? destination.crypto : undefined)),
  )
  const verdicts = rows.map(({ is_overdue }, index): Verdict => {
    if (is_overdue) return { kind: 'overdue' }
    if (areOwn[index] === true) return { kind: 'own-address' }
    const wait = waitingForOf(findings[index] ?? [])
    return wait === undefined ? { kind: 'handed-out' } : { kind: 'blocked', wait }
  })
  return { verdicts, limits }
}

/** A payment, as its gates see it. */
export function deliveryGates(row: DeliveryRow): GateSubject {
  const { owner, customerId, profileId, asset, amount, destination, attempt } = deliveryOf(row)
  return {
    owner,
    customerId,
    profileId,
    sourceAsset: asset,
    asset,
    networks: [networkOf(destination)],
    destination,
    amount,
    isDelivery: true,
    // Limits and the review stop only a delivery that was never handed out, because an earlier attempt may have paid.
    openedGates: attempt === 0 ? row.opened_gates : [...row.opened_gates, 'LIMIT', 'REVIEW'],
    hasLimits: row.has_limits,
  }
}

async function claim<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  rows: readonly DeliveryRow[],
  { channel, executor, leaseSeconds }: Pick<HandOut, 'channel' | 'executor' | 'leaseSeconds'>,
): Promise<void> {
  if (rows.length === 0) return
  const ids = rows.map(({ id }) => id)
  const ended = { outcome: 'UNKNOWN', detail: 'no result was reported before the claim ended' } as const
  await endAttempts(transaction, rows, ended, ['STARTED'])
  await sql`
    with claimed as (
      update deliveries set status = 'CLAIMED', channel = ${channel}, attempt = attempt + 1, executor = ${executor},
        next_attempt_at = clock_timestamp() + ${leaseSeconds} * interval '1 second',
        first_attempt_at = coalesce(first_attempt_at, clock_timestamp()), waiting_for = null, waiting_detail = null,
        gates = null,
        updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
      where id = any(${ids}::uuid[])
      returning id, attempt
    )
    insert into delivery_attempts (delivery_id, attempt, executor, started_at, outcome)
    select id, attempt, ${executor}, date_trunc('milliseconds', clock_timestamp()), 'STARTED' from claimed
  `.execute(transaction)
  for (const row of rows) {
    if (row.waiting_for === null) continue
    const delivery = deliveryOf({ ...row, status: 'CLAIMED', attempt: row.attempt + 1, waiting_for: null })
    await ownerOf(transaction, owners, delivery).waits(transaction, delivery, undefined)
  }
}

/**
 * Fails deliveries to the service's own addresses: the payment would arrive as a deposit and be converted again. One
 * that may have been paid before the address became the service's own is left to a person: after an attempt, and in a
 * restored store, which may have lost the attempt.
 */
async function refuseOwnAddresses<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  rows: readonly DeliveryRow[],
): Promise<void> {
  if (rows.length === 0) return
  const detail = OWN_ADDRESS
  const mayBePaid = await isRestored(transaction, owners.gates().seenStore)
  const isUntouched = ({ status }: DeliveryRow) => status === 'WAITING' && !mayBePaid
  for (const { id } of rows.filter(isUntouched)) {
    const entry = { actor: 'worker', action: 'delivery.fail', subject: id }
    await writeAudit(transaction, { ...entry, detail: { code: 'OWN_ADDRESS' } })
  }
  for (const row of rows) if (!isUntouched(row)) await giveUp(transaction, owners, row, detail)
  await failAll(transaction, owners, rows.filter(isUntouched), { code: 'OWN_ADDRESS', detail })
}
