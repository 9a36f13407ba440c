/**
 * The reference of a bank payment is compared without blanks and in upper case. Stores may have several deposits of one such
 * reference: the oldest keeps the identity. The release before stores none that the index rejects.
 */
import type { Migration } from './migration.ts'

export const bankReferences: Migration = {
  name: '202611240130-bank-references',
  text: `
    -- Of another deposit's payment, from before references were compared without blanks and case.
    alter table deposits add column repeats_reference boolean not null default false;
    update deposits set repeats_reference = true from (
      select id, row_number() over (
        partition by network, upper(translate(bank_reference, E' \\t\\n\\r\\f', '') collate "C") order by created_at, id
      ) as number
      from deposits where bank_reference is not null
    ) as numbered where numbered.id = deposits.id and number > 1;
    create unique index deposits_bank_reference
      on deposits (network, upper(translate(bank_reference, E' \\t\\n\\r\\f', '') collate "C"))
      where bank_reference is not null and not repeats_reference;
    -- Payments that may be the same one although their references differ.
    create index deposits_bank_amount on deposits (network, asset, amount, occurred_at) where tx_hash is null;
  `,
}
