/** Sizes of accounts are known without reading their values, so that a page can end at a number of bytes. */
import type { Migration } from './migration.ts'

export const accountSizes: Migration = {
  name: '202611220920-account-sizes',
  text: `
    -- The size of a compressed jsonb value says nothing about its text; of an uncompressed one it is close to it.
    alter table accounts alter column members set storage external;
    update accounts set members = members::text::jsonb where pg_column_compression(members) is not null;
  `,
}
