/** The disposition codes: why a credited deposit is or is not converted. A COMPLETED deposit has exactly one. */

export const DISPOSITIONS = {
  ORCHESTRATED: 'it is converted and delivered by an orchestration',
  NO_RULE: 'no rule matches it, and its address has no `conversion_target_asset`',
  RULE_NOT_ACTIVE: 'its rule was not ACTIVE when it was credited',
  NETWORK_MISMATCH: 'it arrived on a different network than its rule’s',
  ASSET_MISMATCH: 'its asset is not its rule’s source asset',
  NOT_CONVERTIBLE: 'its asset cannot be converted into the requested one',
  BELOW_MINIMUM: 'its amount is below `orchestrations.minimums`',
  ACCOUNT_BLOCKED: 'the profile’s account was DISABLED, DENIED or ERROR',
  CUSTOMER_DISABLED: 'the customer was disabled',
  PAUSED: 'the operator had paused its asset, network or pair',
  RECEIVABLE: 'the profile owed money, which is repaid first',
  HELD: 'the operator holds it, and no rules have been applied yet',
  REVIEW:
    'its amount is above `review_above.deposits`: it is HELD, and no rules are applied, until the operator releases it',
  SCREENING: 'it is HELD until its screening allows it, and no rules are applied',
  ASSIGNED: 'the operator assigned it to a profile without applying rules',
  CORRECTED: 'the operator corrected it without applying rules',
  UNATTRIBUTED: 'it belongs to no profile yet',
} as const

export type Disposition = keyof typeof DISPOSITIONS
