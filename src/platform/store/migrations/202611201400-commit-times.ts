/** How late the commits of each market have come: one row a market, written once a second while it moves. */
import type { Migration } from './migration.ts'

export const commitTimes: Migration = {
  name: '202611201400-commit-times',
  text: `
    create table commit_times (
      market text primary key,
      milliseconds bigint not null
    );
  `,
}
