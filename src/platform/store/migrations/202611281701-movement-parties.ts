/** The originator and beneficiary of deposits and orchestrations. */
import type { Migration } from './migration.ts'

export const movementParties: Migration = {
  name: '202611281701-movement-parties',
  text: `
    create table movement_parties (
      -- The deposit or the orchestration.
      movement_id uuid primary key,
      -- Encrypted, and bound to this row.
      parties text not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
  `,
}
