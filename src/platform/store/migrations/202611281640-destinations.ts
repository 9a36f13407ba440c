/**
 * Where a customer's money may leave to. Existing rules' destinations are registered as ACTIVE and unverified: the
 * rules continue, and an operator can review their destinations.
 */
import type { Migration } from './migration.ts'

export const destinations: Migration = {
  name: '202611281640-destinations',
  text: `
    create table destinations (
      id uuid primary key,
      kind text not null,
      customer_id uuid not null references customers,
      profile_id uuid references profiles,
      ref_id text not null,
      nickname text not null,
      network text not null,
      -- As it is shown, and in the notation in which addresses are compared. Null for a fiat account.
      address text,
      address_key text,
      -- Encrypted: the owner and the account. Null for an address, and for a fiat account from a rule.
      details text,
      -- The memos with which it may be paid. Empty text: without one.
      memos text[] not null,
      status text not null,
      usable_at timestamptz(3) not null,
      reject_reason text,
      -- Made from a rule by this migration: a fiat account's ref_id is the rule's text.
      from_rules boolean not null default false,
      -- Until an operator approves it.
      unverified boolean not null default false,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      constraint destinations_kind check (kind in ('CRYPTO', 'FIAT')),
      constraint destinations_status check (status in ('PENDING', 'ACTIVE', 'REJECTED', 'DELETED')),
      constraint destinations_reject_reason check ((status = 'REJECTED') = (reject_reason is not null)),
      constraint destinations_address check (
        (kind = 'CRYPTO') = (address is not null) and (kind = 'CRYPTO') = (address_key is not null)
      ),
      constraint destinations_ref_id unique (customer_id, kind, ref_id)
    );
    create unique index destinations_registered on destinations (customer_id, network, address_key)
      where kind = 'CRYPTO' and status <> 'DELETED';
    create index destinations_by_address on destinations (customer_id, network, address_key, created_at, id)
      where kind = 'CRYPTO';
    create index destinations_by_time on destinations (created_at nulls first, id nulls first);
    create index destinations_of_customer on destinations (customer_id, kind, created_at nulls first, id);

    insert into destinations (id, kind, customer_id, profile_id, ref_id, nickname, network, address, address_key, memos,
      status, usable_at, from_rules, unverified, created_at, updated_at)
    select gen_random_uuid(), 'CRYPTO', customer_id, profile_id, 'rule ' || id, coalesce(nickname, ref_id), network,
      address, address_key, array[''], 'ACTIVE', now, true, true, now, now
    from (
      select distinct on (rules.customer_id, network, address_key) rules.*, network, address, address_key,
        greatest(date_trunc('milliseconds', now()), last_created_at) as now
      from rules
      left join customer_clocks using (customer_id)
      cross join lateral (
        select destination #>> '{crypto,network}' as network, destination #>> '{crypto,address}' as address
      ) as place
      cross join lateral (
        select case
          when network in ('ETHEREUM', 'POLYGON_POS', 'BASE', 'ARBITRUM_ONE', 'AVALANCHE', 'BNB') then lower(address)
          when network in ('BITCOIN', 'LITECOIN') and address ~* '^(bc|ltc)1' then lower(address)
          when network = 'BITCOIN_CASH' then 'bitcoincash:' || regexp_replace(lower(address), '^bitcoincash:', '')
          else address
        end as address_key
      ) as comparison
      where rules.status in ('PENDING', 'ACTIVE') and address is not null
      order by rules.customer_id, network, address_key, rules.created_at, rules.id
    ) as places;

    insert into destinations (id, kind, customer_id, ref_id, nickname, network, memos, status, usable_at, from_rules,
      unverified, created_at, updated_at)
    select gen_random_uuid(), 'FIAT', customer_id, account, account, 'WIRE',
      array_agg(distinct coalesce(destination #>> '{fiat,memo}', '')), 'ACTIVE', now, true, true, now, now
    from (
      select rules.customer_id, destination, destination #>> '{fiat,fiat_account_id}' as account,
        greatest(date_trunc('milliseconds', now()), last_created_at) as now
      from rules left join customer_clocks using (customer_id)
      where rules.status in ('PENDING', 'ACTIVE') and destination ? 'fiat'
    ) as places
    group by customer_id, account, now;
  `,
}
