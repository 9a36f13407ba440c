/**
 * What becomes of deposits at the moment at which they are credited: how each is handled, by rules and gates as they are
 * in this transaction, and what is posted for it. The rows of deposits are not its business.
 */

import { newId } from '../base/ids.ts'
import { readGates } from '../controls/gates.ts'
import { NO_CONVERSION } from '../deposit-instructions/deposit-addresses.ts'
import type { BalanceKey } from '../ledger/ledger.ts'
import type { LedgerAccount, MinorUnits, Posting } from '../ledger/posting.ts'
import type { NewOrchestration } from '../orchestrations/start.ts'
import { lockRulesOfInstructions, lockRulesOfProfiles, type ProfileRules } from '../rules/matching.ts'
import type { RuleDestination } from '../rules/model.ts'
import type { Transaction } from '../store/db.ts'
import type { Arrived, Owner } from './attribution.ts'
import type { Disposition } from './dispositions.ts'
import { type Match, type MatchSettings, match, type Wanted } from './match.ts'

/** A deposit of a known profile that is about to be credited. */
export interface Creditable {
  readonly depositId: string
  readonly asset: string
  readonly amount: MinorUnits
  readonly network: string
  readonly occurredAt: string
  readonly owner: Owner
  readonly arrived: Arrived
  /** False: the operator assigned it without them. */
  readonly runsRules: boolean
  /** Its money goes to `held`, and rules are not looked at. */
  readonly isHeldBack: boolean
}

/** How a deposit is credited. */
export interface Credit {
  readonly disposition: Disposition
  readonly bucket: 'available' | 'in_transit' | 'held'
  /** The rule that it was for, whether or not that applies. */
  readonly ruleId: string | null
  readonly orchestrationId: string | null
  readonly wanted: Wanted | undefined
}

/** For each deposit, in the same order; rules that were looked at stay as they are until the transaction ends. */
export async function decideCredits<Tables>(
  transaction: Transaction<Tables>,
  deposits: readonly Creditable[],
  settings: MatchSettings,
): Promise<readonly Credit[]> {
  const looking = deposits.filter(({ runsRules, isHeldBack }) => runsRules && !isHeldBack)
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
      networks: [deposit.network, ...networksOf(wanted.destination)],
      isDelivery: false,
    })),
  )
  const closed = new Map(matched.map(({ deposit }, index) => [deposit, findings[index]?.code]))
  return deposits.map((deposit): Credit => {
    if (deposit.isHeldBack) return { ...creditedOnly('HELD', null), bucket: 'held' }
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

/** A deposit with how it is credited, and where its money is taken from. */
export interface CreditPosting {
  readonly deposit: Creditable
  readonly credit: Credit
  readonly from: 'external' | 'unattributed' | 'held'
}

/**
 * The postings of these credits. What becomes available repays what its profile owes in the same asset; what is reserved
 * or held does not. Pure.
 */
export function creditPostings(
  credits: readonly CreditPosting[],
  receivableOf: (key: BalanceKey) => MinorUnits,
): readonly Posting[] {
  const owed = new Map<string, MinorUnits>()
  return credits.flatMap(({ deposit, credit, from }): readonly Posting[] => {
    const { depositId: groupId, asset, amount, occurredAt: effectiveAt, owner } = deposit
    const { profileId } = owner
    const debit: LedgerAccount = from === 'held' ? { bucket: 'held', profileId } : { bucket: from }
    // Money that was here before comes from outside no more.
    const since = from === 'external' ? { effectiveAt } : {}
    const credited: Posting = { asset, amount, debit, credit: { bucket: credit.bucket, profileId }, groupId, ...since }
    if (credit.bucket !== 'available') return [credited]
    const key = `${profileId}/${asset}`
    const left = owed.get(key) ?? receivableOf({ profileId, asset })
    const repaid = left < amount ? left : amount
    if (repaid === 0n) return [credited]
    owed.set(key, left - repaid)
    const available = { bucket: 'available', profileId } as const
    return [credited, { asset, amount: repaid, debit: available, credit: { bucket: 'receivable', profileId }, groupId }]
  })
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

function networksOf(destination: RuleDestination): readonly string[] {
  return 'crypto' in destination ? [destination.crypto.network] : []
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
  // A rule or a target asset of its own comes first, whatever it says.
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
