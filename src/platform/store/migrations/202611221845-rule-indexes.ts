/**
 * Drops the indexes of `rules` for pairs of filters: every rule was written to 17 indexes, and the number of a customer's
 * rules is bounded by its quota. The index for profile and source asset remains: a deposit finds its rule by it.
 */
import type { Migration } from './migration.ts'

export const ruleIndexes: Migration = {
  name: '202611221845-rule-indexes',
  text: `
    drop index rules_of_profile_and_status;
    drop index rules_of_source_and_status;
    drop index rules_of_destination_and_status;
    drop index rules_of_assets;
    drop index rules_of_profile_and_destination;
  `,
}
