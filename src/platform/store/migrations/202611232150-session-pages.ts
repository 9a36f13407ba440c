/** A session has a second secret, which its page sends: a cookie of a loopback address is sent to every port of the machine. */
import type { Migration } from './migration.ts'

export const sessionPages: Migration = {
  name: '202611232150-session-pages',
  text: `
    -- The hash of the second secret. Sessions of earlier versions have none, and have ended.
    alter table operator_sessions add column page_hash bytea;
  `,
}
