/** What a comparison of the ledger has read before, so that the next one reads what is new. */
import type { Migration } from './migration.ts'

export const verifiedSums: Migration = {
  name: '202611240340-verified-sums',
  text: `
    -- One row: the sums are those of all postings up to posting_id. Begun again, they are of the next generation.
    create table ledger_position (
      id integer primary key constraint ledger_position_one check (id = 1),
      posting_id bigint not null,
      generation bigint not null,
      began_at timestamptz(3) not null
    );
    insert into ledger_position (id, posting_id, generation, began_at) values (1, 0, 0, clock_timestamp());

    -- Credits less debits by account. A row of an earlier generation counts as zero.
    create table ledger_sums (
      -- All zeros: of the service.
      profile_id uuid not null,
      asset text not null,
      bucket text not null,
      generation bigint not null,
      amount numeric(50,0) not null,
      primary key (profile_id, asset, bucket)
    );

    -- Postings after after_id up to last_id, with the digest of their rows when they were first read.
    create table ledger_segments (
      after_id bigint primary key,
      last_id bigint not null,
      digest bytea not null,
      -- The last time that they were read.
      read_at timestamptz(3) not null,
      -- The digest was another one then.
      differs boolean not null default false
    );
    create index ledger_segments_by_age on ledger_segments (read_at);
    create index ledger_segments_changed on ledger_segments (after_id) where differs;
  `,
}
