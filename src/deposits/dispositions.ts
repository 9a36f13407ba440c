/** How a deposit that was credited was handled: the one table of the codes. Pure. */

/** Every code with its meaning; a COMPLETED deposit has exactly one. */
export const DISPOSITIONS = {
  ORCHESTRATED: 'it is converted and delivered by an orchestration',
  NO_RULE: 'nothing asks for a conversion',
  RULE_NOT_ACTIVE: 'the rule that it was for was not ACTIVE when it was credited',
  NETWORK_MISMATCH: 'it came by another network than that of its rule',
  ASSET_MISMATCH: 'it is of another asset than its rule converts',
  NOT_CONVERTIBLE: 'nothing converts its asset into the one that is asked for',
  BELOW_MINIMUM: 'it is below `orchestrations.minimums`',
  ACCOUNT_BLOCKED: 'the account of the profile was DISABLED, DENIED or ERROR',
  CUSTOMER_DISABLED: 'the customer was disabled',
  PAUSED: 'the operator had paused its asset, network or pair',
  RECEIVABLE: 'the profile owed money, which is repaid first',
  HELD: 'the operator holds it, and rules have not been looked at',
  ASSIGNED: 'the operator assigned it to a profile without looking at rules',
  UNATTRIBUTED: 'it belongs to no profile yet',
} as const

export type Disposition = keyof typeof DISPOSITIONS
