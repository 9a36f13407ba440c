/**
 * A delivery's state machine. A delivery is one payment that leaves the service.
 *
 * A delivery is created WAITING, with its amount in the profile's `in_transit`. STEPS contains every transition. A
 * delivery fails only when the executor refuses it, the operator fails it, the customer cancels it before it was handed
 * out, its screening rejects it, or its destination is an own address. An unknown outcome waits for the operator. SETTLED is final. FAILED is
 * final unless the payment turns out to have been made after all.
 */
import type { FiatNetwork } from '../../contract/assets.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { Place } from '../destinations/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'

export const DELIVERY_STATUSES = ['WAITING', 'CLAIMED', 'SENT', 'SETTLED', 'FAILED', 'NEEDS_OPERATOR'] as const

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** `manual`: executors claim it and report its result. `webhook`: the service sends it to `deliveries.webhook_url`. */
export const DELIVERY_CHANNELS = ['manual', 'webhook'] as const

export type DeliveryChannel = (typeof DELIVERY_CHANNELS)[number]

/** A payment's destination, with exactly one member. */
export type DeliveryDestination = Place

/** The record behind a delivery: an orchestration, or the deposit that it returns. */
export type DeliverySubject = { readonly orchestrationId: string } | { readonly depositId: string }

export interface Delivery {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly owner: DeliverySubject
  readonly asset: string
  readonly amount: MinorUnits
  readonly destination: DeliveryDestination
  /** The profile's bucket to which the amount returns when the delivery fails. */
  readonly failsTo: 'available' | 'held'
  readonly status: DeliveryStatus
  /** The fencing token, incremented by every claim and every webhook request. */
  readonly attempt: number
  /** The executor's name for the payment. Null unless SETTLED. */
  readonly reference: string | null
  /** Settled after it had failed. */
  readonly late: boolean
}

/** A payment's network. */
export function networkOf(destination: DeliveryDestination): CryptoNetwork | FiatNetwork {
  return 'crypto' in destination ? destination.crypto.network : (destination.fiat.network ?? 'WIRE')
}

/** Why a delivery failed. */
export interface DeliveryFailure {
  readonly code: 'REFUSED' | 'OPERATOR_FAILED' | 'OWN_ADDRESS' | 'CANCELLED' | 'screening_rejected'
  readonly detail: string
}

/** Delivery events. */
export type DeliveryEvent = 'claim' | 'accept' | 'settle' | 'settle_unclaimed' | 'settle_late' | 'fail' | 'give_up'

/**
 * The next state, by state and event.
 *
 * - `claim`: an executor claims it, or a webhook request is about to be sent. Repeated when the claim has ended or the
 *   request's outcome is unknown.
 * - `accept`: the executor accepted the webhook request. It will pay and report the result.
 * - `settle`: it was paid. `settle_unclaimed`: it was paid, and the store was restored to a time before it was handed
 *   out. Deliveries must be paused. `settle_late`: it was paid although it had failed.
 * - `fail`: it was not paid and never will be. The executor refused it, the operator failed it, its destination is an
 *   own address, its screening rejected it, or the customer cancelled it before it was handed out.
 * - `give_up`: the outcome stays unknown, and the request is no longer retried, or its screening rejects a retry, or
 *   its destination is an own address then. In a restored store the last two give up what is WAITING too.
 */
const STEPS: Readonly<Record<DeliveryStatus, Partial<Readonly<Record<DeliveryEvent, DeliveryStatus>>>>> = {
  WAITING: { claim: 'CLAIMED', settle_unclaimed: 'SETTLED', fail: 'FAILED', give_up: 'NEEDS_OPERATOR' },
  CLAIMED: { claim: 'CLAIMED', accept: 'SENT', settle: 'SETTLED', fail: 'FAILED', give_up: 'NEEDS_OPERATOR' },
  SENT: { settle: 'SETTLED', fail: 'FAILED' },
  NEEDS_OPERATOR: { settle: 'SETTLED', fail: 'FAILED' },
  FAILED: { settle_late: 'SETTLED' },
  SETTLED: {},
}

/**
 * The state after an event. Undefined when this state does not allow the event, or when a newer version wrote the
 * state.
 */
export function stepAfter(status: DeliveryStatus, event: DeliveryEvent): DeliveryStatus | undefined {
  const steps: (typeof STEPS)[DeliveryStatus] | undefined = STEPS[status]
  return steps?.[event]
}

/** The event by which a payment that was made settles a delivery in this state. */
export function settleEvent(status: DeliveryStatus): DeliveryEvent {
  if (status === 'FAILED') return 'settle_late'
  return status === 'WAITING' ? 'settle_unclaimed' : 'settle'
}
