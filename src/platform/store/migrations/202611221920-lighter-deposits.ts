/** Less is kept up for each deposit: no check of what cannot fail, and no entries of indexes for what is not there. */
import type { Migration } from './migration.ts'

export const lighterDeposits: Migration = {
  name: '202611221920-lighter-deposits',
  text: `
    -- A sighting is written in the transaction that locked or made its deposit, and deposits are never deleted. A check of
    -- the key reads with a plan that a session makes once: before the first deposits, that was to read all of them.
    alter table deposit_sightings drop constraint deposit_sightings_deposit_id_fkey;

    alter table orchestrations drop constraint orchestrations_ref_id, drop constraint orchestrations_retry;
    create unique index orchestrations_ref_id on orchestrations (customer_id, ref_id) where ref_id is not null;
    create unique index orchestrations_retry on orchestrations (retry_of) where retry_of is not null;
  `,
}
