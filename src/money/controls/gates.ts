/**
 * Reads the gates: reasons why a profile's money must not be converted or sent now. A transaction reads them when it
 * starts, continues or cancels a movement, and when it hands out a delivery. For deliveries, they are also closed while
 * the store is not the confirmed one. Reading changes and locks no row, so a transaction that found the gates open may
 * still finish after they close.
 *
 * One statement reads the profile's own gates and the pauses. Every other area has one reader, which sends at most one
 * statement for all subjects, and none while its feature is off. All statements are sent together.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { BLOCKED_STATUSES, type ReviewedAccount, summaryStatus } from '../accounts/model.ts'
import { readDestinationGate, registrationIds } from '../destinations/gate.ts'
import type { DestinationPolicy } from '../destinations/standing.ts'
import { closedGates, type GateFinding, type GateSubject } from '../gates/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import { type LimitSettings, readLimitGate } from '../limits/gate.ts'
import { readScreening } from '../screening/ask.ts'
import type { ScreeningSettings } from '../screening/model.ts'
import { refuseOtherMode } from './deposit-mode.ts'
import { isStoreOther, type SeenPosition } from './store-identity.ts'

/** The amounts above which a movement waits for a person, by asset. An asset without one never waits. */
export type ReviewLimits = ReadonlyMap<string, MinorUnits>

/** The settings by which gates close. */
export interface GateSettings extends LimitSettings {
  /** The settings `review_above.deposits` and `review_above.payments`. */
  readonly reviewAbove: { readonly deposits: ReviewLimits; readonly payments: ReviewLimits }
  /** The setting `accounts.approval` is `required`. */
  readonly needsAccountApproval: boolean
  readonly destinations: DestinationPolicy
  /** The settings `screening.*`. Undefined while `screening.url` is empty. */
  readonly screening?: ScreeningSettings | undefined
  /** Where this process last saw the store. Closes the gate of deliveries while the store's log is behind. */
  readonly seenStore?: SeenPosition | undefined
}

/** Returns an area's findings for each subject, in the same order. Undefined: no subject needs them, none was read. */
type GateReader = <Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  settings: GateSettings,
) => Promise<Findings> | undefined

/** The closed gates of each subject, in subject order. */
type Findings = readonly (readonly GateFinding[])[]

/** Gates that are read before the conversion too. */
const TERMS_READERS: readonly GateReader[] = [readDestinationGate]

/** Gates that need the amount that leaves. Their subjects have one. */
const AMOUNT_READERS: readonly GateReader[] = [readLimitGate, readPaymentReview, readPaymentScreening]

/** Gates that hold a deposit when it is credited. Their subjects are deposits. */
const DEPOSIT_READERS: readonly GateReader[] = [readDepositReview, readScreening]

interface Paused {
  readonly assets: readonly string[]
  readonly networks: readonly string[]
  readonly pairs: readonly string[]
  readonly deliveries: boolean
  /** Whether the store is not the one confirmed by a person. False unless a delivery is among the subjects. */
  readonly restored: boolean
}

interface ProfileRow {
  readonly profile_id: string
  readonly customer_enabled: boolean
  readonly account: ReviewedAccount | null
  readonly owes: boolean
  readonly paused: Paused
  /** The kind of the store's deposits. Null: it has none. */
  readonly is_sandbox: boolean | null
}

/**
 * Returns each subject's closed gates, in the order of GATE_CODES. LIMIT, REVIEW and SCREENING are read for subjects
 * with an amount.
 */
export async function readGates<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  settings: GateSettings,
): Promise<Findings> {
  const [ofProfile, ...others] = await Promise.all([
    readProfileGates(
      transaction,
      subjects.map(({ profileId }) => profileId),
      subjects.some(({ isDelivery }) => isDelivery),
      settings,
    ),
    readTermsGates(transaction, subjects, settings),
    readAmountGates(transaction, subjects, settings),
  ])
  return joined(subjects, [subjects.map(ofProfile), ...others])
}

