/** Payments that leave the service, every attempt to make one, and what the operator has paused. */
import type { Migration } from './migration.ts'

export const deliveries: Migration = {
  name: '202611221530-deliveries',
  text: `
    create table deliveries (
      id uuid primary key,
      customer_id uuid not null,
      profile_id uuid not null,
      -- What it is for; a return has a deposit, everything else an orchestration.
      orchestration_id uuid,
      deposit_id uuid,
      asset text not null,
      amount numeric(38,0) not null constraint deliveries_amount check (amount > 0),
      -- What the executor reported; part of no posting.
      fee numeric(38,0),
      destination jsonb not null,
      status text not null constraint deliveries_status
        check (status in ('WAITING', 'CLAIMED', 'SENT', 'SETTLED', 'FAILED', 'NEEDS_OPERATOR')),
      -- 'manual' or 'webhook': fixed by the first attempt.
      channel text,
      -- Raised by every claim and every request; results name it.
      attempt integer not null default 0,
      executor text,
      lease_until timestamptz,
      -- Of webhooks: when the next request is due, and when the first was sent.
      next_attempt_at timestamptz,
      first_sent_at timestamptz,
      -- The executor's name for the payment.
      reference text constraint deliveries_reference unique,
      late boolean not null default false,
      fail_code text,
      fail_detail text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      constraint deliveries_owner check ((orchestration_id is null) <> (deposit_id is null)),
      constraint deliveries_of_orchestration unique (orchestration_id)
    );
    create index deliveries_by_time on deliveries (created_at nulls first, id nulls first);
    create index deliveries_by_status on deliveries (status, created_at nulls first, id nulls first);
    create index deliveries_to_claim on deliveries (created_at, id) where status in ('WAITING', 'CLAIMED');
    create index deliveries_to_send on deliveries (next_attempt_at) where next_attempt_at is not null;
    create index deliveries_of_deposit on deliveries (deposit_id) where deposit_id is not null;

    create table delivery_attempts (
      delivery_id uuid not null references deliveries,
      attempt integer not null,
      executor text not null,
      started_at timestamptz(3) not null,
      ended_at timestamptz(3),
      -- What is known of it: CLAIMED, EXPIRED, ACCEPTED, REFUSED, SETTLED, FAILED, UNKNOWN.
      outcome text not null,
      detail text,
      primary key (delivery_id, attempt)
    );

    -- One row.
    create table controls (
      id integer primary key constraint controls_one check (id = 1),
      paused_assets text[] not null,
      paused_networks text[] not null,
      -- SOURCE/DESTINATION, such as USDC/USD.
      paused_pairs text[] not null,
      deliveries_paused boolean not null,
      updated_at timestamptz(3) not null
    );
    insert into controls values (1, '{}', '{}', '{}', false, date_trunc('milliseconds', clock_timestamp()));
  `,
}
