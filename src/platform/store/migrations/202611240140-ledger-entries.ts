/** What an operator books about the desk, the fees and the debts of profiles. */
import type { Migration } from './migration.ts'

export const ledgerEntries: Migration = {
  name: '202611240140-ledger-entries',
  text: `
    -- Rows are never changed or deleted: a reversal is a row of its own. The postings have the id of the row as their group.
    create table ledger_entries (
      id uuid primary key,
      kind text not null,
      -- [{asset, amount, direction}], amounts as canonical decimal text.
      legs jsonb not null,
      profile_id uuid,
      -- The name of the operator's own record; a reversal has none.
      reference text constraint ledger_entries_reference unique,
      reason text not null,
      -- When it happened outside; null: when it was posted.
      effective_at timestamptz(3),
      reverses uuid constraint ledger_entries_reverses unique references ledger_entries,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
      constraint ledger_entries_name check ((reference is null) = (reverses is not null))
    );
    -- See store/page about the order of nulls.
    create index ledger_entries_by_time on ledger_entries (created_at nulls first, id nulls first);
    create index ledger_entries_by_kind on ledger_entries (kind, created_at nulls first, id);
    create index ledger_entries_by_profile on ledger_entries (profile_id, created_at nulls first, id)
      where profile_id is not null;
  `,
}
