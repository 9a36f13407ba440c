/**
 * Executors' claims, and results reported by executors and the operator. Each call is one transaction with one audit
 * row. A report names its attempt. One about an earlier attempt is 409, because another executor may be paying now.
 * Only a late settlement may name any attempt that was made, and only while deliveries are paused may one be settled
 * that was never handed out. Repeating a recorded result changes nothing.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { areDeliveriesPaused } from '../controls/store.ts'
import { parseAmount } from '../ledger/amounts.ts'
import { handOut, handOutOne } from './hand-out.ts'
import { settleEvent, stepAfter } from './model.ts'
import type { DeliveryOwners } from './owner.ts'
import { failAll, type Settlement, settle } from './results.ts'
import { type DeliveryRow, deliveryTexts, lockDelivery } from './store.ts'
import { type Reporter, refuseUnknownAttempts } from './unknown-attempts.ts'

export interface ClaimRequest {
  readonly executor: string
  readonly limit: number
  readonly lease_seconds: number
  /** The only assets to claim. Null or absent: all. */
  readonly assets?: readonly string[] | null
}

export interface SettleRequest {
  readonly reference: string
  readonly attempt: number
  /** Decimal text. */
  readonly fee?: string
  /** True: the payment was made although the delivery is FAILED. */
  readonly late?: boolean
}

export interface FailRequest {
  readonly reason: string
  readonly attempt: number
  /** States that no unknown attempt was paid or ever will be. */
  readonly earlier_attempts?: 'not_paid'
}

/** A reported settlement's effect. */
export type Settled = 'settled' | 'settled-late' | 'unchanged'

interface ClaimedText {
  readonly text: string
  /** When it was due, by the store's clock. */
  readonly dueAt: string
}

/**
 * Claims due deliveries, and returns their JSON texts.
 * @param isRecent a search's condition (see `platform/store/due-search`)
 */
export async function claimDeliveries<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  actor: string,
  { executor, limit, lease_seconds: leaseSeconds, assets }: ClaimRequest,
  hasWebhook: boolean,
  isRecent: RawBuilder<boolean>,
  encryptionKey?: EncryptionKey,
): Promise<readonly ClaimedText[]> {
  const defaultChannel = hasWebhook ? 'webhook' : 'manual'
  const request = {
    channel: 'manual',
    defaultChannel,
    executor,
    limit,
    leaseSeconds,
    assets: assets ?? null,
    parties: { key: encryptionKey },
    isRecent,
  } as const
  const handedOut = await handOut(transaction, owners, request)
  if (handedOut.length === 0) return []
  const ids = handedOut.map(({ id }) => id)
  await writeAudit(transaction, { actor, action: 'delivery.claim', subject: executor, detail: { ids } })
  const texts = await deliveryTexts(transaction, ids, encryptionKey)
  return handedOut.map(({ dueAt }, index) => ({ dueAt, text: texts[index] as string }))
}

/** Claims this delivery, due or not. Nothing changes when the executor already holds it. */
export async function claimDelivery<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  { actor, executor }: { readonly actor: string; readonly executor: string },
  id: string,
  leaseSeconds: number,
  hasWebhook: boolean,
): Promise<void> {
  const request = { defaultChannel: hasWebhook ? 'webhook' : 'manual', executor, leaseSeconds } as const
  if (!(await handOutOne(transaction, owners, id, request))) return
  const detail = { executor, lease_seconds: leaseSeconds }
  await writeAudit(transaction, { actor, action: 'delivery.claim', subject: id, detail })
}

export async function reportSettled<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  actor: string,
  id: string,
  { reference, attempt, fee, late = false }: SettleRequest,
): Promise<Settled> {
  const row = await lockDelivery(transaction, id)
  const isLate = row.status === 'FAILED'
  if (isLate && !late) {
    const detail =
      'the delivery is FAILED and its money was returned to the profile. If it was paid nevertheless, send "late": true'
    throw new Problem('invalid_state', detail, { meta: currentOf(row) })
  }
  if (!(late && (isLate || row.late) && wasMade(row, attempt))) refuseOtherAttempt(row, attempt)
  if (row.status === 'SETTLED' && row.reference === reference) return 'unchanged'
  if (stepAfter(row.status, settleEvent(row.status)) === undefined) refuse(row, 'settled')
  if (row.status === 'WAITING') await refuseUnlessPaused(transaction, row)
  await refuseUsedReference(transaction, reference)
  const settlement = { reference, attempt, ...(await feeOf(transaction, row, fee)) }
  const detail = { reference, attempt, ...(fee === undefined ? {} : { fee }), ...(isLate ? { late } : {}) }
  await writeAudit(transaction, { actor, action: 'delivery.settle', subject: id, detail })
  await settle(transaction, owners, row, settlement)
  return isLate ? 'settled-late' : 'settled'
}

