/** Fiat deposit instructions as records of their own, which customers list and create without a rule. */
import type { Migration } from './migration.ts'

export const fiatInstructions: Migration = {
  name: '202611281650-fiat-instructions',
  text: `
    alter table fiat_instructions
      add column account_id uuid references accounts,
      add column identity_id text,
      -- The customer's own id, only for instructions without a rule.
      add column ref_id text,
      add constraint fiat_instructions_ref_id unique (customer_id, ref_id);
    update fiat_instructions set account_id = accounts.id, identity_id = accounts.identity_id
    from accounts where accounts.profile_id = fiat_instructions.profile_id;
    update fiat_instructions set identity_id = rules.identity_id
    from rules where rules.fiat_instructions_id = fiat_instructions.id and rules.identity_id is not null;
    create index fiat_instructions_by_time on fiat_instructions (customer_id, created_at, id);
    create index fiat_instructions_of_profile
      on fiat_instructions (customer_id, profile_id, created_at nulls first, id);
  `,
}
