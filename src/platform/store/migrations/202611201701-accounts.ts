/** Accounts and profiles of customers. */
import type { Migration } from './migration.ts'

export const accounts: Migration = {
  name: '202611201701-accounts',
  text: `
    -- A profile of an account has no nickname; one that the operator made has.
    create table profiles (
      id uuid primary key,
      customer_id uuid not null references customers,
      nickname text,
      type text not null,
      created_at timestamptz(3) not null,
      constraint profiles_nickname unique (customer_id, nickname)
    );
    create index profiles_by_time on profiles (customer_id, created_at, id);

    create table accounts (
      id uuid primary key,
      customer_id uuid not null references customers,
      identity_id text not null,
      ref_id text,
      description text,
      -- The text of a JSON object: numbers keep every digit.
      metadata text not null,
      members jsonb not null,
      type text not null,
      review_status text not null,
      admin_disabled boolean not null,
      user_disabled boolean not null,
      profile_id uuid constraint accounts_profile unique references profiles,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    );
    create index accounts_by_time on accounts (created_at nulls first, id nulls first);
    create index accounts_of_customer_by_time on accounts (customer_id, created_at, id);
    create index accounts_of_identity_by_time on accounts (customer_id, identity_id, created_at nulls first, id);
    create index accounts_of_customer_by_change on accounts (customer_id, updated_at);

    -- Every ref_id that an account has or had: none is ever free again.
    create table account_ref_ids (
      customer_id uuid not null references customers,
      ref_id text not null,
      account_id uuid not null references accounts deferrable initially deferred,
      constraint account_ref_ids_once primary key (customer_id, ref_id)
    );
  `,
}
