/**
 * The contract through which a delivery's owner learns the result. The owner is the orchestration that the delivery
 * completes, or the deposit that it returns. Calls are made before the postings, in the transaction that changes the
 * delivery. An error rolls the transaction back.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { locking } from '../../platform/store/lock-order.ts'
import type { GateSettings } from '../controls/gates.ts'
import type { GatesWait } from '../gates/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { Delivery, DeliveryFailure } from './model.ts'

/** Closed gates. `OPERATOR`: the outcome is unknown, and the operator decides. */
export type OwnerWait = GatesWait | { readonly waitingFor: 'OPERATOR'; readonly detail: string; readonly gates?: never }

/** The debit for a payment that was made after all, although it had failed. */
export interface LateDebit {
  /**
   * Where its money is now: in `held` if an operator holds it. The operator may have released it since the payment
   * failed.
   */
  readonly bucket: 'available' | 'held'
  /** Charged again, in the delivery's asset. */
  readonly fee: MinorUnits
}

export interface DeliveryOwner {
  /**
   * The payment was made. With `delivery.late` it had failed before, and `failed` was called.
   * @returns the debit if the payment is late
   */
  settled<Tables>(transaction: Transaction<Tables>, delivery: Delivery): Promise<LateDebit>
  /**
   * The payment was not made. Its amount returns to the profile, into `delivery.failsTo`.
   * @returns the fee charged for this payment alone, to be given back, in the delivery's asset
   */
  failed<Tables>(transaction: Transaction<Tables>, delivery: Delivery, failure: DeliveryFailure): Promise<MinorUnits>
  /** The reason why it waits has changed. Undefined: only its executor has to act. */
  waits<Tables>(transaction: Transaction<Tables>, delivery: Delivery, wait: OwnerWait | undefined): Promise<void>
}

/** The owners by kind, and the settings by which a payment's gates close. */
export interface DeliveryOwners {
  readonly orchestrations: DeliveryOwner
  readonly deposits: DeliveryOwner
  /** Read again for every hand-out. */
  gates(): GateSettings
}

/** A locked delivery's owner. Its calls may lock the record behind the delivery. */
export function ownerOf<Tables>(
  transaction: Transaction<Tables>,
  { orchestrations, deposits }: DeliveryOwners,
  { owner }: Delivery,
): DeliveryOwner {
  const isOrchestration = 'orchestrationId' in owner
  locking(transaction, 'owner', [isOrchestration ? owner.orchestrationId : owner.depositId], true)
  return isOrchestration ? orchestrations : deposits
}
