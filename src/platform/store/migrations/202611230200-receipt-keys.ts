/** The keys that sign receipts of books. */
import type { Migration } from './migration.ts'

export const receiptKeys: Migration = {
  name: '202611230200-receipt-keys',
  text: `
    -- Rows are never deleted: the public part proves receipts for as long as anyone keeps them.
    create table receipt_keys (
      id uuid primary key,
      public_jwk jsonb not null,
      -- Null once another key signs.
      private_jwk jsonb,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
    create unique index receipt_keys_signing on receipt_keys ((true)) where private_jwk is not null;
    create index receipt_keys_by_time on receipt_keys (created_at, id);
  `,
}
