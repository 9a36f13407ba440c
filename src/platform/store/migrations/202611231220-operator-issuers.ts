/** Whose subject an operator's is: subjects are unique within one issuer only. */
import type { Migration } from './migration.ts'

export const operatorIssuers: Migration = {
  name: '202611231220-operator-issuers',
  text: `
    -- The outside issuer at which the operator signs in; null: with a password, or not at all.
    alter table operators add column issuer text;
    alter table operators
      add constraint operators_identity unique (issuer, issuer_subject),
      add constraint operators_issuer_of_subject check ((issuer is null) = (issuer_subject is null));
  `,
}
