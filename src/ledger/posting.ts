/**
 * Postings, and the changes of balances that they cause. Pure.
 *
 * A posting moves one amount from the debited to the credited account, so the accounts of an asset always sum to zero.
 * Profiles are creditors of the service: a credit increases `available`, `in_transit` and `held`, a debit decreases them.
 * `receivable` is the amount that a profile owes: a debit increases it, a credit decreases it.
 */

/** An amount in units of 10^-decimals of its asset. */
export type MinorUnits = bigint

export const PROFILE_BUCKETS = ['available', 'in_transit', 'held', 'receivable'] as const

/** The accounts of one profile in one asset. */
export type ProfileBucket = (typeof PROFILE_BUCKETS)[number]

/**
 * The accounts of the service in one asset: `external` is the money outside (custody, banks), `desk` the operator's own
 * money, the counterparty of conversions, `unattributed` the deposits without a profile, `fees` the fees charged.
 */
export type ServiceBucket = 'external' | 'desk' | 'unattributed' | 'fees'

export type LedgerAccount =
  | { readonly bucket: ProfileBucket; readonly profileId: string }
  | { readonly bucket: ServiceBucket }

export interface Posting {
  readonly asset: string
  /** Above zero. */
  readonly amount: MinorUnits
  readonly debit: LedgerAccount
  readonly credit: LedgerAccount
  /** The id that postings of one movement share, such as that of the deposit or orchestration. */
  readonly groupId: string
  /** RFC 3339; absent: the time at which the posting is written. */
  readonly effectiveAt?: string
}

/** The change of each balance of one profile in one asset. */
export type BalanceChange = {
  readonly profileId: string
  readonly asset: string
} & Readonly<Record<ProfileBucket, MinorUnits>>

/** The net changes, by profile and asset. */
export function balanceChanges(postings: readonly Posting[]): readonly BalanceChange[] {
  const changes = new Map<string, BalanceChange & Record<ProfileBucket, MinorUnits>>()
  const add = (account: LedgerAccount, asset: string, amount: MinorUnits): void => {
    if (!('profileId' in account)) return
    const { profileId, bucket } = account
    const key = `${profileId}/${asset}`
    const change = changes.get(key) ?? { profileId, asset, available: 0n, in_transit: 0n, held: 0n, receivable: 0n }
    change[bucket] += bucket === 'receivable' ? -amount : amount
    changes.set(key, change)
  }
  for (const { debit, credit, asset, amount } of postings) {
    add(debit, asset, -amount)
    add(credit, asset, amount)
  }
  return [...changes.entries()].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, change]) => change)
}

/**
 * The postings, each credit to `available` followed by the repayment of what its profile owes in the asset, until nothing is
 * owed. A credit from the profile's own `receivable` gives a repayment back, and repays nothing.
 *
 * @param owed the profile's `receivable` before these postings
 */
export function withRepayments(
  postings: readonly Posting[],
  owed: (balance: Pick<BalanceChange, 'profileId' | 'asset'>) => MinorUnits,
): readonly Posting[] {
  const left = new Map(
    balanceChanges(postings).map((change) => [`${change.profileId}/${change.asset}`, owed(change) + change.receivable]),
  )
  return postings.flatMap((posting) => {
    const { asset, amount, debit, credit, groupId } = posting
    if (!('profileId' in credit) || credit.bucket !== 'available') return [posting]
    const { profileId } = credit
    if (debit.bucket === 'receivable' && debit.profileId === profileId) return [posting]
    const key = `${profileId}/${asset}`
    const owes = left.get(key) as MinorUnits
    const repaid = owes < amount ? owes : amount
    if (repaid <= 0n) return [posting]
    left.set(key, owes - repaid)
    return [posting, { asset, amount: repaid, debit: credit, credit: { bucket: 'receivable', profileId }, groupId }]
  })
}
