/** Changes that one operator has requested and a second one must confirm. */
import type { Migration } from './migration.ts'

export const changeRequests: Migration = {
  name: '202611231000-change-requests',
  text: `
    -- Rows are never deleted.
    create table change_requests (
      id uuid primary key,
      kind text not null,
      -- Method and pattern of the path, as in the table of calls.
      call text not null,
      params jsonb not null,
      body jsonb not null,
      subject text not null,
      requested_by text not null,
      status text not null,
      decided_by text,
      decided_at timestamptz(3),
      -- Null while a confirmed change may not have been carried out yet.
      carried_out_at timestamptz(3),
      -- Why it failed.
      detail text,
      expires_at timestamptz(3) not null,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp())
    );
    create index change_requests_by_time on change_requests (created_at, id);
    create index change_requests_by_status on change_requests (status, created_at, id);
    create index change_requests_by_subject on change_requests (subject, created_at, id);
    create unique index change_requests_pending on change_requests (call, subject) where status = 'PENDING';
  `,
}
