/**
 * Records reports about different payments in one transaction: deposits and sightings, postings, transfers,
 * orchestrations and audit rows. A payment is credited once, however many sources report it: its deposit is locked, or
 * created under a unique index, and only its transition to COMPLETED posts anything.
 */
import { newId } from '../../platform/base/ids.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { refuseOtherDecimals } from '../ledger/assets.ts'
import type { ConvertSettings } from '../orchestrations/convert.ts'
import { storeParties } from '../screening/parties.ts'
import { type Arrived, findArrived, NOWHERE, type Owner, ownersOf, type Place } from './attribution.ts'
import { completionsOf, creditColumns, decideCredits, ownerColumns } from './credit.ts'
import { type DepositRow, type Known, lockKnown, termsOf } from './known.ts'
import type { MatchSettings } from './match.ts'
import { becomesCompleted, isFirst, isPlacing, type Move, type PlacedStep, type Step } from './move.ts'
import { newDepositDocument } from './new-document.ts'
import { type RefusedReport, recordRefusals } from './refused-reports.ts'
import { differingFields, type Report, SANDBOX_SOURCE } from './report.ts'
import { type DecimalsOf, newDepositOf, replacedBy } from './reported-terms.ts'
import { asPresentTerms } from './revisions.ts'
import { findSimilar, lockAmounts, type Similar } from './similar.ts'
import type { DepositDocument } from './store.ts'
import type { DepositValues } from './tables.ts'
import { operatorHold, reportEffect } from './transitions.ts'
import { type WriteSettings, writeMoves } from './write-moves.ts'

export interface DepositSettings extends MatchSettings, WriteSettings {}

/** One report's result. */
export type Outcome =
  | {
      readonly kind: 'created' | 'changed' | 'known'
      readonly depositId: string
      /** Whether its orchestration was completed in the same transaction. */
      readonly isCompleted: boolean
      /** Set when the deposit was created. */
      readonly deposit?: DepositDocument
      /** It is held, because it may be the payment of this deposit. */
      readonly resembles?: string
    }
  | { readonly kind: 'ambiguous'; readonly depositId: string }
  | { readonly kind: 'conflict'; readonly depositId: string; readonly fields: readonly string[] }

/**
 * Returns one outcome per report, in the same order.
 *
 * @param reports about different payments and with different names
 * @param convert how orchestrations are completed at once. Undefined: they are left to a worker
 */
export async function recordReports<Tables>(
  transaction: Transaction<Tables>,
  reports: readonly Report[],
  settings: DepositSettings,
  convert?: ConvertSettings,
): Promise<readonly Outcome[]> {
  const { assets } = settings.conversions
  const decimalsOf: DecimalsOf = (asset) => assets.find(({ symbol }) => symbol === asset)?.decimals
  const reported = assets.filter(({ symbol }) => reports.some(({ asset }) => asset === symbol))
  const [known, found] = await Promise.all([
    lockKnown(transaction, reports),
    findArrived(transaction, reports),
    // Amounts in other units would conflict with the known ones.
    refuseOtherDecimals(transaction, reported),
  ])
  const present = await asPresentTerms(transaction, reports, known, decimalsOf)
  const steps = reports.map((report, index) => stepOf(report, known[index], present[index] as Report))
  const places = new Map(reports.map((report, index) => [report, found[index]]))
  const { owners, similar } = await findOwners(transaction, steps, places)
  const moves = await movesOf(
    transaction,
    steps
      .filter(({ effect, report }) => effect !== 'conflict' && similar.get(report)?.kind !== 'ambiguous')
      .map((step) => placedStep(heldStep(step, similar.get(step.report)), owners, places.get(step.report))),
    settings,
  )
  const completions = await completionsOf(
    transaction,
    moves.flatMap(({ credit }) => credit ?? []),
    convert,
  )
  const createdAt = await writeMoves(transaction, { moves, completions, settings, decimalsOf })
  const givesParties = moves.flatMap(({ report: { parties: sealed }, after: { id } }) =>
    sealed === undefined ? [] : [{ id, sealed }],
  )
  await storeParties(transaction, givesParties)
  const completed = new Set(completions.map(({ start }) => start.depositId))
  const documents = new Map(
    moves.filter(isFirst).map(({ after }) => [after.id, newDepositDocument(after, assets, createdAt as string)]),
  )
  const outcomes = steps.map((step): Outcome => {
    const like = similar.get(step.report)
    if (like?.kind === 'ambiguous') return { kind: 'ambiguous', depositId: like.depositId }
    const outcome = outcomeOf(step, completed.has(step.after.id), documents.get(step.after.id))
    return like === undefined || !('isCompleted' in outcome) ? outcome : { ...outcome, resembles: like.depositId }
  })
  await recordRefusals(
    transaction,
    outcomes.flatMap((outcome, index) => refusalOf(outcome, reports[index] as Report)),
    decimalsOf,
  )
  return outcomes
}

/** The deposits' owners by profile, and similar payments by report. */
async function findOwners<Tables>(
  transaction: Transaction<Tables>,
  steps: readonly Step[],
  places: ReadonlyMap<Report, Place | undefined>,
) {
  const placeOf = ({ report }: Step) => places.get(report)
  const arriving = steps
    .filter(isArrivingByBank)
    .map((step) => ({ ...step, depositId: step.after.id, profileId: placeOf(step)?.profileId ?? null }))
  const profileIds = steps.flatMap((step) => [step.after.profile_id, placeOf(step)?.profileId])
  // The store looks for similar payments when it has the lock on their amount.
  const [, owners, similar] = await Promise.all([
    lockAmounts(
      transaction,
      arriving.map(({ report }) => report),
    ),
    ownersOf(
      transaction,
      profileIds.flatMap((id) => id ?? []),
    ),
    findSimilar(transaction, arriving),
  ])
  return { owners, similar }
}

