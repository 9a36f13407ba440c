/** Limits on what leaves a customer's profiles: the customers' own, and the movements counted. */
import type { Migration } from './migration.ts'

export const limits: Migration = {
  name: '202611281655-limits',
  text: `
    -- In place of the setting limits.defaults where scope, asset and window are equal.
    create table limit_overrides (
      customer_id uuid not null references customers,
      scope text not null constraint limit_overrides_scope check (scope in ('customer', 'destination')),
      asset text not null,
      "window" text not null constraint limit_overrides_window check ("window" in ('movement', 'day')),
      amount numeric(38) not null constraint limit_overrides_amount check (amount >= 0),
      primary key (customer_id, scope, asset, "window")
    );

    create table limit_uses (
      -- The orchestration, which may be inserted later in the same transaction.
      movement_id uuid primary key,
      customer_id uuid not null,
      asset text not null,
      destination text not null,
      amount numeric(38) not null,
      -- The hour in which it was counted.
      hour timestamptz(3) not null,
      -- Whether its money came back.
      returned boolean not null default false
    );
    create index limit_uses_by_hour on limit_uses (customer_id, asset, hour) include (destination, amount)
      where not returned;

    create index deliveries_limited on deliveries (customer_id) where waiting_for = 'LIMIT';
    create index orchestrations_limited on orchestrations (customer_id) where waiting_for = 'LIMIT';
  `,
}
