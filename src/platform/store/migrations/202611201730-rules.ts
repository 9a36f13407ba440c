/** Orchestration rules, and the deposit instructions for money at a bank. */
import type { Migration } from './migration.ts'

export const rules: Migration = {
  name: '202611201730-rules',
  text: `
    create table fiat_instructions (
      id uuid primary key,
      customer_id uuid not null references customers,
      profile_id uuid not null references profiles,
      network text not null,
      account_type text not null,
      -- Over all customers and networks: whoever reports a payment has nothing else to know its owner by.
      memo_id text not null constraint fiat_instructions_memo unique,
      created_at timestamptz(3) not null
    );

    create table rules (
      id uuid primary key,
      customer_id uuid not null references customers,
      ref_id text not null,
      nickname text,
      profile_id uuid not null references profiles,
      account_id uuid references accounts,
      identity_id text,
      status text not null,
      source_asset text not null,
      destination_asset text not null,
      -- As they are shown; each an object with one member.
      source jsonb not null,
      destination jsonb not null,
      -- What was made for the source when the rule became ACTIVE.
      deposit_address_id uuid constraint rules_deposit_address unique references deposit_addresses,
      fiat_instructions_id uuid constraint rules_fiat_instructions unique references fiat_instructions,
      reject_reason text,
      created_at timestamptz(3) not null,
      constraint rules_ref_id unique (customer_id, ref_id),
      constraint rules_status check (status in ('PENDING', 'ACTIVE', 'REJECTED', 'DELETED')),
      constraint rules_reject_reason check ((status = 'REJECTED') = (reject_reason is not null)),
      constraint rules_without_instructions check (
        status in ('ACTIVE', 'DELETED') or (deposit_address_id is null and fiat_instructions_id is null)
      )
    );
    create index rules_by_time on rules (created_at nulls first, id nulls first);
    create index rules_by_status on rules (status, created_at nulls first, id nulls first);
    create index rules_of_customer_by_time on rules (customer_id, created_at, id);
    create index rules_of_profile on rules (customer_id, profile_id, created_at nulls first, id);
    create index rules_of_status on rules (customer_id, status, created_at nulls first, id);
    create index rules_of_source on rules (customer_id, source_asset, created_at nulls first, id);
    create index rules_of_destination on rules (customer_id, destination_asset, created_at nulls first, id);
    create index rules_of_profile_and_status on rules (customer_id, profile_id, status, created_at, id nulls first);
    create index rules_of_source_and_status on rules (customer_id, source_asset, status, created_at, id nulls first);
    create index rules_of_destination_and_status
      on rules (customer_id, destination_asset, status, created_at, id nulls first);
    create index rules_of_assets on rules (customer_id, source_asset, destination_asset, created_at, id nulls first);
  `,
}
