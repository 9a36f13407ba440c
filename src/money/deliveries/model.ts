/**
 * The state machine of a delivery, which is one payment that leaves the service.
 *
 * A delivery is created WAITING, with its amount in `in_transit` of the profile; STEPS contains every transition. Only an
 * explicit refusal of the executor, an own address or the operator fails it: an unknown outcome waits for the operator.
 * SETTLED is final. FAILED is final unless the payment turns out to have been made after all.
 */
import type { FiatNetwork } from '../../contract/assets.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { MinorUnits } from '../ledger/posting.ts'

export const DELIVERY_STATUSES = ['WAITING', 'CLAIMED', 'SENT', 'SETTLED', 'FAILED', 'NEEDS_OPERATOR'] as const

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** `manual`: executors claim it and report its result; `webhook`: the service sends it to `deliveries.webhook_url`. */
export const DELIVERY_CHANNELS = ['manual', 'webhook'] as const

export type DeliveryChannel = (typeof DELIVERY_CHANNELS)[number]

/** Why a delivery is not handed out: the customer, account or profile is blocked, or the operator has paused something. */
export const DELIVERY_WAITS = ['HOLD', 'PAUSED'] as const

export type DeliveryWait = (typeof DELIVERY_WAITS)[number]

/** The destination of a payment; has exactly one member. */
export type DeliveryDestination =
  | { readonly crypto: { readonly address: string; readonly network: CryptoNetwork } }
  | {
      readonly fiat: {
        readonly fiat_account_id: string
        readonly memo?: string
        /** Absent: WIRE. */
        readonly network?: FiatNetwork
      }
    }

/** The record that a delivery belongs to: an orchestration, or the deposit that it returns. */
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
  /** The bucket of the profile to which the amount returns when the delivery fails. */
  readonly failsTo: 'available' | 'held'
  readonly status: DeliveryStatus
  /** The fencing token: incremented by every claim and every webhook request. */
  readonly attempt: number
  /** The executor's name for the payment; null unless SETTLED. */
  readonly reference: string | null
  /** Settled after it had failed. */
  readonly late: boolean
}

/** The network of a payment. */
export function networkOf(destination: DeliveryDestination): CryptoNetwork | FiatNetwork {
  return 'crypto' in destination ? destination.crypto.network : (destination.fiat.network ?? 'WIRE')
}

/** Why a delivery failed. */
export interface DeliveryFailure {
  readonly code: 'REFUSED' | 'OPERATOR_FAILED' | 'OWN_ADDRESS' | 'CANCELLED'
  readonly detail: string
}

/** The events of a delivery. */
export type DeliveryEvent = 'claim' | 'accept' | 'settle' | 'settle_late' | 'fail' | 'give_up'

/**
 * The next state, by state and event.
 *
 * - `claim`: an executor claims it, or a webhook request is about to be sent; again when the claim has ended or the outcome
 *   of the request is unknown.
 * - `accept`: the executor accepted the webhook request; it will pay and report the result.
 * - `settle`: it was paid. `settle_late`: it was paid although it had been failed.
 * - `fail`: it was not paid and never will be: refused by the executor, failed by the operator, sent to an own address, or
 *   cancelled by the customer before it was handed out.
 * - `give_up`: the outcome of the requests stays unknown, and they are no longer retried.
 */
const STEPS: Readonly<Record<DeliveryStatus, Partial<Readonly<Record<DeliveryEvent, DeliveryStatus>>>>> = {
  WAITING: { claim: 'CLAIMED', fail: 'FAILED' },
  CLAIMED: { claim: 'CLAIMED', accept: 'SENT', settle: 'SETTLED', fail: 'FAILED', give_up: 'NEEDS_OPERATOR' },
  SENT: { settle: 'SETTLED', fail: 'FAILED' },
  NEEDS_OPERATOR: { settle: 'SETTLED', fail: 'FAILED' },
  FAILED: { settle_late: 'SETTLED' },
  SETTLED: {},
}

/** The state after an event; undefined when it is not possible in this state, or the state is of a newer version. */
export function stepAfter(status: DeliveryStatus, event: DeliveryEvent): DeliveryStatus | undefined {
  const steps: (typeof STEPS)[DeliveryStatus] | undefined = STEPS[status]
  return steps?.[event]
}
