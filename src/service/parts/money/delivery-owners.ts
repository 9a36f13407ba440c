/**
 * The modules that create deliveries and are notified about their results in the same transaction, and the settings
 * by which the payments' gates close.
 */
import type { DeliveryOwners } from '../../../money/deliveries/owner.ts'
import { depositReturns } from '../../../money/deposits/returns.ts'
import { ORCHESTRATION_DELIVERIES } from '../../../money/orchestrations/delivery-results.ts'
import type { Config } from '../../config/settings.ts'
import type { Parts } from '../parts.ts'
import { gateSettings } from './settings.ts'

/**
 * @param current the current configuration, which a reload replaces
 * @param state has where this process last saw the store
 */
export function deliveryOwners(
  current: { readonly config: Config },
  state?: Pick<Parts['state'], 'seenStore'>,
): DeliveryOwners {
  return {
    orchestrations: ORCHESTRATION_DELIVERIES,
    deposits: depositReturns,
    gates: () => ({ ...gateSettings(current.config), seenStore: state?.seenStore }),
  }
}
