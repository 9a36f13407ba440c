/** How much each customer has created, and how each address pool is shared since its last import. */
import type { Migration } from './migration.ts'

export const quotas: Migration = {
  name: '202611220900-quotas',
  text: `
    -- Every creation locks this row, so counting in it costs no statement and no lock of its own. Records are never
    -- removed, so the totals only grow. A process of the version before goes on writing last_created_at alone: what it
    -- creates after this migration is not counted.
    alter table customer_clocks
      add column accounts integer not null default 0,
      add column addresses integer not null default 0,
      add column rules integer not null default 0,
      -- Creations that the customer itself asked for on this UTC day of the store's clock; null before the first.
      add column creations_day date,
      add column creations_today integer not null default 0;

    -- The lock of the statement above has waited for every creation under way and holds up the next ones.
    insert into customer_clocks (customer_id, last_created_at, accounts, addresses, rules)
      select customer_id, max(last_created_at), sum(accounts), sum(addresses), sum(rules)
      from (
        select customer_id, max(created_at) as last_created_at, count(*) as accounts, 0 as addresses, 0 as rules
          from accounts group by customer_id
        union all
        select customer_id, max(created_at), 0, count(*), 0 from deposit_addresses group by customer_id
        union all
        select customer_id, max(created_at), 0, 0, count(*) from rules group by customer_id
      ) as records
      group by customer_id
      on conflict (customer_id) do update
        set accounts = excluded.accounts, addresses = excluded.addresses, rules = excluded.rules;

    -- One row for each pool that something was imported into: how often, and how many addresses were free after the
    -- last import.
    create table address_pool_imports (
      family text primary key,
      imports integer not null,
      free_after_import integer not null
    );
    insert into address_pool_imports (family, imports, free_after_import)
      select family, 1, count(*) filter (where deposit_address_id is null) from address_pool group by family;

    -- How many addresses a customer has received from a pool since the import with this number.
    create table address_pool_shares (
      customer_id uuid not null,
      family text not null,
      import_number integer not null,
      received integer not null,
      primary key (customer_id, family)
    );
  `,
}
