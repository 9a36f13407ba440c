/**
 * Records reports about different payments in one transaction: deposits and sightings, postings, transfers,
 * orchestrations and audit rows. A payment is credited once, however many sources report it: its deposit is locked, or
 * created under a unique index, and only its transition to COMPLETED posts anything.
 */
import { newId } from '../../platform/base/ids.ts'
import { writeAudits } from '../../platform/store/audit.ts'
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { post } from '../ledger/ledger.ts'
import type { Posting } from '../ledger/posting.ts'
import { type Completion, completionAudit } from '../orchestrations/at-once.ts'
import type { ConvertSettings } from '../orchestrations/convert.ts'
import { conversionPostings, conversionTransfers } from '../orchestrations/movements.ts'
import { recordConversions } from '../orchestrations/pricing/price.ts'
import { type StartSettings, startOrchestrations } from '../orchestrations/start.ts'
import { changeTransfers, insertTransfers, type TransferChange } from '../transfers/store.ts'
import { type Arrived, type Attribution, attribute, NOWHERE, type Owner, ownersOf } from './attribution.ts'
import {
  type Credit,
  completionsOf,
  creditColumns,
  creditPosting,
  decideCredits,
  orchestrationOf,
  ownerColumns,
} from './credit.ts'
import { type DepositRow, type Known, lockKnown, termsOf } from './known.ts'
import type { MatchSettings } from './match.ts'
import { keepDepositMode } from './mode.ts'
import { newDepositDocument } from './new-document.ts'
import { type RefusedReport, recordRefusals } from './refused-reports.ts'
import { differingFields, type Report, SANDBOX_SOURCE } from './report.ts'
import { type DecimalsOf, newDepositOf, replacedBy, replacedTerms } from './reported-terms.ts'
import { asPresentTerms } from './revisions.ts'
import { findSimilar, type Similar } from './similar.ts'
import type { DepositDocument } from './store.ts'
import type { DepositValues } from './tables.ts'
import { shownSecondaryStatus, transferIdOf, transferOf } from './transfer-entries.ts'
import { type ReportEffect, reportEffect } from './transitions.ts'
import { changeDeposits, insertDeposits, recordSightings } from './writes.ts'

export interface DepositSettings extends MatchSettings {
  /** The setting `rest.sandbox`. */
  readonly isSandbox: boolean
  readonly start: StartSettings
}

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

/** A report, with its deposit before and after it. */
interface Step {
  readonly report: Report
  /** Undefined: this is the payment's first report. */
  readonly before: DepositRow | undefined
  readonly after: DepositValues
  readonly effect: 'create' | ReportEffect
  /** The members that conflict with the known payment. Empty without a conflict. */
  readonly fields: readonly string[]
  /** The deposit was not completed yet, and this report completes it with other terms, which replace the known ones. */
  readonly isReplacing: boolean
}

/** A step without a conflict. */
interface Move extends Step {
  readonly owner: Owner | undefined
  readonly arrived: Arrived
  /** Set when the deposit has a profile and becomes COMPLETED. */
  readonly credit: Credit | undefined
}

const ACTIONS = {
  create: 'deposit.create',
  complete: 'deposit.complete',
  fail: 'deposit.fail',
  reopen: 'deposit.reopen',
} as const

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
  const known = await lockKnown(transaction, reports)
  const present = await asPresentTerms(transaction, reports, known, decimalsOf)
  const steps = reports.map((report, index) => stepOf(report, known[index], present[index] as Report))
  const similar = await findSimilar(
    transaction,
    steps.filter(isArrivingByBank).map(({ report, after }) => ({ report, depositId: after.id })),
  )
  const moves = await movesOf(
    transaction,
    steps
      .filter(({ effect, report }) => effect !== 'conflict' && similar.get(report)?.kind !== 'ambiguous')
      .map((step) => heldStep(step, similar.get(step.report))),
    settings,
  )
  const credits = moves.flatMap(({ credit }) => credit ?? [])
  const completions = await completionsOf(transaction, credits, convert)
  const firsts = moves.filter(({ before }) => before === undefined)
  if (firsts.length > 0) await keepDepositMode(transaction, settings.isSandbox)
  const createdAt = await insertDeposits(transaction, firsts)
  const others = moves.filter(({ before }) => before !== undefined)
  await recordSightings(transaction, others)
  await changeDeposits(
    transaction,
    others.filter(isChanged).map(({ after }) => after),
  )
  await writeAudits(transaction, [
    ...moves.flatMap((move) => auditOf(move, decimalsOf)),
    ...completions.map(completionAudit),
  ])
  await recordConversions(
    transaction,
    completions.map(({ done }) => done),
  )
  const conversions = completions.flatMap(({ start, done }) => conversionPostings(start, done.amounts))
  const credited = credits.map((credit) => creditPosting(credit, 'external'))
  const unattributed = moves.filter((move) => move.owner === undefined && becomesCompleted(move))
  await post(transaction, [...credited, ...conversions, ...unattributed.map(({ after }) => unattributedPosting(after))])
  await showAndStart(transaction, moves, completions, settings)
  const completed = new Set(completions.map(({ start }) => start.depositId))
  const documents = new Map(
    firsts.map(({ after }) => [after.id, newDepositDocument(after, assets, createdAt as string)]),
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
  return { ...step, after: { ...step.after, secondary_status: 'HELD', reason } }
}

