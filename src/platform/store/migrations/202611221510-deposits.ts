/** Deposits, and every report of one by a source. */
import type { Migration } from './migration.ts'

export const deposits: Migration = {
  name: '202611221510-deposits',
  text: `
    create table deposits (
      id uuid primary key,
      -- Null while it belongs to no profile.
      customer_id uuid,
      profile_id uuid,
      account_id uuid,
      asset text not null,
      amount numeric(38,0) not null constraint deposits_amount check (amount > 0),
      status text not null constraint deposits_status check (status in ('PENDING', 'COMPLETED', 'FAILED')),
      secondary_status text
        constraint deposits_secondary_status check (secondary_status in ('HELD', 'REJECTED', 'REVERSED', 'RETURNED')),
      -- How a COMPLETED deposit was handled; one of the codes in deposits/dispositions.
      disposition text,
      -- A crypto network, or a fiat network.
      network text not null,
      -- Of a crypto deposit.
      address text,
      tx_hash text,
      tx_index integer,
      -- Of a fiat deposit: what the report said, as it said it.
      memo_id text,
      remittance text,
      bank_reference text,
      sender text,
      -- What it arrived at.
      deposit_address_id uuid,
      fiat_instructions_id uuid,
      rule_id uuid,
      orchestration_id uuid,
      -- Assigned while PENDING, to be credited without looking at rules.
      skips_rules boolean not null default false,
      -- Of a RETURNED one: the payment back, and the secondary status that a failure of it brings back.
      delivery_id uuid,
      returned_from text constraint deposits_returned_from check (returned_from in ('HELD', 'REJECTED')),
      confirmations integer,
      -- Of the last rejection, reversal or return.
      reason text,
      occurred_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      completed_at timestamptz(3),
      constraint deposits_disposition check ((status = 'COMPLETED') = (disposition is not null)),
      constraint deposits_owner check ((customer_id is null) = (profile_id is null))
    );
    -- One payment is one deposit, whoever reports it. A dropped payment may be mined again.
    create unique index deposits_payment on deposits (network, tx_hash, tx_index) where tx_hash is not null;
    create unique index deposits_bank_payment on deposits (network, bank_reference) where bank_reference is not null;
    create index deposits_by_time on deposits (created_at nulls first, id nulls first);
    create index deposits_of_customer_by_time on deposits (customer_id, created_at, id);
    create index deposits_not_final on deposits (created_at nulls first, id nulls first) where status = 'PENDING';
    create index deposits_unattributed on deposits (created_at nulls first, id nulls first) where profile_id is null;
    create index deposits_with_secondary_status on deposits (created_at nulls first, id nulls first)
      where secondary_status is not null;

    -- A source's own name for the payment, with what it reported last.
    create table deposit_sightings (
      source text not null,
      external_id text not null,
      deposit_id uuid not null references deposits,
      status text not null,
      confirmations integer,
      reports integer not null,
      first_reported_at timestamptz(3) not null,
      last_reported_at timestamptz(3) not null,
      primary key (source, external_id)
    );
    create index deposit_sightings_of_deposit on deposit_sightings (deposit_id);
  `,
}
