/**
 * What a delivery is: one payment that leaves the service, and how it goes from state to state. Pure.
 *
 * A delivery is born WAITING, with its amount in `in_transit` of the profile. STEPS is all that can happen to it. It
 * fails by itself only when the executor refuses it in so many words: an unknown outcome waits for the operator. SETTLED
 * is final; FAILED too, but for a payment that turns out to have been made after all.
 */
import type { FiatNetwork } from '../contract/assets.ts'
import type { CryptoNetwork } from '../contract/crypto-networks.ts'
import type { MinorUnits } from '../ledger/posting.ts'

export const DELIVERY_STATUSES = ['WAITING', 'CLAIMED', 'SENT', 'SETTLED', 'FAILED', 'NEEDS_OPERATOR'] as const

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** `manual`: executors claim it and report its result; `webhook`: the service sends it to `deliveries.webhook_url`. */
export type DeliveryChannel = 'manual' | 'webhook'

/** Why a delivery is not handed out: the operator has to release something, or has paused something. */
export type DeliveryWait = 'HOLD' | 'PAUSED'

/** Where a payment goes: exactly one member. */
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

/** What a delivery is for: an orchestration, or the return of a deposit. */
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
  /** The bucket of the profile that the amount goes back to when the delivery fails. */
  readonly failsTo: 'available' | 'held'
  readonly status: DeliveryStatus
  /** Raised by every claim and every request. */
  readonly attempt: number
  /** The executor's name for the payment: of SETTLED ones. */
  readonly reference: string | null
  /** Settled after it had failed. */
  readonly late: boolean
}

/** The network that a payment leaves by. */
export function networkOf(destination: DeliveryDestination): CryptoNetwork | FiatNetwork {
  return 'crypto' in destination ? destination.crypto.network : (destination.fiat.network ?? 'WIRE')
}

/** Why a delivery failed. */
export interface DeliveryFailure {
  /** REFUSED, OPERATOR_FAILED, OWN_ADDRESS. */
  readonly code: 'REFUSED' | 'OPERATOR_FAILED' | 'OWN_ADDRESS'
  readonly detail: string
}

/** What can happen to a delivery. */
export type DeliveryEvent = 'claim' | 'accept' | 'settle' | 'settle_late' | 'fail' | 'give_up'

/**
 * From each state, by each event, to the next.
 *
 * - `claim`: an executor claims it, or a request is about to be sent; again when the claim has ended or the outcome of
 *   the request is unknown.
 * - `accept`: the webhook was handed over: the executor will pay, and reports the result itself.
 * - `settle`: it was paid. `settle_late`: it was, and had been given up as failed.
 * - `fail`: it was not paid and will not be, by the executor's refusal or the operator's word.
 * - `give_up`: the outcome of the requests stays unknown, and they are no longer repeated.
 */
const STEPS: Readonly<Record<DeliveryStatus, Partial<Readonly<Record<DeliveryEvent, DeliveryStatus>>>>> = {
  WAITING: { claim: 'CLAIMED', fail: 'FAILED' },
  CLAIMED: { claim: 'CLAIMED', accept: 'SENT', settle: 'SETTLED', fail: 'FAILED', give_up: 'NEEDS_OPERATOR' },
  SENT: { settle: 'SETTLED', fail: 'FAILED' },
  NEEDS_OPERATOR: { settle: 'SETTLED', fail: 'FAILED' },
  FAILED: { settle_late: 'SETTLED' },
  SETTLED: {},
}

/** The state that an event leads to; undefined: it cannot happen in this state, or the state is of a newer version. */
export function stepAfter(status: DeliveryStatus, event: DeliveryEvent): DeliveryStatus | undefined {
  const steps: (typeof STEPS)[DeliveryStatus] | undefined = STEPS[status]
  return steps?.[event]
}
