/** The service's delivery owners, with the default configuration. */
import { deliveryOwners } from '../../src/service/parts/money/delivery-owners.ts'
import { configOf } from './rest.ts'

export const DELIVERY_OWNERS = deliveryOwners({ config: configOf({}) })