async function movesOf<Tables>(
  transaction: Transaction<Tables>,
  steps: readonly Step[],
  settings: DepositSettings,
): Promise<readonly Move[]> {
  const placing = steps.filter(({ effect }) => effect === 'create' || effect === 'complete')
  const attributions = await attribute(
    transaction,
    placing.map(({ report }) => report),
  )
  const found = new Map(placing.map((step, index) => [step, attributions[index]]))
  const owners = await ownersOf(
    transaction,
    steps.flatMap(({ after }) => after.profile_id ?? []),
  )
  const placed = steps.map((step) => placedStep(step, owners, found.get(step)))
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
function placedStep(step: Step, owners: ReadonlyMap<string, Owner>, attribution: Attribution | undefined) {
  const { before, after, effect } = step
  const isKept = after.profile_id !== null
  const owner = isKept ? owners.get(after.profile_id as string) : attribution?.owner
  const arrived = isKept ? arrivedOf(after, attribution) : (attribution ?? NOWHERE)
  if (effect !== 'create' && effect !== 'complete') return { ...step, owner, arrived }
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
function arrivedOf(deposit: DepositValues, attribution: Arrived = NOWHERE): Arrived {
  const { address } = attribution
  return {
    address: address !== undefined && address.id === deposit.deposit_address_id ? address : undefined,
    fiatInstructionsId: deposit.fiat_instructions_id ?? undefined,
  }
}

function becomesCompleted({ effect, report }: Pick<Step, 'effect' | 'report'>): boolean {
  return effect === 'complete' || (effect === 'create' && report.status === 'COMPLETED')
}

function isChanged({ before, after }: Step): boolean {
  return (Object.keys(after) as (keyof DepositValues)[]).some((name) => after[name] !== before?.[name])
}

function mostConfirmations(before: DepositRow | undefined, { confirmations }: Report): number | null {
  const known = before?.confirmations ?? null
  if (known === null || confirmations === null) return confirmations ?? known
  return Math.max(known, confirmations)
}

/** The credit for an unattributed deposit. */
export function unattributedPosting({ id: groupId, asset, amount, occurred_at: effectiveAt }: DepositValues): Posting {
  const [debit, credit] = [{ bucket: 'external' }, { bucket: 'unattributed' }] as const
  return { asset, amount: BigInt(amount), debit, credit, groupId, effectiveAt }
}

/** Writes the customers' transfers, and starts or completes the orchestrations. */
async function showAndStart<Tables>(
  transaction: Transaction<Tables>,
  moves: readonly Move[],
  completions: readonly Completion[],
  { start }: DepositSettings,
): Promise<void> {
  const owned = moves.flatMap((move) => (move.owner === undefined ? [] : [{ ...move, owner: move.owner }]))
  const appearing = owned.filter(({ before, after }) => before?.profile_id !== after.profile_id)
  const starting = owned.filter(({ credit }) => credit?.wanted !== undefined)
  const times = await nextCreationTimes(
    transaction,
    [...appearing, ...starting].map(({ owner }) => owner.customerId),
  )
  const timeOf = ({ customerId }: Pick<Owner, 'customerId'>) => times.get(customerId) as string
  const entries = appearing.map((move) => transferOfMove(move, timeOf(move.owner)))
  const converted = completions.flatMap(({ start: own, done }) =>
    conversionTransfers(own, done.amounts, done.ids, timeOf(own)),
  )
  await insertTransfers(transaction, [...entries, ...converted])
  await changeTransfers(transaction, moves.flatMap(transferChangeOf))
  const results = new Map(completions.map(({ start: own, done }) => [own.id, { done }]))
  const starts = starting.flatMap(({ credit }) => {
    const own = orchestrationOf(credit as Credit)
    return own === undefined ? [] : [{ ...own, ...results.get(own.id), createdAt: timeOf(own) }]
  })
  await startOrchestrations(transaction, starts, start)
}

function transferOfMove({ after, arrived, owner }: Move & { readonly owner: Owner }, createdAt: string) {
  const shown = { ...after, memo_id: after.memo_id ?? arrived.memo ?? null }
  return transferOf(shown, owner, arrived.address?.metadata ?? {}, createdAt)
}

/**
 * The change to the deposit's previous transfer. When the deposit now belongs to another profile, that transfer becomes
 * FAILED.
 */
function transferChangeOf(move: Move): readonly TransferChange[] {
  const { before, after, isReplacing } = move
  if (before === undefined || before.profile_id === null || !isChanged(move)) return []
  const id = transferIdOf(before)
  if (before.profile_id !== after.profile_id) return [{ id, status: 'FAILED' }]
  const { status, secondary_status, disposition, confirmations } = after
  const change = {
    id,
    ...(status === before.status ? {} : { status }),
    ...(secondary_status === null ? {} : { secondaryStatus: shownSecondaryStatus(secondary_status) }),
    ...(disposition === null ? {} : { disposition }),
    ...(confirmations === null ? {} : { confirmations }),
  }
  return [isReplacing ? { ...transferOfMove(move as Move & { owner: Owner }, before.created_at), ...change } : change]
}

function auditOf({ report, before, after, effect, isReplacing }: Move, decimalsOf: DecimalsOf) {
  if (!(effect in ACTIONS)) return []
  const { source, externalId: external_id, status, reportedBy: actor } = report
  const disposition = status === 'COMPLETED' ? (after.disposition ?? undefined) : undefined
  const orchestration_id = after.orchestration_id ?? undefined
  const replaced = isReplacing && before !== undefined ? { replaced: replacedTerms(before, after, decimalsOf) } : {}
  return [
    {
      actor,
      action: ACTIONS[effect as keyof typeof ACTIONS],
      subject: after.id,
      detail: { source, external_id, status, disposition, orchestration_id, ...replaced },
    },
  ]
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
