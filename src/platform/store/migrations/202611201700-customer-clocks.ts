/** When each customer's newest record was made: what is made next is not earlier. */
import type { Migration } from './migration.ts'

export const customerClocks: Migration = {
  name: '202611201700-customer-clocks',
  text: `
    create table customer_clocks (
      customer_id uuid primary key,
      last_created_at timestamptz(3) not null
    );
  `,
}
