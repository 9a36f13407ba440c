/** The settings `review_above.*`: deposits and payments with larger amounts wait for a person. */
import type { MinorUnits } from '../ledger/posting.ts'

/** By asset. An asset without a limit never waits. */
export type ReviewLimits = ReadonlyMap<string, MinorUnits>

/** Why a payment waits, for the operator, without the amount. */
export const PAYMENT_REVIEW_DETAIL = 'the amount is above review_above.payments'

export function needsReview(limits: ReviewLimits, asset: string, amount: MinorUnits): boolean {
  const limit = limits.get(asset)
  return limit !== undefined && amount > limit
}
