/** Payments that leave the service, every attempt to make one, and what the operator has paused. */
import type { Migration } from './migration.ts'

export const deliveries: Migration = {
  name: '202611221530-deliveries',
  text: `
    create table deliveries (
      id uuid primary key,
      customer_id uuid not null,
      profile_id uuid not null,
      account_id uuid,
      -- What it is for; a return has a deposit, everything else an orchestration.
      orchestration_id uuid,
      deposit_id uuid,
      asset text not null,
      amount numeric(38,0) not null constraint deliveries_amount check (amount > 0),
      -- What the executor reported; part of no posting.
      fee numeric(38,0) constraint deliveries_fee check (fee >= 0),
      destination jsonb not null,
      -- The bucket of the profile that the amount goes back to when the delivery fails.
      fails_to text not null constraint deliveries_fails_to check (fails_to in ('available', 'held')),
      metadata jsonb not null,
      status text not null constraint deliveries_status
        check (status in ('WAITING', 'CLAIMED', 'SENT', 'SETTLED', 'FAILED', 'NEEDS_OPERATOR')),
      -- Fixed by the first attempt.
      channel text constraint deliveries_channel check (channel in ('manual', 'webhook')),
      -- Raised by every claim and every request; results name it.
      attempt integer not null default 0,
      executor text,
      -- When it may be handed out: again when a claim ends, or a request is repeated. Null: it is not handed out.
      next_attempt_at timestamptz,
      first_attempt_at timestamptz,
      -- Why the last look at a WAITING or CLAIMED one did not hand it out.
      waiting_for text constraint deliveries_waiting_for check (waiting_for in ('HOLD', 'PAUSED')),
      waiting_detail text,
      -- The operator decided that it leaves whatever the state of its account: then only a pause stops it.
      hold_released boolean not null,
      -- The bytes that every request of a webhook repeats.
      request_body text,
      -- The executor's name for the payment.
      reference text constraint deliveries_reference unique,
      -- Settled after it had failed.
      late boolean not null default false,
      fail_code text,
      fail_detail text,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      constraint deliveries_owner check ((orchestration_id is null) <> (deposit_id is null)),
      constraint deliveries_of_orchestration unique (orchestration_id),
      constraint deliveries_due check ((status in ('WAITING', 'CLAIMED')) = (next_attempt_at is not null)),
      constraint deliveries_settled check ((status = 'SETTLED') = (reference is not null))
    );
    create index deliveries_by_time on deliveries (created_at nulls first, id nulls first);
    create index deliveries_by_status on deliveries (status, created_at nulls first, id nulls first);
    create index deliveries_due_by_time on deliveries (next_attempt_at, id) where next_attempt_at is not null;
    -- For the metrics, which count what is not final.
    create index deliveries_not_final on deliveries (status, created_at) where status not in ('SETTLED', 'FAILED');
    create index deliveries_of_deposit on deliveries (deposit_id) where deposit_id is not null;

    create table delivery_attempts (
      delivery_id uuid not null references deliveries,
      attempt integer not null,
      -- What claimed it, or 'webhook'.
      executor text not null,
      started_at timestamptz(3) not null,
      ended_at timestamptz(3),
      outcome text not null constraint delivery_attempts_outcome
        check (outcome in ('STARTED', 'ACCEPTED', 'REFUSED', 'SETTLED', 'FAILED', 'UNKNOWN')),
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
