/** Which process leads each feed group, so that one process at a time publishes its markets. */
import type { Migration } from './migration.ts'

export const feedLeases: Migration = {
  name: '202611230400-feed-leases',
  text: `
    -- Rows are never deleted: the epoch of a group only grows.
    create table feed_leases (
      feed_group text primary key,
      -- One more with each holder; written as 8 hexadecimal digits elsewhere.
      epoch bigint not null check (epoch between 1 and 4294967295),
      -- Made by the process for itself when it starts; null once released.
      holder uuid,
      -- For the operator.
      holder_name text not null,
      -- By the clock of the database.
      expires_at timestamptz(3) not null,
      taken_at timestamptz(3) not null
    );
  `,
}
