/**
 * What a delivery is for learns of its result through this contract: the orchestration that it ends, or the deposit that
 * it returns. Calls happen in the transaction that changes the delivery, before its postings are written, because records
 * are locked before balances; an error rolls all of it back.
 */
import type { Transaction } from '../store/db.ts'
import type { Delivery, DeliveryFailure, DeliveryWait } from './model.ts'

export interface OwnerWait {
  /** `OPERATOR`: the outcome is unknown, and the operator decides. */
  readonly waitingFor: DeliveryWait | 'OPERATOR'
  /** For the operator. */
  readonly detail: string
}

export interface DeliveryOwner {
  /** It was paid. With `delivery.late` it had failed before, and `failed` was called then. */
  settled<Tables>(transaction: Transaction<Tables>, delivery: Delivery): Promise<void>
  /** It was not paid, and its amount is back with the profile, in `delivery.failsTo`. */
  failed<Tables>(transaction: Transaction<Tables>, delivery: Delivery, failure: DeliveryFailure): Promise<void>
  /** What it waits for has changed; undefined: it waits for nothing but its executor. */
  waits<Tables>(transaction: Transaction<Tables>, delivery: Delivery, wait: OwnerWait | undefined): Promise<void>
}

/** Who owns the deliveries of each kind. */
export interface DeliveryOwners {
  readonly orchestrations: DeliveryOwner
  readonly deposits: DeliveryOwner
}

export function ownerOf({ orchestrations, deposits }: DeliveryOwners, { owner }: Delivery): DeliveryOwner {
  return 'orchestrationId' in owner ? orchestrations : deposits
}