export async function reportFailed<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  reporter: Reporter,
  id: string,
  { reason, attempt, earlier_attempts }: FailRequest,
): Promise<void> {
  const row = await lockDelivery(transaction, id)
  refuseOtherAttempt(row, attempt)
  if (row.status === 'FAILED') return
  if (stepAfter(row.status, 'fail') === undefined) refuse(row, 'failed')
  await refuseUnknownAttempts(transaction, row, reporter, earlier_attempts === 'not_paid')
  const detail = { reason, attempt, ...(earlier_attempts === undefined ? {} : { earlier_attempts }) }
  await writeAudit(transaction, { actor: reporter.actor, action: 'delivery.fail', subject: id, detail })
  await failAll(transaction, owners, [row], { code: 'OPERATOR_FAILED', detail: reason })
}

/**
 * Throws 409 for a delivery that was never handed out, while deliveries may be. In a restored store it may have been
 * paid all the same, and a person settles it before the deliveries are resumed.
 */
async function refuseUnlessPaused<Tables>(transaction: Transaction<Tables>, row: DeliveryRow): Promise<void> {
  if (await areDeliveriesPaused(transaction)) return
  const detail =
    'the delivery is WAITING and was not handed out. One that was paid before the store was restored can be settled ' +
    'while deliveries are paused'
  throw new Problem('invalid_state', detail, { meta: currentOf(row) })
}

/** Throws 409 when another delivery was settled with this reference. */
async function refuseUsedReference<Tables>(transaction: Transaction<Tables>, reference: string): Promise<void> {
  const { rows } = await sql<{ id: string }>`select id from deliveries where reference = ${reference}`.execute(
    transaction,
  )
  const [existing] = rows
  if (existing !== undefined) throw usedReference({ meta: { existing } })
}

export function usedReference(extras: ConstructorParameters<typeof Problem>[2] = {}): Problem {
  return new Problem('already_exists', 'reference: another delivery was settled with this reference', extras)
}

/** The reported fee, which may be 0. Throws 400 when it is not an amount in the asset. */
async function feeOf<Tables>(
  transaction: Transaction<Tables>,
  { asset }: DeliveryRow,
  fee: string | undefined,
): Promise<Pick<Settlement, 'fee'>> {
  if (fee === undefined) return {}
  if (/^0(\.0+)?$/.test(fee)) return { fee: 0n }
  const { rows } = await sql<{ decimals: number }>`
    select decimals from ledger_assets where symbol = ${asset}
  `.execute(transaction)
  const amount = parseAmount(fee, rows[0]?.decimals ?? 0)
  if (typeof amount === 'bigint') return { fee: amount }
  const errors = [{ pointer: '/fee', detail: amount }] as const
  throw new Problem('invalid_request', `/fee: ${amount}`, { errors })
}

/** Attempt 0 counts only while the delivery was never handed out. */
function wasMade(row: DeliveryRow, attempt: number): boolean {
  return attempt === row.attempt || (attempt > 0 && attempt < row.attempt)
}

function refuseOtherAttempt(row: DeliveryRow, attempt: number): void {
  if (row.attempt === attempt) return
  const detail = `attempt: the current attempt is ${row.attempt}. Find out whether both were paid`
  throw new Problem('invalid_state', detail, { meta: currentOf(row) })
}

function refuse(row: DeliveryRow, wanted: string): never {
  throw new Problem('invalid_state', `the delivery is ${row.status} and cannot be ${wanted}`, { meta: currentOf(row) })
}

function currentOf({ status, attempt }: DeliveryRow) {
  return { current: status, attempt }
}
