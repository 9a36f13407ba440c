/** The markets that a client may publish. */
import type { Migration } from './migration.ts'

export const publishMarkets: Migration = {
  name: '202611230050-publish-markets',
  text: `
    alter table clients add column publish_markets text[] not null default '{}';
  `,
}
