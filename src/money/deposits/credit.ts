/**
 * Decides how deposits are credited, by the rules and gates as this transaction sees them. It also builds a credit's
 * postings and orchestration, and selects the orchestrations completed by this transaction. It writes nothing.
 */
import { newId } from '../../platform/base/ids.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { readAmountGates, readDepositGates, readProfileGates, readTermsGates } from '../controls/gates.ts'
import { NO_CONVERSION } from '../deposit-instructions/deposit-addresses.ts'
import { closedGates, type GateCode, type GateFinding, type GateSubject, type StoredGate } from '../gates/model.ts'
import type { LedgerAccount, Posting } from '../ledger/posting.ts'
import { type Completion, completable } from '../orchestrations/at-once.ts'
import { type ConvertSettings, conversionGates } from '../orchestrations/convert.ts'
import { networksOf } from '../orchestrations/model.ts'
import type { NewOrchestration } from '../orchestrations/start.ts'
import { lockRulesOfInstructions, lockRulesOfProfiles, type ProfileRules } from '../rules/matching.ts'
import { type Arrived, type Owner, ownersOf } from './attribution.ts'
import type { Disposition } from './dispositions.ts'
import { type Match, type MatchSettings, match, type Wanted } from './match.ts'
import type { DepositValues } from './tables.ts'
import { transferIdOf } from './transfer-entries.ts'
import { isHeldBack, operatorHold } from './transitions.ts'

/** A known profile's deposit whose amount is about to be credited. */
export interface Creditable {
  /** No rules are read when it `skips_rules`. When it is held back, it goes to `held`, also without rules. */
  readonly deposit: DepositValues
  readonly owner: Owner
  readonly arrived: Arrived
}

/** How a deposit is credited. */
export interface Credit extends Creditable {
  readonly disposition: Disposition
  readonly bucket: 'available' | 'in_transit' | 'held'
  /** The rule found for it, even when that rule does not apply. */
  readonly ruleId: string | null
  readonly orchestrationId: string | null
  readonly wanted: Wanted | undefined
  /** The closed gates that hold it. */
  readonly heldBy: readonly GateFinding[]
  /** Whether its orchestration waits for a closed gate. */
  readonly isWaiting?: boolean
}

/** The closed gates that leave a deposit with its profile, unconverted. At the others, its orchestration waits. */
const CREDITED_ONLY = ['CUSTOMER_DISABLED', 'ACCOUNT_BLOCKED', 'RECEIVABLE', 'PAUSED'] as const

type CreditedOnly = GateFinding & { readonly code: (typeof CREDITED_ONLY)[number] }

function isCreditedOnly(finding: GateFinding): finding is CreditedOnly {
  return CREDITED_ONLY.some((code) => code === finding.code)
}

/** An orchestration to start, with its closed gates. */
interface Start {
  readonly orchestrationId: string
  readonly findings: readonly GateFinding[]
}

/** Returns each deposit's credit, in the same order. The rules read stay locked until the transaction ends. */
export async function decideCredits<Tables>(
  transaction: Transaction<Tables>,
  deposits: readonly Creditable[],
  settings: MatchSettings,
): Promise<readonly Credit[]> {
  const holds = new Map(
    (await readHolds(transaction, deposits, settings)).map((findings, index) => [deposits[index], findings]),
  )
  const holdsOf = (each: Creditable) => holds.get(each) ?? []
  const looking = deposits.filter((each) => !each.deposit.skips_rules && holdsOf(each).length === 0)
  const [matches, profileGatesOf] = await Promise.all([
    findMatches(transaction, looking, settings),
    readProfileGates(
      transaction,
      looking.map(({ owner }) => owner.profileId),
      false,
      settings.gates,
    ),
  ])
  const starting = looking.flatMap((creditable) => {
    const found = matches.get(creditable)
    if (found?.kind !== 'matched') return []
    const orchestrationId = newId()
    return [{ creditable, orchestrationId, subject: subjectOf(creditable, found.wanted, orchestrationId) }]
  })
  const termsFindings = await readTermsGates(
    transaction,
    starting.map(({ subject }) => subject),
    settings.gates,
  )
  const starts = new Map<Creditable, Start>(
    starting.map(({ creditable, orchestrationId, subject }, index) => {
      const findings = [...profileGatesOf(subject), ...(termsFindings[index] ?? [])]
      return [creditable, { orchestrationId, findings }]
    }),
  )
  return deposits.map((creditable): Credit => {
    const { deposit } = creditable
    const heldBy = holdsOf(creditable)
    if (heldBy.length > 0) {
      return { ...creditedOnly(creditable, heldDisposition(heldBy), null), bucket: 'held', heldBy }
    }
    if (deposit.skips_rules)
      return creditedOnly(creditable, deposit.corrections.length > 0 ? 'CORRECTED' : 'ASSIGNED', null)
    const found = matches.get(creditable) as Match
    if (found.kind === 'credited') return creditedOnly(creditable, found.disposition, found.ruleId)
    const { wanted } = found
    const { orchestrationId, findings } = starts.get(creditable) as Start
    const closed = findings.find(isCreditedOnly)
    if (closed !== undefined) return creditedOnly(creditable, closed.code, wanted.ruleId)
    return {
      ...creditable,
      disposition: 'ORCHESTRATED',
      bucket: 'in_transit',
      ruleId: wanted.ruleId,
      orchestrationId,
      wanted,
      heldBy: [],
      isWaiting: findings.length > 0,
    }
  })
}

