/** Which modules learn of the results of deliveries: those that deliveries are made for. */
import type { DeliveryOwners } from '../deliveries/owner.ts'
import { depositReturns } from '../deposits/returns.ts'
import { ORCHESTRATION_DELIVERIES } from '../orchestrations/delivery-results.ts'

export const DELIVERY_OWNERS: DeliveryOwners = { orchestrations: ORCHESTRATION_DELIVERIES, deposits: depositReturns }
