/**
 * Postings, and the balance changes they cause. Pure.
 *
 * A posting moves one amount from the debited to the credited account, so an asset's accounts always sum to zero.
 * Profiles are the service's creditors: a credit increases `available`, `in_transit` and `held`, a debit decreases
 * them. `receivable` is the amount that a profile owes: a debit increases it, a credit decreases it.
 */

/** An amount in units of 10^-decimals of its asset. */
export type MinorUnits = bigint

export const PROFILE_BUCKETS = ['available', 'in_transit', 'held', 'receivable'] as const

/** One profile's accounts in one asset. */
export type ProfileBucket = (typeof PROFILE_BUCKETS)[number]

/**
 * The service's accounts in one asset. `external`: the money outside (custody, banks). `desk`: the operator's own
 * money, the counterparty in conversions. `unattributed`: deposits without a profile. `fees`: the charged fees.
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
  /** One movement's postings share this id, such as the deposit's or orchestration's id. */
  readonly groupId: string
  /** RFC 3339. Absent: the time at which the posting is written. */
  readonly effectiveAt?: string
}

/** The change to each of a profile's balances in one asset. */
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
 * The postings with their repayments. Each credit to `available` is followed by a repayment of the profile's debt in
 * the asset, until nothing is owed. At the end, new debts are repaid from the money available then. A credit from the
 * profile's own `receivable` gives a repayment back, so it repays nothing.
 *
 * @param before the profile's balances before these postings
 */
export function withRepayments(
  postings: readonly Posting[],
  before: (change: BalanceChange) => Readonly<Record<'available' | 'receivable', MinorUnits>>,
): readonly Posting[] {
  const left = new Map(
    balanceChanges(postings).map((change) => {
      const { available, receivable } = before(change)
      const after = { available: available + change.available, receivable: receivable + change.receivable }
      return [`${change.profileId}/${change.asset}`, after]
    }),
  )
  const repayment = ({ asset, amount, groupId }: Posting, profileId: string, isCredit: boolean): readonly Posting[] => {
    const rest = left.get(`${profileId}/${asset}`) as Record<'available' | 'receivable', MinorUnits>
    const most = isCredit || amount < rest.available ? amount : rest.available
    const repaid = rest.receivable < most ? rest.receivable : most
    if (repaid <= 0n) return []
    rest.available -= repaid
    rest.receivable -= repaid
    const [debit, credit] = [{ bucket: 'available', profileId } as const, { bucket: 'receivable', profileId } as const]
    return [{ asset, amount: repaid, debit, credit, groupId }]
  }
  const credited = postings.flatMap((posting) => {
    const { debit, credit } = posting
    if (credit.bucket !== 'available' || isOwed(debit, credit.profileId)) return [posting]
    return [posting, ...repayment(posting, credit.profileId, true)]
  })
  const owed = postings.flatMap((posting) => {
    const { debit, credit } = posting
    if (debit.bucket !== 'receivable') return []
    const isGivenBack = credit.bucket === 'available' && isOwed(debit, credit.profileId)
    return isGivenBack ? [] : repayment(posting, debit.profileId, false)
  })
  return [...credited, ...owed]
}

function isOwed(account: LedgerAccount, profileId: string): boolean {
  return account.bucket === 'receivable' && account.profileId === profileId
}