/** The closed gates that hold each deposit, in the same order. */
async function readHolds<Tables>(
  transaction: Transaction<Tables>,
  deposits: readonly Creditable[],
  settings: MatchSettings,
): Promise<readonly (readonly GateFinding[])[]> {
  const read = await readDepositGates(transaction, deposits.map(depositGates), settings.gates)
  return deposits.map(({ deposit: { secondary_status, gates, reason } }, index) => {
    // A correction has a reason of its own.
    const hold = gates?.find(({ code }) => code === 'OPERATOR_HOLD') ?? operatorHold(reason)
    const held = isHeldBack(secondary_status) ? [hold] : []
    return closedGates({ openedGates: [] }, [...held, ...(read[index] ?? [])])
  })
}

/** Why a held deposit is not converted. The operator's own hold comes first. */
function heldDisposition(gates: readonly StoredGate[]): 'HELD' | 'REVIEW' | 'SCREENING' {
  const isClosed = (wanted: GateCode) => gates.some(({ code }) => code === wanted)
  if (isClosed('OPERATOR_HOLD')) return 'HELD'
  return isClosed('REVIEW') ? 'REVIEW' : 'SCREENING'
}

/** A deposit, as the gates see it that hold it. */
function depositGates({ deposit, owner }: Creditable): GateSubject {
  return {
    owner: { depositId: deposit.id },
    customerId: owner.customerId,
    profileId: owner.profileId,
    sourceAsset: deposit.asset,
    asset: deposit.asset,
    networks: [deposit.network],
    destination: undefined,
    amount: BigInt(deposit.amount),
    isDelivery: false,
    openedGates: deposit.opened_gates,
  }
}

/** The orchestration started by a deposit, as its gates see it. */
function subjectOf({ deposit, owner }: Creditable, wanted: Wanted, orchestrationId: string): GateSubject {
  const { destination, destinationAsset } = wanted
  return {
    owner: { orchestrationId },
    customerId: owner.customerId,
    profileId: owner.profileId,
    sourceAsset: deposit.asset,
    asset: destinationAsset,
    networks: [deposit.network, ...('crypto' in destination ? [destination.crypto.network] : [])],
    destination,
    amount: undefined,
    isDelivery: false,
    openedGates: [],
  }
}

/** The credit for a deposit that no orchestration converts. */
export function creditedOnly(creditable: Creditable, disposition: Disposition, ruleId: string | null): Credit {
  return {
    ...creditable,
    disposition,
    bucket: 'available',
    ruleId,
    orchestrationId: null,
    wanted: undefined,
    heldBy: [],
  }
}

/** A deposit's owner columns. */
export function ownerColumns({ customerId, profileId, accountId }: Owner) {
  return { customer_id: customerId, profile_id: profileId, account_id: accountId }
}

/**
 * The columns for a credited deposit, or without a credit for an unattributed one. A deposit held by any gate is HELD,
 * as if the operator had held it.
 */
export function creditColumns(credit: Credit | undefined) {
  const isHeld = credit !== undefined && credit.heldBy.length > 0 && !isHeldBack(credit.deposit.secondary_status)
  return {
    ...(isHeld ? { secondary_status: 'HELD' as const } : {}),
    ...(credit === undefined ? {} : { gates: credit.heldBy.length === 0 ? null : credit.heldBy }),
    disposition: credit?.disposition ?? ('UNATTRIBUTED' as const),
    rule_id: credit?.ruleId ?? null,
    orchestration_id: credit?.orchestrationId ?? null,
  }
}

/** @param from the bucket to debit */
export function creditPosting({ deposit, owner, bucket }: Credit, from: 'external' | 'unattributed' | 'held'): Posting {
  const { id: groupId, asset, amount, occurred_at: effectiveAt } = deposit
  const { profileId } = owner
  const debit: LedgerAccount = from === 'held' ? { bucket: 'held', profileId } : { bucket: from }
  // Only money that enters the service gets the payment's time. Money moved inside the service gets the posting's time.
  const since = from === 'external' ? { effectiveAt } : {}
  return { asset, amount: BigInt(amount), debit, credit: { bucket, profileId }, groupId, ...since }
}

