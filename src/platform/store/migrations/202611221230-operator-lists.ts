/** The operator's filters of accounts over all customers. */
import type { Migration } from './migration.ts'

export const operatorLists: Migration = {
  name: '202611221230-operator-lists',
  text: `
    create index accounts_of_identity_of_all on accounts (identity_id, created_at nulls first, id nulls first);
    create index accounts_by_summary_status on accounts (
      (case when admin_disabled or user_disabled then 'DISABLED' else review_status end),
      created_at nulls first, id nulls first
    );
  `,
}
