/** The API tokens with which changes were requested. */
import type { Migration } from './migration.ts'

export const requestTokens: Migration = {
  name: '202611291420-request-tokens',
  text: `
    -- Not a reference: a revoked token is deleted, and its requests stay. Null: it was requested in a session, with the
    -- single token, or by an earlier version.
    alter table change_requests add column token_id uuid;
  `,
}
