/** What changed in the directory of customers and clients, in commit order, so that nodes read only what changed. */
import type { Migration } from './migration.ts'

export const directoryChanges: Migration = {
  name: '202611220910-directory-changes',
  text: `
    -- Its lock makes versions follow the order of commits, without gaps.
    create table directory_version (
      single boolean primary key default true check (single),
      version bigint not null
    );
    insert into directory_version (version) values (0);

    -- The latest changes only: a node that has read none of these reads everything.
    create table directory_changes (
      version bigint primary key,
      kind text not null,
      record_id text
    );

    -- Null in rows of earlier versions. The revocation of all tokens of a client replaces the rows that it covers.
    alter table revoked_tokens add column issued_at timestamptz(3);
  `,
}
