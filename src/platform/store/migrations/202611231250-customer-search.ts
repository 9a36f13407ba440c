/** The search of customers by the beginning of their names. */
import type { Migration } from './migration.ts'

export const customerSearch: Migration = {
  name: '202611231250-customer-search',
  text: `
    create index customers_by_beginning on customers (lower(name) text_pattern_ops);
  `,
}
