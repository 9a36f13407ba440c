/** Transfers and orchestrations of a customer by the time of their last change, as accounts have it. */
import type { Migration } from './migration.ts'

export const moneyByChange: Migration = {
  name: '202611232215-money-by-change',
  text: `
    create index transfers_of_customer_by_change on transfers (customer_id, updated_at);
    create index orchestrations_of_customer_by_change on orchestrations (customer_id, updated_at);
  `,
}
