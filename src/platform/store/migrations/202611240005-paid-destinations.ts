/** Finds whether a customer's payment to a destination was settled before. */
import type { Migration } from './migration.ts'

export const paidDestinations: Migration = {
  name: '202611240005-paid-destinations',
  // A hash, because a destination can be longer than what an index may hold.
  text: `
    create index deliveries_paid_destinations on deliveries (customer_id, md5(destination::text))
      where status = 'SETTLED'
  `,
}
