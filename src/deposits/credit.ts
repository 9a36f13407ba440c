/**
 * Decides how deposits are credited, by the rules and gates as this transaction sees them; makes the postings of a credit
 * and the orchestration that it starts, and selects those that this transaction completes. It writes nothing.
 */
import { newId } from '../base/ids.ts'
import { readGates } from '../controls/gates.ts'
import { needsReview } from '../controls/review.ts'
import { NO_CONVERSION } from '../deposit-instructions/deposit-addresses.ts'
import type { LedgerAccount, MinorUnits, Posting } from '../ledger/posting.ts'
import { type Completion, completable } from '../orchestrations/at-once.ts'
import type { ConvertSettings } from '../orchestrations/convert.ts'
import { networksOf } from '../orchestrations/model.ts'
import type { NewOrchestration } from '../orchestrations/start.ts'
import { lockRulesOfInstructions, lockRulesOfProfiles, type ProfileRules } from '../rules/matching.ts'
import type { Transaction } from '../store/db.ts'
import { type Arrived, type Owner, ownersOf } from './attribution.ts'
import type { Disposition } from './dispositions.ts'
import { type Match, type MatchSettings, match, type Wanted } from './match.ts'
import type { DepositSecondaryStatus } from './transitions.ts'

/** A deposit of a known profile that is about to be credited. */
export interface Creditable {
  readonly depositId: string
  readonly asset: string
  readonly amount: MinorUnits
  readonly network: string
  readonly occurredAt: string
  readonly owner: Owner
  readonly arrived: Arrived
  /** False: the operator assigned it without running rules. */
  readonly runsRules: boolean
  /** Its money goes to `held`, and no rule is read. */
  readonly isHeldBack: boolean
  /** The operator has released it, whatever its amount. */
  readonly isReviewed: boolean
}

/** How a deposit is credited. */
export interface Credit {
  readonly disposition: Disposition
  readonly bucket: 'available' | 'in_transit' | 'held'
  /** The rule that was found for it, also when that rule does not apply. */
  readonly ruleId: string | null
  readonly orchestrationId: string | null
  readonly wanted: Wanted | undefined
}

/** Returns the credit of each deposit, in the same order. The rules that were read stay locked until the transaction ends. */
export async function decideCredits<Tables>(
  transaction: Transaction<Tables>,
  deposits: readonly Creditable[],
  settings: MatchSettings,
): Promise<readonly Credit[]> {
  const isHeld = ({ isHeldBack, isReviewed, asset, amount }: Creditable) =>
    isHeldBack || (!isReviewed && needsReview(settings.reviewAbove, asset, amount))
  const looking = deposits.filter((deposit) => deposit.runsRules && !isHeld(deposit))
  const matches = await findMatches(transaction, looking, settings)
  const matched = looking.flatMap((deposit) => {
    const found = matches.get(deposit)
    return found?.kind === 'matched' ? [{ deposit, wanted: found.wanted }] : []
  })
  const findings = await readGates(
    transaction,
    matched.map(({ deposit, wanted }) => ({
      profileId: deposit.owner.profileId,
      assets: [...new Set([deposit.asset, wanted.destinationAsset])],
      ...(deposit.asset === wanted.destinationAsset ? {} : { pair: [deposit.asset, wanted.destinationAsset] as const }),
      networks: [deposit.network, ...('crypto' in wanted.destination ? [wanted.destination.crypto.network] : [])],
      isDelivery: false,
    })),
  )
  const closed = new Map(matched.map(({ deposit }, index) => [deposit, findings[index]?.code]))
  return deposits.map((deposit): Credit => {
    if (isHeld(deposit)) return { ...creditedOnly(deposit.isHeldBack ? 'HELD' : 'REVIEW', null), bucket: 'held' }
    if (!deposit.runsRules) return creditedOnly('ASSIGNED', null)
    const found = matches.get(deposit) as Match
    if (found.kind === 'credited') return creditedOnly(found.disposition, found.ruleId)
    const { wanted } = found
    const code = closed.get(deposit)
    if (code !== undefined) return creditedOnly(code, wanted.ruleId)
    return {
      disposition: 'ORCHESTRATED',
      bucket: 'in_transit',
      ruleId: wanted.ruleId,
      orchestrationId: newId(),
      wanted,
    }
  })
}

/** The secondary status after a credit: a deposit that waits for a review is HELD, as if the operator had held it. */
export function secondaryAfter(
  credit: Credit | undefined,
  before: DepositSecondaryStatus | null,
): DepositSecondaryStatus | null {
  return credit?.disposition === 'REVIEW' ? 'HELD' : before
}

/** A deposit, how it is credited, and the bucket that is debited. */
export interface CreditPosting {
  readonly deposit: Creditable
  readonly credit: Credit
  readonly from: 'external' | 'unattributed' | 'held'
}

