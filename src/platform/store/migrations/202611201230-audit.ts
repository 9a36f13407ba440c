/** The audit trail: who changed what, when. Rows are only ever added. */
import type { Migration } from './migration.ts'

export const audit: Migration = {
  name: '202611201230-audit',
  text: `
    create table audit (
      id bigint generated always as identity primary key,
      created_at timestamptz(3) not null default date_trunc('milliseconds', clock_timestamp()),
      actor text not null,
      action text not null,
      subject text not null,
      detail jsonb not null
    );
    create index audit_by_time on audit (created_at, id);
  `,
}
