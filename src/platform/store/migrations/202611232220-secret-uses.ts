/** When each secret of a client was last used. */
import type { Migration } from './migration.ts'

export const secretUses: Migration = {
  name: '202611232220-secret-uses',
  text: 'alter table client_secrets add column last_used_at timestamptz(3)',
}
