/** Deposit addresses, and what they are taken from: one counter for each key, and pools of imported addresses. */
import type { Migration } from './migration.ts'

export const depositAddresses: Migration = {
  name: '202611201720-deposit-addresses',
  text: `
    -- One row a key: it is known by the address at its index 0. An index that was given is never given again.
    create table address_keys (
      family text not null,
      first_address text not null,
      next_index integer not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
      primary key (family, first_address)
    );

    create table deposit_addresses (
      id uuid primary key,
      customer_id uuid not null references customers,
      profile_id uuid not null references profiles,
      account_id uuid references accounts,
      identity_id text,
      ref_id text,
      crypto_network text not null,
      family text not null,
      address text not null,
      conversion_target_asset text not null,
      metadata jsonb not null,
      created_at timestamptz(3) not null,
      -- Which key it belongs to and where; both null for one from a pool.
      key_first_address text,
      key_index integer,
      constraint deposit_addresses_ref_id unique (customer_id, ref_id),
      constraint deposit_addresses_address unique (family, address),
      constraint deposit_addresses_key check ((key_first_address is null) = (key_index is null)),
      foreign key (family, key_first_address) references address_keys (family, first_address)
    );
    create index deposit_addresses_by_time on deposit_addresses (customer_id, created_at, id);
    create index deposit_addresses_of_profile on deposit_addresses (customer_id, profile_id, created_at nulls first, id);
    create index deposit_addresses_of_account on deposit_addresses (customer_id, account_id, created_at nulls first, id);
    create index deposit_addresses_of_identity on deposit_addresses (customer_id, identity_id, created_at nulls first, id);
    create index deposit_addresses_of_profile_and_identity
      on deposit_addresses (customer_id, profile_id, identity_id, created_at, id nulls first);
    create index deposit_addresses_of_profile_and_account
      on deposit_addresses (customer_id, profile_id, account_id, created_at, id nulls first);
    create index deposit_addresses_of_account_and_identity
      on deposit_addresses (customer_id, account_id, identity_id, created_at, id nulls first);

    -- The order of import is the order of use. An address is used when it belongs to a deposit address, for ever.
    create table address_pool (
      id bigint generated always as identity primary key,
      family text not null,
      address text not null,
      deposit_address_id uuid constraint address_pool_user unique
        references deposit_addresses deferrable initially deferred,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
      constraint address_pool_address unique (family, address)
    );
    create index address_pool_free on address_pool (family, id) where deposit_address_id is null;
  `,
}
