/** Accounts by the time of their last change, in the order of creation. */
import type { Migration } from './migration.ts'

export const accountChanges: Migration = {
  name: '202611202115-account-changes',
  text: `
    -- For each account that was changed after its creation, one row for each level: the slice of 32^level milliseconds
    -- that its updated_at lies in. Accounts are never deleted, so no row is ever left without one; a foreign key would
    -- be looked up ten times for a change.
    create table account_changes (
      customer_id uuid not null,
      level smallint not null,
      slice bigint not null,
      created_at timestamptz(3) not null,
      account_id uuid not null,
      identity_id text not null,
      constraint account_changes_once primary key (customer_id, level, slice, created_at, account_id)
    );
    insert into account_changes
      select customer_id, level, (extract(epoch from updated_at) * 1000)::bigint >> (5 * level),
        created_at, id, identity_id
      from accounts cross join generate_series(0, 9) as level
      where updated_at > created_at;
    create index account_changes_of_identity
      on account_changes (customer_id, identity_id, level, slice, created_at nulls first, account_id);

    -- The others. The conditions mean the same, and the planner does not take the one for the other: an index for all
    -- identities can then not be replaced for the one of one identity.
    create index accounts_unchanged on accounts (customer_id, created_at, id nulls first)
      where updated_at = created_at;
    create index accounts_of_identity_unchanged on accounts (customer_id, identity_id, created_at, id nulls first)
      where updated_at <= created_at;
    drop index accounts_of_customer_by_change;
  `,
}
