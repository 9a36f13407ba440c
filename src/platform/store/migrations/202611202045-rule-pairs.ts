/** Rules of a profile with an asset: the pairs of filters that had no index. */
import type { Migration } from './migration.ts'

export const rulePairs: Migration = {
  name: '202611202045-rule-pairs',
  text: `
    create index rules_of_profile_and_source on rules (customer_id, profile_id, source_asset, created_at, id nulls first);
    create index rules_of_profile_and_destination
      on rules (customer_id, profile_id, destination_asset, created_at, id nulls first);
  `,
}
