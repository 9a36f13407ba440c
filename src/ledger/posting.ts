/**
 * What a posting is, and what a list of them does to balances. Pure.
 *
 * A posting moves one amount from the debited to the credited account, so the accounts of an asset always sum to zero.
 * Profiles are creditors of the service: a credit raises `available`, `in_transit` and `held`, a debit lowers them.
 * `receivable` is what a profile owes: a debit raises it, a credit lowers it.
 */

/** An amount in units of 10^-decimals of its asset. */
export type MinorUnits = bigint

export const PROFILE_BUCKETS = ['available', 'in_transit', 'held', 'receivable'] as const

/** Accounts of one profile in one asset. */
export type ProfileBucket = (typeof PROFILE_BUCKETS)[number]

/**
 * Accounts of the service in one asset: `external` is the money outside (custody, banks), `desk` the operator's own that
 * conversions run against, `unattributed` what arrived for no known profile, `fees` what was charged.
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
  /** The same for postings that belong together. */
  readonly groupId: string
  /** RFC 3339; absent: when it is written. */
  readonly effectiveAt?: string
}

/** What the balances of one profile in one asset change by. */
export type BalanceChange = {
  readonly profileId: string
  readonly asset: string
} & Readonly<Record<ProfileBucket, MinorUnits>>

/** The net changes, in the order in which their rows are locked: by profile, then asset. */
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
