/**
 * Hands out what is due: to an executor that claims, or to the sender of webhooks. A delivery is handed out to one of
 * them at a time, with an attempt number of its own, and again when the claim has ended without a result. The gates are
 * read in the transaction that hands out; what they stop is looked at again later, behind everything that is due before.
 * States and channels that a newer version of the program has added are left to it.
 */
import { readGates } from '../controls/gates.ts'
import { areOwnAddresses } from '../deposit-instructions/address-owner.ts'
import { writeAudit } from '../store/audit.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { type DeliveryChannel, type DeliveryWait, networkOf } from './model.ts'
import { type DeliveryOwners, ownerOf } from './owner.ts'
import { block, failAll, giveUp } from './results.ts'
import { type DeliveryRow, deliveryOf, rowColumns } from './store.ts'

/** Seconds after which a delivery that was stopped is looked at again. */
const BLOCKED_SECONDS = 10
/** How often a transaction looks for more when what it found was stopped; it has to end in time. */
const ROUNDS_MAX = 3
/** Hours after the first request after which its outcome is the operator's to find out. */
const RETRY_HOURS = 24

export interface HandOut {
  readonly channel: DeliveryChannel
  /** Which channel takes deliveries that no attempt was made for. */
  readonly defaultChannel: DeliveryChannel
  readonly executor: string
  readonly limit: number
  readonly leaseSeconds: number
}

interface DueRow extends DeliveryRow {
  readonly is_overdue: boolean
}

/** What becomes of one that is due. */
type Verdict =
  | { readonly kind: 'handed-out' }
  | { readonly kind: 'blocked'; readonly waitingFor: DeliveryWait; readonly detail: string }
  | { readonly kind: 'own-address' }
  | { readonly kind: 'overdue' }

/** @returns the ids of those that are CLAIMED now, those that were due first in front */
export async function handOut<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  request: HandOut,
): Promise<readonly string[]> {
  const claimed: string[] = []
  for (let round = 0; round < ROUNDS_MAX && claimed.length < request.limit; round++) {
    const due = await lockDue(transaction, request, request.limit - claimed.length)
    if (due.length === 0) break
    const verdicts = await judge(transaction, due)
    const those = (kind: Verdict['kind']) => due.filter((_, index) => verdicts[index]?.kind === kind)
    const handedOut = those('handed-out')
    await claim(transaction, owners, handedOut, request)
    claimed.push(...handedOut.map(({ id }) => id))
    for (const [index, row] of due.entries()) {
      const verdict = verdicts[index] as Verdict
      if (verdict.kind === 'blocked') await block(transaction, owners, row, verdict, BLOCKED_SECONDS)
    }
    const detail = `no outcome is known ${RETRY_HOURS} hours after the first request`
    for (const row of those('overdue')) await giveUp(transaction, owners, row, detail)
    await refuseOwnAddresses(transaction, owners, those('own-address'))
  }
  return claimed
}

/** Gives up what is overdue and cannot be sent, because there is no address to send it to any more. */
export async function giveUpOverdue<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  limit: number,
): Promise<void> {
  const { rows } = await sql<DeliveryRow>`
    select ${rowColumns} from deliveries
    where next_attempt_at <= clock_timestamp() and ${isKnown} and channel = 'webhook' and ${isOverdue}
    order by next_attempt_at, id limit ${limit} for update skip locked
  `.execute(transaction)
  for (const row of rows) await giveUp(transaction, owners, row, 'deliveries.webhook_url is empty')
}

const isKnown = sql<boolean>`status in ('WAITING', 'CLAIMED')`
const isOverdue = sql<boolean>`first_attempt_at <= clock_timestamp() - ${RETRY_HOURS} * interval '1 hour'`

async function lockDue<Tables>(
  transaction: Transaction<Tables>,
  { channel, defaultChannel }: HandOut,
  limit: number,
): Promise<readonly DueRow[]> {
  const { rows } = await sql<DueRow>`
    select ${rowColumns}, channel is not distinct from 'webhook' and coalesce(${isOverdue}, false) as is_overdue
    from deliveries
    where next_attempt_at <= clock_timestamp() and ${isKnown} and coalesce(channel, ${defaultChannel}) = ${channel}
    order by next_attempt_at, id limit ${limit} for update skip locked
  `.execute(transaction)
  return rows
}

async function judge<Tables>(transaction: Transaction<Tables>, rows: readonly DueRow[]): Promise<readonly Verdict[]> {
  const findings = await readGates(
    transaction,
    rows.map(({ profile_id: profileId, asset, destination, hold_released }) => ({
      profileId,
      assets: [asset],
      networks: [networkOf(destination)],
      isDelivery: true,
      isReleased: hold_released,
    })),
  )
  const payments = rows.flatMap(({ destination }) => ('crypto' in destination ? [destination.crypto] : []))
  const areOwn = await areOwnAddresses(transaction, payments)
  let payment = 0
  return rows.map(({ destination, is_overdue }, index): Verdict => {
    const isOwn = 'crypto' in destination && areOwn[payment++] === true
    if (is_overdue) return { kind: 'overdue' }
    if (isOwn) return { kind: 'own-address' }
    const finding = findings[index]
    if (finding === undefined) return { kind: 'handed-out' }
    return { kind: 'blocked', waitingFor: finding.code === 'PAUSED' ? 'PAUSED' : 'HOLD', detail: finding.detail }
  })
}

async function claim<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  rows: readonly DeliveryRow[],
  { channel, executor, leaseSeconds }: HandOut,
): Promise<void> {
  if (rows.length === 0) return
  const ids = rows.map(({ id }) => id)
  await sql`
    update delivery_attempts set outcome = 'UNKNOWN', ended_at = date_trunc('milliseconds', clock_timestamp()),
      detail = 'no result was reported before the claim ended'
    from unnest(${ids}::uuid[], ${rows.map(({ attempt }) => attempt)}::integer[]) as ended (id, attempt)
    where delivery_id = ended.id and delivery_attempts.attempt = ended.attempt and outcome = 'STARTED'
  `.execute(transaction)
  await sql`
    with claimed as (
      update deliveries set status = 'CLAIMED', channel = ${channel}, attempt = attempt + 1, executor = ${executor},
        next_attempt_at = clock_timestamp() + ${leaseSeconds} * interval '1 second',
        first_attempt_at = coalesce(first_attempt_at, clock_timestamp()), waiting_for = null, waiting_detail = null,
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
    await ownerOf(owners, delivery).waits(transaction, delivery, undefined)
  }
}

/** What is sent to an address of the service would come back as a deposit, and be converted again. */
async function refuseOwnAddresses<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  rows: readonly DeliveryRow[],
): Promise<void> {
  const detail = 'the destination is a deposit address of this service'
  const isUntouched = ({ status }: DeliveryRow) => status === 'WAITING'
  for (const { id } of rows.filter(isUntouched)) {
    const entry = { actor: 'worker', action: 'delivery.fail', subject: id }
    await writeAudit(transaction, { ...entry, detail: { code: 'OWN_ADDRESS' } })
  }
  await failAll(transaction, owners, rows.filter(isUntouched), { code: 'OWN_ADDRESS', detail })
  // An attempt was made before the address became one of the service, and may have paid.
  for (const row of rows) if (!isUntouched(row)) await giveUp(transaction, owners, row, detail)
}