/** Only the gates that depend on a movement's terms, such as its destination, for subjects whose profile was read. */
export async function readTermsGates<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  settings: GateSettings,
): Promise<Findings> {
  return await readWith(TERMS_READERS, transaction, subjects, settings)
}

/** Only the gates that need the amount, for the transaction that has just learned it. */
export async function readAmountGates<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  settings: GateSettings,
): Promise<Findings> {
  const known = subjects.filter(({ amount }) => amount !== undefined)
  const read = await readWith(AMOUNT_READERS, transaction, known, settings)
  const found = new Map(read.map((findings, index) => [known[index], findings]))
  return subjects.map((subject) => found.get(subject) ?? [])
}

/** Only the gates that hold deposits, before they are credited. */
export async function readDepositGates<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  settings: GateSettings,
): Promise<Findings> {
  return await readWith(DEPOSIT_READERS, transaction, subjects, settings)
}

/**
 * Returns the gates of a subject with one of these profiles that depend on the profile, its customer and the pauses.
 * Throws 503 in a process whose `rest.sandbox` contradicts the deposits in the store: it moves nothing.
 *
 * @param areDeliveries whether a subject may be a delivery
 */
export async function readProfileGates<Tables>(
  transaction: Transaction<Tables>,
  ids: readonly string[],
  areDeliveries: boolean,
  {
    needsAccountApproval,
    seenStore,
    destinations,
  }: Pick<GateSettings, 'needsAccountApproval' | 'seenStore' | 'destinations'>,
): Promise<(subject: GateSubject) => readonly GateFinding[]> {
  const profileIds = [...new Set(ids)]
  if (profileIds.length === 0) return () => []
  const { rows } = await sql<ProfileRow>`
    select profiles.id as profile_id, customers.enabled as customer_enabled,
      case when accounts.id is not null then jsonb_build_object('review_status', accounts.review_status,
        'admin_disabled', accounts.admin_disabled, 'user_disabled', accounts.user_disabled) end as account,
      exists (
        select from balances where balances.profile_id = profiles.id and balances.receivable > 0
      ) as owes,
      jsonb_build_object('assets', paused_assets, 'networks', paused_networks, 'pairs', paused_pairs,
        'deliveries', deliveries_paused,
        'restored', case when ${areDeliveries}::boolean then ${isStoreOther(seenStore)} else false end) as paused,
      (select is_sandbox from deposit_mode) as is_sandbox
    from unnest(${profileIds}::uuid[]) as subjects (profile_id)
    join profiles on profiles.id = subjects.profile_id
    join customers on customers.id = profiles.customer_id
    left join accounts on accounts.profile_id = profiles.id
    join controls on controls.id = 1
  `.execute(transaction)
  assert(rows.length === profileIds.length, 'a gate was asked for an unknown profile')
  refuseOtherMode((rows[0] as ProfileRow).is_sandbox, destinations.isSandbox)
  const found = new Map(rows.map((row) => [row.profile_id, row]))
  return (subject) => {
    const row = found.get(subject.profileId) as ProfileRow
    return closedGates(subject, [...profileFindings(row, needsAccountApproval), ...pauseFindings(subject, row.paused)])
  }
}

function profileFindings(
  { customer_enabled, account, owes }: ProfileRow,
  needsAccountApproval: boolean,
): readonly GateFinding[] {
  const findings: GateFinding[] = []
  const add = (code: keyof typeof REFUSALS, detail: string) =>
    findings.push({ code, detail, refusal: { code: REFUSALS[code], detail } })
  if (!customer_enabled) add('CUSTOMER_DISABLED', 'the customer is disabled')
  const status = account === null ? undefined : summaryStatus(account)
  if (status !== undefined && BLOCKED_STATUSES.has(status)) {
    add('ACCOUNT_BLOCKED', `the profile’s account is ${status}`)
  }
  // Also while the account is disabled: a release from that does not approve it.
  if (needsAccountApproval && account?.review_status === 'PENDING') {
    add('ACCOUNT_NOT_APPROVED', 'the profile’s account is PENDING')
  }
  if (owes) add('RECEIVABLE', 'the profile owes money since a deposit was reversed')
  return findings
}

