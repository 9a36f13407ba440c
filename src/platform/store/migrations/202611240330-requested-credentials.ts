/** The credentials that requested changes issue. */
import type { Migration } from './migration.ts'

export const requestedCredentials: Migration = {
  name: '202611240330-requested-credentials',
  text: `
    -- SHA-256 of the token or setup link that whoever requested the change has; null: the change issues none.
    alter table change_requests add column credential_hash bytea;
  `,
}
