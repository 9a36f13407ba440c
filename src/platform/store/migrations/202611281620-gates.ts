/** Movements wait for all their closed gates, and a release opens the ones that it names. */
import type { Migration } from './migration.ts'

export const gates: Migration = {
  name: '202611281620-gates',
  text: `
    -- Not validated: every row satisfied the narrower constraint.
    alter table orchestrations
      drop constraint orchestrations_waiting_for,
      add constraint orchestrations_waiting_for check (waiting_for in ('PRICE', 'PEG', 'SLIPPAGE', 'DESK_LIMIT', 'HOLD',
        'APPROVAL', 'DESTINATION', 'LIMIT', 'SCREENING', 'PAUSED', 'OPERATOR')) not valid,
      -- The closed gates at the last look, each with code and detail. Null: none.
      add column gates jsonb,
      -- The gates that a release has opened for this movement.
      add column opened_gates text[] not null default '{}';

    alter table deliveries
      drop constraint deliveries_waiting_for,
      add constraint deliveries_waiting_for
        check (waiting_for in ('HOLD', 'APPROVAL', 'DESTINATION', 'LIMIT', 'SCREENING', 'PAUSED')) not valid,
      add column gates jsonb,
      add column opened_gates text[] not null default '{}',
      -- Only the release before writes and reads it.
      alter column hold_released set default false;
    -- A release opened every gate but the pause. So does the return of a deposit, which the operator decides.
    update deliveries set opened_gates = case
      when deposit_id is null then '{CUSTOMER_DISABLED,ACCOUNT_BLOCKED,RECEIVABLE,REVIEW}'::text[]
      else '{CUSTOMER_DISABLED,ACCOUNT_BLOCKED,ACCOUNT_NOT_APPROVED,RECEIVABLE,DESTINATION,LIMIT,REVIEW,OPERATOR_HOLD,SCREENING}'
    end
    where hold_released and status in ('WAITING', 'CLAIMED');

    alter table deposits
      -- The closed gates that hold it. Null: none.
      add column gates jsonb,
      add column opened_gates text[] not null default '{}';

    update deposits set gates = case when disposition = 'REVIEW'
      then jsonb_build_array(jsonb_build_object('code', 'REVIEW', 'detail', 'the amount is above review_above.deposits'))
      else jsonb_build_array(jsonb_build_object('code', 'OPERATOR_HOLD', 'detail', coalesce(reason, 'the operator holds it')))
    end
    where secondary_status = 'HELD';

    -- Movements on hold are tried again until their gates open. The nodes of the release before would drop this work, so
    -- it is due when they have been replaced.
    insert into orchestration_queue (orchestration_id, kind, next_attempt_at)
    select id, 'convert', clock_timestamp() + interval '1 hour' from orchestrations
    where waiting_for = 'HOLD' and step = 'convert'
    on conflict (orchestration_id) do nothing;
  `,
}