const REFUSALS = {
  CUSTOMER_DISABLED: 'disabled',
  ACCOUNT_BLOCKED: 'account_blocked',
  ACCOUNT_NOT_APPROVED: 'account_not_approved',
  RECEIVABLE: 'receivable',
} as const

function pauseFindings(subject: GateSubject, paused: Paused): readonly GateFinding[] {
  const detail = pauseOf(subject, paused)
  return detail === undefined ? [] : [{ code: 'PAUSED', detail, refusal: { code: 'paused', detail } }]
}

function pauseOf({ sourceAsset, asset, networks, isDelivery }: GateSubject, paused: Paused): string | undefined {
  if (isDelivery && paused.restored) return 'deliveries are paused since the store was restored or promoted'
  if (isDelivery && paused.deliveries) return 'deliveries are paused'
  const symbol = [sourceAsset, asset].find((each) => paused.assets.includes(each))
  if (symbol !== undefined) return `the asset ${symbol} is paused`
  const network = networks.find((name) => paused.networks.includes(name))
  if (network !== undefined) return `the network ${network} is paused`
  const pair = `${sourceAsset}/${asset}`
  return sourceAsset !== asset && paused.pairs.includes(pair) ? `the pair ${pair} is paused` : undefined
}

/** Payments with a larger amount than `review_above.payments` wait for a person. Sends no statement. */
function readPaymentReview<Tables>(
  _: Transaction<Tables>,
  subjects: readonly GateSubject[],
  { reviewAbove: { payments } }: GateSettings,
): Promise<Findings> | undefined {
  if (payments.size === 0) return undefined
  return reviewed(
    subjects.map((subject) => subject.isDelivery && isAbove(payments, subject)),
    'the amount is above review_above.payments',
  )
}

/** Asks about payments with their destinations' registrations. */
function readPaymentScreening<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  settings: GateSettings,
): Promise<Findings> | undefined {
  if (settings.screening === undefined || !subjects.some(({ isDelivery }) => isDelivery)) return undefined
  return registrationIds(transaction, subjects).then(
    async (ids) => (await readScreening(transaction, subjects, settings, ids)) ?? subjects.map(() => []),
  )
}

/** The same for deposits and `review_above.deposits`. */
function readDepositReview<Tables>(
  _: Transaction<Tables>,
  subjects: readonly GateSubject[],
  { reviewAbove: { deposits } }: GateSettings,
): Promise<Findings> | undefined {
  if (deposits.size === 0) return undefined
  return reviewed(
    subjects.map((subject) => isAbove(deposits, subject)),
    'the amount is above review_above.deposits',
  )
}

function isAbove(limits: ReviewLimits, { asset, amount = 0n }: GateSubject): boolean {
  const limit = limits.get(asset)
  return limit !== undefined && amount > limit
}

function reviewed(areAbove: readonly boolean[], detail: string): Promise<Findings> {
  return Promise.resolve(areAbove.map((isReviewed) => (isReviewed ? [{ code: 'REVIEW', detail } as const] : [])))
}

/** Sends all readers' statements together. */
async function readWith<Tables>(
  readers: readonly GateReader[],
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
  settings: GateSettings,
): Promise<Findings> {
  return joined(subjects, await Promise.all(readers.flatMap((read) => read(transaction, subjects, settings) ?? [])))
}

function joined(subjects: readonly GateSubject[], read: readonly Findings[]): Findings {
  return subjects.map((subject, index) =>
    closedGates(
      subject,
      read.flatMap((findings) => findings[index] ?? []),
    ),
  )
}
