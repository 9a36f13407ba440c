/** The service's owners of deliveries, by the default configuration. */
import { deliveryOwners } from '../../src/service/parts/money/delivery-owners.ts'
import { configOf } from './rest.ts'

export const DELIVERY_OWNERS = deliveryOwners({ config: configOf({}) })
