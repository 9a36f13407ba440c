/** What a person is shown after a login: the failed attempts with the name since the login before. */
import type { Migration } from './migration.ts'

export const failedLogins: Migration = {
  name: '202611232130-failed-logins',
  text: `
    alter table operator_sessions add column failed_logins jsonb;
  `,
}
