/** Whether the deposits of this store are real, or for testing. */
import type { Migration } from './migration.ts'

export const sandbox: Migration = {
  name: '202611221540-sandbox',
  text: `
    -- No row before the first deposit. A store is never served with the other value of rest.sandbox afterwards.
    create table deposit_mode (
      id integer primary key constraint deposit_mode_one check (id = 1),
      is_sandbox boolean not null,
      since timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
  `,
}
