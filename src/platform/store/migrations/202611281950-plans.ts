/** Plans, which limit what customers and clients may use of the stream and the REST API. */
import type { Migration } from './migration.ts'

export const plans: Migration = {
  name: '202611281950-plans',
  text: `
    create table plans (
      name text primary key,
      -- Symbols. Null: all markets.
      markets text[],
      -- Channel types. Null: all channels.
      channels text[],
      -- Null in each of these: no bound.
      depth_max integer,
      interval_ms_min integer,
      connections_max integer,
      subscriptions_max integer,
      rest_rate_per_second integer,
      created_at timestamptz(3) not null default now()
    );
    insert into plans (name) values ('unlimited');

    alter table customers add column plan text not null default 'unlimited' references plans;
    -- Null: none of its own.
    alter table clients add column plan text references plans;
    -- For the check that a deleted plan has no customer and no client.
    create index customers_by_plan on customers (plan) where plan <> 'unlimited';
    create index clients_by_plan on clients (plan) where plan is not null;
  `,
}
