/**
 * Applies delivery results to their orchestrations, in the delivery's transaction.
 *
 * A conversion's fee is kept when only the payment fails, and a retry is free. Without a conversion the fee pays for
 * the payment alone, so it is given back: `fee_amount` is null from then on, and a retry is charged.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { Delivery, DeliveryFailure } from '../deliveries/model.ts'
import type { DeliveryOwner } from '../deliveries/owner.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import { type StepChange, writeSteps } from './step-store.ts'

/** Completes and fails orchestrations, and records their waits. The delivery posts the money. */
export const ORCHESTRATION_DELIVERIES: DeliveryOwner = {
  // A late settlement completes a failed orchestration, because the payment was made.
  async settled(transaction, delivery) {
    const { id } = idOf(delivery)
    const fee = delivery.late ? await changeFee(transaction, id, FEE_GIVEN_BACK, PAYMENT_FEE) : 0n
    await writeSteps(transaction, [{ id, action: 'orchestration.complete', status: 'COMPLETED', step: null }])
    return { bucket: 'available', fee }
  },
  async failed(transaction, delivery, failure) {
    const fee = await changeFee(transaction, idOf(delivery).id, FEE_CHARGED, sql`null`)
    await writeSteps(transaction, [failureOf(delivery, failure)])
    return fee
  },
  waits(transaction, delivery, wait) {
    const action = wait === undefined ? 'orchestration.continue' : 'orchestration.wait'
    const waiting =
      wait === undefined ? {} : { waitingFor: wait.waitingFor, waitingDetail: wait.detail, gates: wait.gates }
    return writeSteps(transaction, [{ ...idOf(delivery), action, status: 'PROCESSING', step: 'deliver', ...waiting }])
  },
}

/** Without a conversion, the fee is the part of the amount that does not leave. */
const PAYMENT_FEE = sql`source_amount - destination_amount`
const FEE_CHARGED = sql<boolean>`fee_amount > 0`
const FEE_GIVEN_BACK = sql<boolean>`fee_amount is null`

/**
 * Changes the fee of an orchestration without a conversion. Returns the amount given back or charged; 0 if there is
 * none.
 */
async function changeFee<Tables>(
  transaction: Transaction<Tables>,
  id: string,
  condition: RawBuilder<boolean>,
  fee: RawBuilder<unknown>,
): Promise<MinorUnits> {
  const { rows } = await sql<{ readonly fee: string }>`
    update orchestrations set fee_amount = ${fee}
    where id = ${id} and source_asset = destination_asset and ${condition}
    returning ${PAYMENT_FEE} as fee
  `.execute(transaction)
  return BigInt(rows[0]?.fee ?? 0)
}

function failureOf(delivery: Delivery, { code, detail }: DeliveryFailure): StepChange {
  return {
    ...idOf(delivery),
    action: 'orchestration.fail',
    status: 'FAILED',
    step: null,
    failCode: code,
    failDetail: detail,
  }
}

function idOf({ owner }: Delivery): { readonly id: string } {
  assert('orchestrationId' in owner, 'the delivery belongs to a deposit, not to an orchestration')
  return { id: owner.orchestrationId }
}
