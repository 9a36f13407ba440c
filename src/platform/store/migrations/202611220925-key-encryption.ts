/** Which key encrypts the signing keys and the pepper. */
import type { Migration } from './migration.ts'

export const keyEncryption: Migration = {
  name: '202611220925-key-encryption',
  text: `
    -- Null: they are stored as they are. A node encrypts a key that it makes only when this is set, so that nodes which
    -- do not have the encryption key yet can read it.
    alter table authority add column encryption_key_id text;
  `,
}