function refusalOf(outcome: Outcome, report: Report): readonly RefusedReport[] {
  const { kind, depositId } = outcome
  if (kind === 'ambiguous')
    return [{ report, depositId, problem: 'ambiguous_payment', fields: ['fiat.bank_reference'] }]
  return kind === 'conflict' ? [{ report, depositId, problem: 'deposit_conflict', fields: outcome.fields }] : []
}

/** @param present the report, with its deposit's present terms when the report has a revision's terms */
function stepOf(report: Report, known: Known | undefined, present: Report): Step {
  if (known === undefined) {
    const after = newDepositOf(report)
    return { report, before: undefined, after, effect: 'create', fields: [], isReplacing: false }
  }
  const { deposit: before, isTorn } = known
  const effect = reportEffect(before.status, report.status)
  const isReplacing = effect === 'complete' && !isTorn && isReplaceable(before, report)
  if (isReplacing) return { report, before, after: replacedBy(before, report), effect, fields: [], isReplacing }
  const differing = differingFields(termsOf(before), present)
  const fields = isTorn && differing.length === 0 ? ['fiat.bank_reference'] : differing
  const after = { ...before, bank_reference: before.bank_reference ?? report.bankReference }
  if (fields.length > 0) return { report, before, after, effect: 'conflict', fields, isReplacing }
  return { report, before, after, effect, fields: effect === 'conflict' ? ['status'] : [], isReplacing }
}

/**
 * Whether a report that completes the deposit has different terms for the same kind of payment, while no person has
 * corrected the known terms.
 */
function isReplaceable(before: DepositRow, report: Report): boolean {
  const isSameKind = (before.tx_hash === null) === (report.txHash === null)
  return isSameKind && before.corrections.length === 0 && differingFields(termsOf(before), report).length > 0
}

/** Whether a bank payment counts from now on, or counts with other terms. */
function isArrivingByBank({ report, before, effect, isReplacing }: Step): boolean {
  if (report.txHash !== null || report.source === SANDBOX_SOURCE || report.status === 'FAILED' || effect === 'conflict')
    return false
  return before === undefined || before.status === 'FAILED' || isReplacing
}

/** Holds the step's deposit when it resembles another one. */
function heldStep(step: Step, similar: Similar | undefined): Step {
  if (similar === undefined || step.after.secondary_status !== null) return step
  const reason = `may be the payment of deposit ${similar.depositId}, whose bank reference is nearly equal`
  return { ...step, after: { ...step.after, secondary_status: 'HELD', reason, gates: [operatorHold(reason)] } }
}

async function movesOf<Tables>(
  transaction: Transaction<Tables>,
  placed: readonly PlacedStep[],
  settings: DepositSettings,
): Promise<readonly Move[]> {
  const creditables = placed.flatMap(({ owner, arrived, after: deposit, ...step }) =>
    owner === undefined || !becomesCompleted(step) ? [] : [{ owner, arrived, deposit }],
  )
  const credits = new Map((await decideCredits(transaction, creditables, settings)).map((each) => [each.deposit, each]))
  return placed.map((step) => {
    const credit = credits.get(step.after)
    const { effect, report, before } = step
    const status = effect === 'unchanged' ? step.after.status : report.status
    const confirmations = mostConfirmations(before, report)
    const columns = becomesCompleted(step) ? creditColumns(credit) : {}
    return { ...step, after: { ...step.after, status, confirmations, ...columns }, credit }
  })
}

/** The step with its deposit's owner, and with the address or memo at which it arrived. */
function placedStep(step: Step, owners: ReadonlyMap<string, Owner>, found: Place | undefined): PlacedStep {
  const { before, after } = step
  const place = isPlacing(step) ? found : undefined
  const isKept = after.profile_id !== null
  const owner = owners.get(after.profile_id ?? place?.profileId ?? '')
  const arrived = isKept ? arrivedOf(after, place) : (place ?? NOWHERE)
  if (!isPlacing(step)) return { ...step, owner, arrived }
  // The transfer with the deposit's id stays with the profile that saw it first.
  const isMoved = typeof before?.profile_id === 'string' && before.profile_id !== owner?.profileId
  const placed = {
    ...after,
    ...(owner === undefined ? {} : ownerColumns(owner)),
    deposit_address_id: after.deposit_address_id ?? arrived.address?.id ?? null,
    fiat_instructions_id: after.fiat_instructions_id ?? arrived.fiatInstructionsId ?? null,
    ...(isMoved ? { transfer_id: newId() } : {}),
  }
  return { ...step, owner, arrived, after: placed }
}

/** The address or memo at which a deposit with an owner arrived. Neither is set when the operator assigned it. */
function arrivedOf(deposit: DepositValues, { address }: Arrived = NOWHERE): Arrived {
  return {
    address: address !== undefined && address.id === deposit.deposit_address_id ? address : undefined,
    fiatInstructionsId: deposit.fiat_instructions_id ?? undefined,
  }
}

function mostConfirmations(before: DepositRow | undefined, { confirmations }: Report): number | null {
  const known = before?.confirmations ?? null
  if (known === null || confirmations === null) return confirmations ?? known
  return Math.max(known, confirmations)
}

function outcomeOf(
  { after: { id: depositId }, effect, fields }: Step,
  isCompleted: boolean,
  deposit: DepositDocument | undefined,
): Outcome {
  if (effect === 'conflict') return { kind: 'conflict', depositId, fields }
  if (deposit !== undefined) return { kind: 'created', depositId, isCompleted, deposit }
  return { kind: effect === 'unchanged' ? 'known' : 'changed', depositId, isCompleted }
}
