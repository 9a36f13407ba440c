/** Parties of destinations, passed with each payment, and the registration in the question to the screening hook. */
import type { Migration } from './migration.ts'

export const destinationParties: Migration = {
  name: '202611281920-destination-parties',
  text: `
    alter table destinations
      -- Encrypted, and bound to this row.
      add column parties text;
    alter table movement_parties
      -- The destination from which the parties come, and to which they are bound. Null: they came with the movement.
      add column destination_id uuid;
    alter table screenings
      -- A payment's registered destination. Null: none.
      add column registration_id uuid;
  `,
}
