/**
 * What the test knows about parties and movements, and which gates must be closed for one. It shares no code with the
 * product: it is the oracle.
 */
import type { Owner } from '../../../support/ledger.ts'

export type Gate =
  | 'CUSTOMER_DISABLED'
  | 'ACCOUNT_BLOCKED'
  | 'ACCOUNT_NOT_APPROVED'
  | 'RECEIVABLE'
  | 'DESTINATION'
  | 'LIMIT'
  | 'REVIEW'
  | 'SCREENING'
  | 'PAUSED'

export const RELEASABLE = ['ACCOUNT_BLOCKED', 'RECEIVABLE', 'LIMIT', 'REVIEW'] as const

/** A customer with an account, a second profile and one payee. Its flags change only between rounds. */
export interface Party extends Owner {
  readonly otherProfileId: string
  isEnabled: boolean
  isBlocked: boolean
  isApproved: boolean
  isOwing: boolean
  isPayeeUsable: boolean
}

export interface Movement {
  readonly id: string
  readonly party: Party
  readonly sourceAsset: 'USDC' | 'USDG'
  readonly asset: 'USDC' | 'USDG'
  /** Both assets have the same decimals and convert at par, without a fee. */
  readonly amount: bigint
  readonly isPayment: boolean
  /** Opened by releases that were answered. */
  readonly opened: Set<Gate>
  isAllowed: boolean
  /** Times that it was handed out. */
  handedOut: number
  isPaid: boolean
  isCancelled: boolean
  /** Its amount was known when it was requested, so it is counted from then on. */
  readonly isRequestedAsIs: boolean
}

/** What holds for all movements in a round. */
export interface Circumstances {
  pausedAssets: readonly string[]
  areDeliveriesPaused: boolean
  /** Payments above it are reviewed. */
  readonly reviewAbove: bigint
  /** Per customer and asset: the sum of a day, and one movement. */
  readonly limits: { readonly day: bigint; readonly movement: bigint }
}

/** The gates, LIMIT excepted, that must be closed for a movement before its conversion or as a payment. */
export function mustBeClosed(
  { party, sourceAsset, asset, amount, isPayment, opened, isAllowed, handedOut }: Movement,
  stage: 'convert' | 'deliver',
  { pausedAssets, areDeliveriesPaused, reviewAbove }: Circumstances,
): readonly Gate[] {
  const isDelivery = stage === 'deliver'
  const moved = isDelivery ? [asset] : [sourceAsset, asset]
  const closed: readonly (readonly [Gate, boolean])[] = [
    ['CUSTOMER_DISABLED', !party.isEnabled],
    ['ACCOUNT_BLOCKED', party.isBlocked],
    ['ACCOUNT_NOT_APPROVED', !party.isApproved],
    ['RECEIVABLE', party.isOwing],
    ['DESTINATION', isPayment && !party.isPayeeUsable],
    ['REVIEW', isDelivery && amount > reviewAbove && handedOut === 0],
    ['SCREENING', isDelivery && !isAllowed],
    ['PAUSED', moved.some((each) => pausedAssets.includes(each)) || (isDelivery && areDeliveriesPaused)],
  ]
  return closed.flatMap(([gate, isClosed]) => (isClosed && !opened.has(gate) ? [gate] : []))
}

/** The gates by which a request is refused. At the others the movement waits. */
export const REFUSING: Readonly<Partial<Record<Gate, readonly string[]>>> = {
  CUSTOMER_DISABLED: ['disabled'],
  ACCOUNT_BLOCKED: ['account_blocked'],
  ACCOUNT_NOT_APPROVED: ['account_not_approved'],
  RECEIVABLE: ['receivable'],
  DESTINATION: ['destination_not_registered'],
  PAUSED: ['paused'],
}
