/**
 * The modules that create deliveries and are notified about their results in the same transaction, and the amounts
 * above which a payment waits for a person.
 */
import type { ReviewLimits } from '../../../money/controls/review.ts'
import type { DeliveryOwners } from '../../../money/deliveries/owner.ts'
import { depositReturns } from '../../../money/deposits/returns.ts'
import { ORCHESTRATION_DELIVERIES } from '../../../money/orchestrations/delivery-results.ts'
import { minorUnitsOf } from '../../config/asset-amounts.ts'
import type { Config } from '../../config/settings.ts'

/** @param current the current configuration, which a reload replaces */
export function deliveryOwners(current: { readonly config: Config }): DeliveryOwners {
  return {
    orchestrations: ORCHESTRATION_DELIVERIES,
    deposits: depositReturns,
    reviewAbove: () => paymentLimits(current.config),
  }
}

/** The setting `review_above.payments`, in minor units. */
export function paymentLimits(config: Config): ReviewLimits {
  return minorUnitsOf(config['review_above.payments'], config.assets)
}
