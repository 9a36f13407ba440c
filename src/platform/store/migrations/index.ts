/** All migrations; `migrate` applies them in the order of their names. A new one needs a file here and a line below. */
import { audit } from './202611201230-audit.ts'
import { auth } from './202611201300-auth.ts'
import { commitTimes } from './202611201400-commit-times.ts'
import { tokenLife } from './202611201620-token-life.ts'
import { auditFilters } from './202611201625-audit-filters.ts'
import { customerClocks } from './202611201700-customer-clocks.ts'
import { accounts } from './202611201701-accounts.ts'
import { depositAddresses } from './202611201720-deposit-addresses.ts'
import { rules } from './202611201730-rules.ts'
import { rulePairs } from './202611202045-rule-pairs.ts'
import { accountChanges } from './202611202115-account-changes.ts'
import { quotas } from './202611220900-quotas.ts'
import { directoryChanges } from './202611220910-directory-changes.ts'
import { accountSizes } from './202611220920-account-sizes.ts'
import { keyEncryption } from './202611220925-key-encryption.ts'
import { operatorLists } from './202611221230-operator-lists.ts'
import { fiatAccountTypes } from './202611221240-fiat-account-types.ts'
import { addressNetworks } from './202611221245-address-networks.ts'
import { ledger } from './202611221500-ledger.ts'
import { deposits } from './202611221510-deposits.ts'
import { orchestrations } from './202611221520-orchestrations.ts'
import { deliveries } from './202611221530-deliveries.ts'
import { sandbox } from './202611221540-sandbox.ts'
import { ruleIndexes } from './202611221845-rule-indexes.ts'
import { lighterDeposits } from './202611221920-lighter-deposits.ts'
import { fewerIndexes } from './202611222150-fewer-indexes.ts'
import { changesByIndex } from './202611222240-changes-by-index.ts'
import { publishMarkets } from './202611230050-publish-markets.ts'
import { receiptKeys } from './202611230200-receipt-keys.ts'
import { feedLeases } from './202611230400-feed-leases.ts'
import { operators } from './202611230900-operators.ts'
import { changeRequests } from './202611231000-change-requests.ts'
import { reviewNotes } from './202611231210-review-notes.ts'
import { operatorIssuers } from './202611231220-operator-issuers.ts'
import { customerSearch } from './202611231250-customer-search.ts'
import { failedLogins } from './202611232130-failed-logins.ts'
import { sessionPages } from './202611232150-session-pages.ts'
import { unchangedControls } from './202611232210-unchanged-controls.ts'
import { moneyByChange } from './202611232215-money-by-change.ts'
import { secretUses } from './202611232220-secret-uses.ts'
import { paidDestinations } from './202611240005-paid-destinations.ts'
import { depositCorrections } from './202611240010-deposit-corrections.ts'
import { bankReferences } from './202611240130-bank-references.ts'
import { ledgerEntries } from './202611240140-ledger-entries.ts'
import { storeIdentity } from './202611240145-store-identity.ts'
import { issuers } from './202611240150-issuers.ts'
import { requestedCredentials } from './202611240330-requested-credentials.ts'
import { verifiedSums } from './202611240340-verified-sums.ts'
import { chargedFees } from './202611240350-charged-fees.ts'
import { gates } from './202611281620-gates.ts'
import { settingDefaults } from './202611281630-setting-defaults.ts'
import { notices } from './202611281635-notices.ts'
import { destinations } from './202611281640-destinations.ts'
import { fiatInstructions } from './202611281650-fiat-instructions.ts'
import { limits } from './202611281655-limits.ts'
import { screenings } from './202611281700-screenings.ts'
import { movementParties } from './202611281701-movement-parties.ts'
import { destinationParties } from './202611281920-destination-parties.ts'
import { events } from './202611281930-events.ts'
import { webhookEndpoints } from './202611281940-webhook-endpoints.ts'
import { plans } from './202611281950-plans.ts'
import { lighterEvents } from './202611282155-lighter-events.ts'
import { candles } from './202611282200-candles.ts'
import { usage } from './202611282240-usage.ts'
import { eventsBySequence } from './202611290150-events-by-sequence.ts'
import { candleSources } from './202611290800-candle-sources.ts'
import { requestTokens } from './202611291420-request-tokens.ts'
import type { Migration } from './migration.ts'

export const MIGRATIONS: readonly Migration[] = [
  audit,
  auth,
  commitTimes,
  tokenLife,
  auditFilters,
  customerClocks,
  accounts,
  depositAddresses,
  rules,
  rulePairs,
  accountChanges,
  quotas,
  directoryChanges,
  accountSizes,
  keyEncryption,
  operatorLists,
  fiatAccountTypes,
  addressNetworks,
  ledger,
  deposits,
  orchestrations,
  deliveries,
  sandbox,
  ruleIndexes,
  lighterDeposits,
  fewerIndexes,
  changesByIndex,
  publishMarkets,
  receiptKeys,
  feedLeases,
  operators,
  changeRequests,
  reviewNotes,
  operatorIssuers,
  customerSearch,
  failedLogins,
  sessionPages,
  unchangedControls,
  moneyByChange,
  secretUses,
  paidDestinations,
  depositCorrections,
  bankReferences,
  ledgerEntries,
  storeIdentity,
  issuers,
  requestedCredentials,
  verifiedSums,
  chargedFees,
  gates,
  settingDefaults,
  notices,
  destinations,
  fiatInstructions,
  limits,
  screenings,
  movementParties,
  destinationParties,
  events,
  webhookEndpoints,
  plans,
  lighterEvents,
  candles,
  usage,
  eventsBySequence,
  candleSources,
  requestTokens,
]
