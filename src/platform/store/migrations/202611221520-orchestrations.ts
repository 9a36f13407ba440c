/** Orchestrations, the work that is due on them, and how each conversion came to its price. */
import type { Migration } from './migration.ts'

export const orchestrations: Migration = {
  name: '202611221520-orchestrations',
  text: `
    create table orchestrations (
      id uuid primary key,
      customer_id uuid not null,
      profile_id uuid not null,
      identity_id text,
      account_id uuid,
      -- Of one that the customer asked for.
      ref_id text,
      rule_id uuid,
      deposit_id uuid,
      retry_of uuid,
      source_asset text not null,
      source_amount numeric(38,0) not null constraint orchestrations_source_amount check (source_amount > 0),
      destination_asset text not null,
      -- What leaves; null until it is converted.
      destination_amount numeric(38,0),
      fee_amount numeric(38,0),
      converted_amount numeric(38,0),
      -- Destination asset for one of the source asset, decimal text; null until it is converted.
      price text,
      -- 'par', or the symbol of the market.
      price_source text,
      status text not null constraint orchestrations_status check (status in ('PROCESSING', 'COMPLETED', 'FAILED')),
      -- What a PROCESSING one does next.
      step text constraint orchestrations_step check (step in ('convert', 'deliver')),
      waiting_for text constraint orchestrations_waiting_for
        check (waiting_for in ('PRICE', 'PEG', 'SLIPPAGE', 'DESK_LIMIT', 'HOLD', 'PAUSED', 'OPERATOR')),
      -- Why, in words for the operator.
      waiting_detail text,
      waiting_since timestamptz(3),
      -- When the conversion is given up; moved on by the time spent waiting for HOLD or PAUSED.
      expires_at timestamptz(3) not null,
      fail_code text,
      fail_detail text,
      source jsonb not null,
      destination jsonb not null,
      source_transfer_id uuid,
      -- Of the delivery, or of the credit to the destination profile.
      destination_transfer_id uuid,
      metadata jsonb not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      constraint orchestrations_ref_id unique (customer_id, ref_id),
      constraint orchestrations_deposit unique (deposit_id),
      constraint orchestrations_retry unique (retry_of),
      constraint orchestrations_final check ((status = 'PROCESSING') = (step is not null)),
      constraint orchestrations_failed check ((status = 'FAILED') = (fail_code is not null)),
      constraint orchestrations_waiting check ((waiting_for is null) = (waiting_since is null))
    );
    create index orchestrations_by_time on orchestrations (created_at nulls first, id nulls first);
    create index orchestrations_of_customer_by_time on orchestrations (customer_id, created_at, id);
    create index orchestrations_of_status on orchestrations (customer_id, status, created_at nulls first, id);
    create index orchestrations_of_rule on orchestrations (customer_id, rule_id, created_at nulls first, id);
    create index orchestrations_of_profile on orchestrations (customer_id, profile_id, created_at nulls first, id);
    -- The operator's: over all customers.
    create index orchestrations_of_status_of_all on orchestrations (status, created_at nulls first, id);
    create index orchestrations_of_wait on orchestrations (waiting_for, created_at nulls first, id)
      where waiting_for is not null;
    create index orchestrations_waiting_since on orchestrations (waiting_since) where waiting_for is not null;

    -- A row only while something is due, so history never slows a claim.
    create table orchestration_queue (
      orchestration_id uuid primary key,
      -- A worker leaves kinds that it does not know.
      kind text not null,
      -- When it is due; of a claimed row, when the claim ends.
      next_attempt_at timestamptz not null,
      -- Raised by every claim: a worker whose claim ended finds another number and changes nothing.
      attempt bigint not null default 0
    );
    create index orchestration_queue_due on orchestration_queue (next_attempt_at);

    -- How a conversion came to its price: at par, or by walking the levels of the book of a market.
    create table conversions (
      orchestration_id uuid primary key,
      kind text not null constraint conversions_kind check (kind in ('par', 'market')),
      source_asset text not null,
      -- Taken from the source, the fee not included.
      source_amount numeric(38,0) not null,
      destination_asset text not null,
      destination_amount numeric(38,0) not null,
      market text,
      -- Which side of the book was taken: of a market conversion.
      side text constraint conversions_side check (side in ('bids', 'asks')),
      -- Amount of the base asset that was taken from the book, as a decimal: no other setting decides what it means.
      base_amount numeric(60,18),
      -- The book and the settings that the price follows from; what conversions/explain recomputes.
      evidence jsonb not null,
      created_at timestamptz not null
    );
    create index conversions_of_market on conversions (market, created_at) where market is not null;
  `,
}
