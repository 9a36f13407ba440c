/** The filter of deposit addresses by crypto network. */
import type { Migration } from './migration.ts'

export const addressNetworks: Migration = {
  name: '202611221245-address-networks',
  text: `
    create index deposit_addresses_of_network
      on deposit_addresses (customer_id, crypto_network, created_at nulls first, id);
  `,
}
