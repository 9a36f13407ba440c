/**
 * The contract by which the owner of a delivery is notified of its result: the orchestration that it completes, or the
 * deposit that it returns. Calls are made in the transaction that changes the delivery, before its postings. An error rolls
 * the transaction back.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { locking } from '../../platform/store/lock-order.ts'
import type { ReviewLimits } from '../controls/review.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { Delivery, DeliveryFailure, DeliveryWait } from './model.ts'

export interface OwnerWait {
  /** `OPERATOR`: the outcome is unknown, and the operator decides. */
  readonly waitingFor: DeliveryWait | 'OPERATOR'
  /** For the operator. */
  readonly detail: string
}

/** What a payment is debited from that had failed before, and was made after all. */
export interface LateDebit {
  /** Where its money is now: in `held` if an operator holds it, and he may have released it since the payment failed. */
  readonly bucket: 'available' | 'held'
  /** Charged again, in the delivery's asset. */
  readonly fee: MinorUnits
}

export interface DeliveryOwner {
  /**
   * It was paid. With `delivery.late` it had failed before, and `failed` was called.
   * @returns what is debited if it is late
   */
  settled<Tables>(transaction: Transaction<Tables>, delivery: Delivery): Promise<LateDebit>
  /**
   * It was not paid; its amount returns to the profile, into `delivery.failsTo`.
   * @returns the fee that was charged for the payment alone and is given back, in the delivery's asset
   */
  failed<Tables>(transaction: Transaction<Tables>, delivery: Delivery, failure: DeliveryFailure): Promise<MinorUnits>
  /** The reason why it waits has changed; undefined: only its executor has to act. */
  waits<Tables>(transaction: Transaction<Tables>, delivery: Delivery, wait: OwnerWait | undefined): Promise<void>
}

/** The owners by kind of subject, and what has to be known of a payment before it is handed out. */
export interface DeliveryOwners {
  readonly orchestrations: DeliveryOwner
  readonly deposits: DeliveryOwner
  /** The setting `review_above.payments`; read again for every hand-out. */
  reviewAbove(): ReviewLimits
}

/** The owner of a locked delivery; its call may lock the record that the delivery belongs to. */
export function ownerOf<Tables>(
  transaction: Transaction<Tables>,
  { orchestrations, deposits }: DeliveryOwners,
  { owner }: Delivery,
): DeliveryOwner {
  const isOrchestration = 'orchestrationId' in owner
  locking(transaction, 'owner', [isOrchestration ? owner.orchestrationId : owner.depositId], true)
  return isOrchestration ? orchestrations : deposits
}
