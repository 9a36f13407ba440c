/** The ledger: balances of profiles, and the postings that they are the sums of. */
import type { Migration } from './migration.ts'

export const ledger: Migration = {
  name: '202611221500-ledger',
  text: `
    -- Assets that the ledger has amounts of. Amounts are counts of 10^-decimals, so decimals never change.
    create table ledger_assets (
      symbol text primary key,
      decimals integer not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );

    -- The present sum of all postings of a profile and asset, by bucket. Every posting that touches a bucket of a profile
    -- updates its row in the same transaction.
    create table balances (
      profile_id uuid not null references profiles,
      asset text not null references ledger_assets (symbol),
      available numeric(38,0) not null default 0 constraint balances_available check (available >= 0),
      -- Reserved by an orchestration, or by a delivery that is not settled.
      in_transit numeric(38,0) not null default 0 constraint balances_in_transit check (in_transit >= 0),
      held numeric(38,0) not null default 0 constraint balances_held check (held >= 0),
      -- What the profile owes: the part of a reversed deposit that it no longer had.
      receivable numeric(38,0) not null default 0 constraint balances_receivable check (receivable >= 0),
      version bigint not null default 0,
      -- 0 before the first.
      last_posting_id bigint not null default 0,
      primary key (profile_id, asset)
    );
    create index balances_with_receivable on balances (profile_id) where receivable > 0;

    -- Each row moves one amount from the debited to the credited account; rows are never changed or deleted.
    -- available, in_transit, held and receivable are accounts of a profile; the others are accounts of the service.
    -- There are no foreign keys: what rows name was read in the same transaction and is never deleted.
    create table postings (
      id bigint generated always as identity primary key,
      -- What belongs together: one credited deposit, one conversion, one delivery that was settled, and so on.
      group_id uuid not null,
      asset text not null,
      amount numeric(38,0) not null constraint postings_amount check (amount > 0),
      debit_bucket text not null,
      debit_profile_id uuid,
      credit_bucket text not null,
      credit_profile_id uuid,
      -- When it happened outside, where that is known to be earlier.
      effective_at timestamptz(3) not null,
      created_at timestamptz(3) not null,
      constraint postings_debit check (
        (debit_bucket in ('available', 'in_transit', 'held', 'receivable')) = (debit_profile_id is not null)
        and debit_bucket in
          ('available', 'in_transit', 'held', 'receivable', 'external', 'desk', 'unattributed', 'fees')
      ),
      constraint postings_credit check (
        (credit_bucket in ('available', 'in_transit', 'held', 'receivable')) = (credit_profile_id is not null)
        and credit_bucket in
          ('available', 'in_transit', 'held', 'receivable', 'external', 'desk', 'unattributed', 'fees')
      )
    );
    create index postings_of_group on postings (group_id);
    -- In the order of statements.
    create index postings_debited on postings (debit_profile_id, asset, created_at, id)
      where debit_profile_id is not null;
    create index postings_credited on postings (credit_profile_id, asset, created_at, id)
      where credit_profile_id is not null;
    create index postings_debited_of_service on postings (debit_bucket, asset, id)
      where debit_bucket in ('desk', 'unattributed', 'fees');
    create index postings_credited_of_service on postings (credit_bucket, asset, id)
      where credit_bucket in ('desk', 'unattributed', 'fees');

    create function reject_change_of_postings() returns trigger language plpgsql as $$
      begin
        raise exception 'postings are never changed or deleted: write a compensating posting';
      end
    $$;
    create trigger postings_are_final before update or delete or truncate on postings
      for each statement execute function reject_change_of_postings();

    -- Sums of the accounts of the service over all postings up to an id, the same for all of them, so that a sum reads
    -- only what came later.
    create table ledger_checkpoints (
      bucket text not null,
      asset text not null,
      last_posting_id bigint not null,
      debits numeric(50,0) not null,
      credits numeric(50,0) not null,
      primary key (bucket, asset)
    );

    -- What customers see of their money: deposits, withdrawals, conversions, internal transfers. A deposit's row has the
    -- id of the deposit, a withdrawal's the id of the delivery.
    create table transfers (
      id uuid primary key,
      customer_id uuid not null,
      profile_id uuid not null,
      account_id uuid,
      asset text not null,
      amount numeric(38,0) not null constraint transfers_amount check (amount > 0),
      fee numeric(38,0) not null default 0 constraint transfers_fee check (fee >= 0),
      direction text not null constraint transfers_direction check (direction in ('CREDIT', 'DEBIT')),
      type text not null constraint transfers_type check (type in (
        'CRYPTO_DEPOSIT', 'CRYPTO_WITHDRAWAL', 'WIRE_DEPOSIT', 'WIRE_WITHDRAWAL', 'CUBIX_DEPOSIT', 'CUBIX_WITHDRAWAL',
        'CONVERSION', 'INTERNAL_TRANSFER')),
      status text not null constraint transfers_status check (status in ('PENDING', 'COMPLETED', 'FAILED')),
      secondary_status text constraint transfers_secondary_status check (secondary_status in ('HELD', 'REVERSED', 'RETURNED')),
      disposition text,
      crypto_network text,
      crypto_tx_hash text,
      crypto_tx_index integer,
      confirmations integer,
      destination_address text,
      memo text,
      group_id uuid not null,
      metadata jsonb not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    );
    create index transfers_of_customer_by_time on transfers (customer_id, created_at, id);
    -- Those of another order than the first: see store/page about the indexes of lists.
    create index transfers_of_profile on transfers (customer_id, profile_id, created_at nulls first, id);
    create index transfers_of_asset on transfers (customer_id, asset, created_at nulls first, id);
    create index transfers_of_type on transfers (customer_id, type, created_at nulls first, id);
    create index transfers_of_status on transfers (customer_id, status, created_at nulls first, id);
    create index transfers_of_group on transfers (customer_id, group_id, created_at nulls first, id);
    -- So that their sizes are known without reading the values.
    alter table transfers alter column metadata set storage external;
  `,
}
