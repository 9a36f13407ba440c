/** The modules that create deliveries, which are notified of their results in the same transaction. */
import type { DeliveryOwners } from '../deliveries/owner.ts'
import { depositReturns } from '../deposits/returns.ts'
import { ORCHESTRATION_DELIVERIES } from '../orchestrations/delivery-results.ts'

export const DELIVERY_OWNERS: DeliveryOwners = { orchestrations: ORCHESTRATION_DELIVERIES, deposits: depositReturns }
