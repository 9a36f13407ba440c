/**
 * Payments as the screening sees them, by their orchestrations. ALLOW makes the delivery due. REJECT fails it, and its
 * money returns to the balance, unless it was handed out before or the store was restored: an earlier attempt may have
 * paid.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { isRestored } from '../controls/store-identity.ts'
import type { Applied, ScreenedMovements } from '../screening/movements.ts'
import { DELIVERIES_CHANNEL, lockDeliveryOf } from './create.ts'
import type { DeliveryOwners } from './owner.ts'
import { failAll, giveUp } from './results.ts'
import { isClaimRunning } from './store.ts'

/** Shown to the customer. The provider's reason is not. */
const DETAIL = 'the payment was refused by its screening'
const HANDED_OUT = 'the screening rejected it after it had been handed out, and it may have been paid'
const RESTORED = 'the screening rejected it, and it may have been paid before the store was restored or promoted'

export function screenedPayments(owners: DeliveryOwners): ScreenedMovements {
  return {
    async lock(transaction, id) {
      await lockDeliveryOf(transaction, id)
    },
    allow: makeDue,
    // The next hand-out stores why it waits.
    hold: makeDue,
    reject: (transaction, id) => rejectPayment(transaction, owners, id),
  }
}

async function makeDue<Tables>(transaction: Transaction<Tables>, id: string): Promise<Applied> {
  const { numAffectedRows } = await sql`
    update deliveries set next_attempt_at = least(next_attempt_at, clock_timestamp())
    where orchestration_id = ${id} and next_attempt_at is not null and not ${isClaimRunning}
  `.execute(transaction)
  if (numAffectedRows === 0n) return 'outdated'
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
  return 'applied'
}

async function rejectPayment<Tables>(
  transaction: Transaction<Tables>,
  owners: DeliveryOwners,
  id: string,
): Promise<Applied> {
  const row = await lockDeliveryOf(transaction, id)
  if (row?.status === 'WAITING') {
    if (await isRestored(transaction, owners.gates().seenStore)) await giveUp(transaction, owners, row, RESTORED)
    else await failAll(transaction, owners, [row], { code: 'screening_rejected', detail: DETAIL })
    return 'applied'
  }
  if (row?.status !== 'CLAIMED' || (await hasHolder(transaction, id))) return 'outdated'
  await giveUp(transaction, owners, row, HANDED_OUT)
  return 'applied'
}

async function hasHolder<Tables>(transaction: Transaction<Tables>, id: string): Promise<boolean> {
  const { rows } = await sql`select from deliveries where orchestration_id = ${id} and ${isClaimRunning}`.execute(
    transaction,
  )
  return rows.length > 0
}