/** The credit for an unattributed deposit. */
export function unattributedPosting({ id: groupId, asset, amount, occurred_at: effectiveAt }: DepositValues): Posting {
  const [debit, credit] = [{ bucket: 'external' }, { bucket: 'unattributed' }] as const
  return { asset, amount: BigInt(amount), debit, credit, groupId, effectiveAt }
}

/** The orchestration started by a credit. Undefined: none. */
export function orchestrationOf({
  deposit,
  owner,
  arrived,
  orchestrationId,
  wanted,
}: Credit): Omit<NewOrchestration, 'createdAt'> | undefined {
  if (orchestrationId === null || wanted === undefined) return undefined
  return {
    id: orchestrationId,
    customerId: owner.customerId,
    profileId: owner.profileId,
    accountId: owner.accountId,
    identityId: wanted.identityId ?? arrived.address?.identityId ?? owner.identityId,
    refId: null,
    ruleId: wanted.ruleId,
    depositId: deposit.id,
    depositRevision: deposit.corrections.length,
    sourceTransferId: transferIdOf(deposit),
    retryOf: null,
    sourceAsset: deposit.asset,
    sourceAmount: BigInt(deposit.amount),
    destinationAsset: wanted.destinationAsset,
    source: wanted.source,
    destination: wanted.destination,
    metadata: arrived.address?.metadata ?? {},
  }
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
  // A profile's rules are read only for deposits whose address or memo has neither a rule nor a target asset.
  const others = deposits.filter((deposit) => {
    const target = deposit.arrived.address?.conversionTargetAsset ?? NO_CONVERSION
    return target === NO_CONVERSION && ownOf(deposit) === undefined
  })
  const wanted = new Map(
    others.map(({ owner, deposit: { asset } }) => [
      `${owner.profileId}/${asset}`,
      { customerId: owner.customerId, profileId: owner.profileId, asset },
    ]),
  )
  const rules = await lockRulesOfProfiles(transaction, [...wanted.values()])
  const ofProfile = new Map<string, ProfileRules | undefined>(
    [...wanted.keys()].map((key, index) => [key, rules[index]]),
  )
  return new Map(
    deposits.map((creditable) => {
      const { deposit, owner, arrived } = creditable
      const { asset, network } = deposit
      const amount = BigInt(deposit.amount)
      const profileRules = ofProfile.get(`${owner.profileId}/${asset}`)
      const candidates = {
        own: ownOf(creditable),
        address: arrived.address,
        ofProfile: profileRules?.active,
        hasInactiveOfProfile: profileRules?.hasInactive ?? false,
      }
      return [creditable, match({ profileId: owner.profileId, asset, amount, network }, candidates, settings)]
    }),
  )
}

/**
 * The orchestrations that the transaction crediting these deposits can complete, under the conditions in
 * `money/orchestrations/at-once`.
 *
 * @param settings undefined: none, a worker completes all
 */
export async function completionsOf<Tables>(
  transaction: Transaction<Tables>,
  credits: readonly Credit[],
  settings: ConvertSettings | undefined,
): Promise<readonly Completion[]> {
  if (settings === undefined) return []
  const starts = credits.flatMap((credit) => {
    const start = orchestrationOf(credit)
    if (start === undefined || credit.isWaiting === true || !('profile' in start.destination)) return []
    // The gates were read for the deposit's network, but its address may be for another network in the family.
    const isOpen = networksOf(start.source, start.destination).every((network) => network === credit.deposit.network)
    return isOpen ? [{ ...start, profile: start.destination.profile.profile_id }] : []
  })
  const others = starts.filter(({ profile, profileId }) => profile !== profileId)
  const owners = await ownersOf(
    transaction,
    others.map(({ profile }) => profile),
  )
  const completions = await completable(
    starts.map(({ profile, ...start }) => ({
      ...start,
      destinationAccountId: profile === start.profileId ? start.accountId : (owners.get(profile)?.accountId ?? null),
    })),
    settings,
  )
  const hasLimitsOf = ({ destination }: Completion['start']) =>
    'profile' in destination ? owners.get(destination.profile.profile_id)?.hasLimits : undefined
  const subjects = completions.map(({ start, done }) => ({
    ...conversionGates({ ...start, openedGates: [], hasLimits: hasLimitsOf(start) }),
    amount: done.amounts.outgoing,
  }))
  const findings = await readAmountGates(transaction, subjects, settings.gates)
  return completions.filter((_, index) => findings[index]?.length === 0)
}
