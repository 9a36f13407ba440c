/** Deposits are corrected: earlier terms, the transfer that shows the present ones, and an orchestration per credit. */
import type { Migration } from './migration.ts'

export const depositCorrections: Migration = {
  name: '202611240010-deposit-corrections',
  text: `
    alter table deposits
      -- The oldest first: {at, before, reason}.
      add column corrections jsonb not null default '[]',
      -- The transfer with the present terms; null: the one with the id of the deposit.
      add column transfer_id uuid;
    alter table deposits alter column corrections set storage external;

    -- The number of corrections before the credit that started it. The release before starts none after a correction.
    alter table orchestrations add column deposit_revision integer not null default 0;
    create unique index orchestrations_of_deposit on orchestrations (deposit_id, deposit_revision)
      where deposit_id is not null;
    alter table orchestrations drop constraint orchestrations_deposit;
  `,
}
