/** Whether a deposit for testing was ever made in this store. */
import type { Migration } from './migration.ts'

export const sandbox: Migration = {
  name: '202611221540-sandbox',
  text: `
    -- No row until the first; its money does not exist, so the store is never served without rest.sandbox again.
    create table sandbox_use (
      id integer primary key constraint sandbox_use_one check (id = 1),
      first_deposit_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
  `,
}