export function creditPosting({ deposit, credit, from }: CreditPosting): Posting {
  const { depositId: groupId, asset, amount, occurredAt: effectiveAt, owner } = deposit
  const { profileId } = owner
  const debit: LedgerAccount = from === 'held' ? { bucket: 'held', profileId } : { bucket: from }
  // Only money that enters the service has the time of its payment; money that moves inside has the time of the posting.
  const since = from === 'external' ? { effectiveAt } : {}
  return { asset, amount, debit, credit: { bucket: credit.bucket, profileId }, groupId, ...since }
}

/** The orchestration that a credit starts; undefined: none. */
export function orchestrationOf(
  { depositId, asset, amount, owner, arrived }: Creditable,
  { orchestrationId, wanted }: Credit,
): Omit<NewOrchestration, 'createdAt'> | undefined {
  if (orchestrationId === null || wanted === undefined) return undefined
  return {
    id: orchestrationId,
    customerId: owner.customerId,
    profileId: owner.profileId,
    accountId: owner.accountId,
    identityId: wanted.identityId ?? arrived.address?.identityId ?? owner.identityId,
    refId: null,
    ruleId: wanted.ruleId,
    depositId,
    retryOf: null,
    sourceAsset: asset,
    sourceAmount: amount,
    destinationAsset: wanted.destinationAsset,
    source: wanted.source,
    destination: wanted.destination,
    metadata: arrived.address?.metadata ?? {},
  }
}

function creditedOnly(disposition: Disposition, ruleId: string | null): Credit {
  return { disposition, bucket: 'available', ruleId, orchestrationId: null, wanted: undefined }
}

async function findMatches<Tables>(
  transaction: Transaction<Tables>,
  deposits: readonly Creditable[],
  settings: MatchSettings,
): Promise<ReadonlyMap<Creditable, Match>> {
  const instructionsOf = ({ arrived }: Creditable) => arrived.address?.id ?? arrived.fiatInstructionsId
  const own = await lockRulesOfInstructions(transaction, [
    ...new Set(deposits.flatMap((deposit) => instructionsOf(deposit) ?? [])),
  ])
  const ownOf = (deposit: Creditable) => own.get(instructionsOf(deposit) ?? '')
  // Rules of the profile are read only for deposits whose address or memo has neither a rule nor a target asset.
  const others = deposits.filter((deposit) => {
    const target = deposit.arrived.address?.conversionTargetAsset ?? NO_CONVERSION
    return target === NO_CONVERSION && ownOf(deposit) === undefined
  })
  const wanted = new Map(
    others.map(({ owner, asset }) => [
      `${owner.profileId}/${asset}`,
      { customerId: owner.customerId, profileId: owner.profileId, asset },
    ]),
  )
  const rules = await lockRulesOfProfiles(transaction, [...wanted.values()])
  const ofProfile = new Map<string, ProfileRules | undefined>(
    [...wanted.keys()].map((key, index) => [key, rules[index]]),
  )
  return new Map(
    deposits.map((deposit) => {
      const { asset, amount, network, owner, arrived } = deposit
      const profileRules = ofProfile.get(`${owner.profileId}/${asset}`)
      const candidates = {
        own: ownOf(deposit),
        address: arrived.address,
        ofProfile: profileRules?.active,
        hasInactiveOfProfile: profileRules?.hasInactive ?? false,
      }
      return [deposit, match({ profileId: owner.profileId, asset, amount, network }, candidates, settings)]
    }),
  )
}

/**
 * The orchestrations that can be completed by the transaction that credits these deposits, under the conditions of
 * `orchestrations/at-once`.
 *
 * @param settings undefined: none, all are left to a worker
 */
export async function completionsOf<Tables>(
  transaction: Transaction<Tables>,
  credited: readonly { readonly deposit: Creditable; readonly credit: Credit }[],
  settings: ConvertSettings | undefined,
): Promise<readonly Completion[]> {
  if (settings === undefined) return []
  const starts = credited.flatMap(({ deposit, credit }) => {
    const start = orchestrationOf(deposit, credit)
    if (start === undefined || !('profile' in start.destination)) return []
    // The gates were read for the network that the deposit arrived on; its address may be of another one of the family.
    const isOpen = networksOf(start.source, start.destination).every((network) => network === deposit.network)
    return isOpen ? [{ ...start, profile: start.destination.profile.profile_id }] : []
  })
  const others = starts.filter(({ profile, profileId }) => profile !== profileId)
  const owners = await ownersOf(
    transaction,
    others.map(({ profile }) => profile),
  )
  return completable(
    starts.map(({ profile, ...start }) => ({
      ...start,
      destinationAccountId: profile === start.profileId ? start.accountId : (owners.get(profile)?.accountId ?? null),
    })),
    settings,
  )
}
