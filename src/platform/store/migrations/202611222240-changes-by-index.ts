/** Accounts by the time of their last change: one index instead of the table of slices. */
import type { Migration } from './migration.ts'

export const changesByIndex: Migration = {
  name: '202611222240-changes-by-index',
  text: `
    drop table account_changes;
    drop index accounts_unchanged, accounts_of_identity_unchanged;
    create index accounts_of_customer_by_change on accounts (customer_id, updated_at);
  `,
}
