/**
 * The gates: reasons why a profile's money must not be converted or sent now. A transaction reads them when it starts,
 * continues or cancels an orchestration, and when it hands out a delivery. For deliveries, they are also closed while
 * the store is not the confirmed one. Reading changes and locks no row, so a transaction that found the gates open may
 * still finish after they close.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { BLOCKED_STATUSES, type ReviewedAccount, summaryStatus } from '../accounts/model.ts'
import { PAYMENT_REVIEW_DETAIL } from './review.ts'
import { isStoreOther } from './store-identity.ts'

/** A movement of a profile's money, for which gates are read. */
export interface GateSubject {
  readonly profileId: string
  readonly assets: readonly string[]
  /** The assets in a conversion. */
  readonly pair?: readonly [source: string, destination: string]
  /** Crypto and fiat networks on which the money arrived or leaves. */
  readonly networks: readonly string[]
  /** Whether it is a payment that leaves the service. */
  readonly isDelivery: boolean
  /** Whether its amount is above `review_above.payments`. */
  readonly needsReview?: boolean
  /** Whether the operator released it. Only a pause stops it then. */
  readonly isReleased?: boolean
}

export type GateCode = 'CUSTOMER_DISABLED' | 'ACCOUNT_BLOCKED' | 'RECEIVABLE' | 'REVIEW' | 'PAUSED'

/** A closed gate. The detail is for the operator and contains no amount. */
export interface GateFinding {
  readonly code: GateCode
  readonly detail: string
}

interface Paused {
  readonly assets: readonly string[]
  readonly networks: readonly string[]
  readonly pairs: readonly string[]
  readonly deliveries: boolean
  /** Whether the store is not the one confirmed by a person. False unless a delivery is among the subjects. */
  readonly restored: boolean
}

interface GateRow {
  readonly profile_id: string
  readonly customer_enabled: boolean
  readonly account: ReviewedAccount | null
  readonly owes: boolean
  readonly paused: Paused
}

/** Returns each subject's first closed gate, in the same order, or undefined when all are open. */
export async function readGates<Tables>(
  transaction: Transaction<Tables>,
  subjects: readonly GateSubject[],
): Promise<readonly (GateFinding | undefined)[]> {
  const findingOf = await gatesOf(
    transaction,
    subjects.map(({ profileId }) => profileId),
    subjects.some(({ isDelivery }) => isDelivery),
  )
  return subjects.map(findingOf)
}

/**
 * Returns the first closed gate of a subject with one of these profiles.
 *
 * @param areDeliveries whether a subject may be a delivery
 */
export async function gatesOf<Tables>(
  transaction: Transaction<Tables>,
  ids: readonly string[],
  areDeliveries: boolean,
): Promise<(subject: GateSubject) => GateFinding | undefined> {
  const profileIds = [...new Set(ids)]
  if (profileIds.length === 0) return () => undefined
  const { rows } = await sql<GateRow>`
    select profiles.id as profile_id, customers.enabled as customer_enabled,
      case when accounts.id is not null then jsonb_build_object('review_status', accounts.review_status,
        'admin_disabled', accounts.admin_disabled, 'user_disabled', accounts.user_disabled) end as account,
      exists (
        select from balances where balances.profile_id = profiles.id and balances.receivable > 0
      ) as owes,
      jsonb_build_object('assets', paused_assets, 'networks', paused_networks, 'pairs', paused_pairs,
        'deliveries', deliveries_paused,
        'restored', case when ${areDeliveries}::boolean then ${isStoreOther} else false end) as paused
    from unnest(${profileIds}::uuid[]) as subjects (profile_id)
    join profiles on profiles.id = subjects.profile_id
    join customers on customers.id = profiles.customer_id
    left join accounts on accounts.profile_id = profiles.id
    join controls on controls.id = 1
  `.execute(transaction)
  assert(rows.length === profileIds.length, 'a gate was asked for an unknown profile')
  const found = new Map(rows.map((row) => [row.profile_id, row]))
  return (subject) => findingOf(subject, found.get(subject.profileId) as GateRow)
}

function findingOf(
  subject: GateSubject,
  { customer_enabled, account, owes, paused }: GateRow,
): GateFinding | undefined {
  const held = subject.isReleased === true ? undefined : holdOf(subject, { customer_enabled, account, owes })
  if (held !== undefined) return held
  const detail = pauseOf(subject, paused)
  return detail === undefined ? undefined : { code: 'PAUSED', detail }
}

function holdOf(
  { needsReview = false }: GateSubject,
  { customer_enabled, account, owes }: Omit<GateRow, 'paused' | 'profile_id'>,
): GateFinding | undefined {
  if (!customer_enabled) return { code: 'CUSTOMER_DISABLED', detail: 'the customer is disabled' }
  const status = account === null ? undefined : summaryStatus(account)
  if (status !== undefined && BLOCKED_STATUSES.has(status)) {
    return { code: 'ACCOUNT_BLOCKED', detail: `the profile’s account is ${status}` }
  }
  if (owes) return { code: 'RECEIVABLE', detail: 'the profile owes money since a deposit was reversed' }
  return needsReview ? { code: 'REVIEW', detail: PAYMENT_REVIEW_DETAIL } : undefined
}

function pauseOf({ assets, pair, networks, isDelivery }: GateSubject, paused: Paused): string | undefined {
  if (isDelivery && paused.restored) return 'deliveries are paused since the store was restored or promoted'
  if (isDelivery && paused.deliveries) return 'deliveries are paused'
  const asset = assets.find((symbol) => paused.assets.includes(symbol))
  if (asset !== undefined) return `the asset ${asset} is paused`
  const network = networks.find((name) => paused.networks.includes(name))
  if (network !== undefined) return `the network ${network} is paused`
  const name = pair?.join('/')
  return name !== undefined && paused.pairs.includes(name) ? `the pair ${name} is paused` : undefined
}
