/**
 * Records reports of different payments in one transaction: deposits and sightings, postings, transfers, orchestrations
 * and audit rows. A payment is credited once, however many sources report it: its deposit is locked, or created under a
 * unique index, and only its transition to COMPLETED posts anything.
 *
 * Lock order: known deposits, rules, new deposits, balances, customers' clocks.
 */
import { newId } from '../base/ids.ts'
import { post } from '../ledger/ledger.ts'
import type { Posting } from '../ledger/posting.ts'
import { type Completion, completionAudit } from '../orchestrations/at-once.ts'
import type { ConvertSettings } from '../orchestrations/convert.ts'
import { conversionPostings, conversionTransfers } from '../orchestrations/movements.ts'
import { recordConversions } from '../orchestrations/pricing/price.ts'
import { type StartSettings, startOrchestrations } from '../orchestrations/start.ts'
import { writeAudits } from '../store/audit.ts'
import { nextCreationTimes } from '../store/creation-time.ts'
import type { Transaction } from '../store/db.ts'
import { changeTransfers, insertTransfers } from '../transfers/store.ts'
import { type Arrived, attribute, type Owner, ownersOf } from './attribution.ts'

import {
  type Credit,
  type Creditable,
  type CreditPosting,
  completionsOf,
  creditPosting,
  decideCredits,
  orchestrationOf,
  secondaryAfter,
} from './credit.ts'
import { type DepositRow, lockKnown, termsOf } from './known.ts'
import type { MatchSettings } from './match.ts'
import { keepDepositMode } from './mode.ts'
import { newDepositDocument } from './new-document.ts'
import { differingFields, type Report } from './report.ts'
import type { DepositDocument } from './store.ts'
import { shownSecondaryStatus, transferOf } from './transfer-entries.ts'
import { isHeldBack, type ReportEffect, reportEffect } from './transitions.ts'
import { changeDeposits, type DepositChange, insertDeposits, type NewDeposit, recordSightings } from './writes.ts'

export interface DepositSettings extends MatchSettings {
  /** The setting `rest.sandbox`. */
  readonly isSandbox: boolean
  readonly start: StartSettings
}

/** The result of one report. */
export type Outcome =
  | {
      readonly kind: 'created' | 'changed' | 'known'
      readonly depositId: string
      /** Whether its orchestration was completed in the same transaction. */
      readonly isCompleted: boolean
      /** Of a deposit that was created. */
      readonly deposit?: DepositDocument
    }
  | { readonly kind: 'conflict'; readonly depositId: string; readonly fields: readonly string[] }

/** A report and its effect on the deposit. */
interface Step {
  readonly report: Report
  /** Undefined: the report is the first of its payment. */
  readonly known: DepositRow | undefined
  readonly depositId: string
  readonly effect: 'create' | ReportEffect
  /** The members that conflict with the known payment; empty without a conflict. */
  readonly fields: readonly string[]
}

/** A step with the owner of the deposit and the credit that the step makes. */
interface Move extends Step {
  readonly owner: Owner | undefined
  readonly arrived: Arrived
  /** Set when the deposit has a profile and becomes COMPLETED. */
  readonly creditable: Creditable | undefined
  readonly credit: Credit | undefined
}

const NOWHERE: Arrived = { address: undefined, fiatInstructionsId: undefined }

const ACTIONS = {
  create: 'deposit.create',
  complete: 'deposit.complete',
  fail: 'deposit.fail',
  reopen: 'deposit.reopen',
} as const

/**
 * Returns one outcome for each report, in the same order.
 *
 * @param reports of different payments and with different names
 * @param convert how orchestrations are completed at once; undefined: they are left to a worker
 */
export async function recordReports<Tables>(
  transaction: Transaction<Tables>,
  reports: readonly Report[],
  settings: DepositSettings,
  convert?: ConvertSettings,
): Promise<readonly Outcome[]> {
  const known = await lockKnown(transaction, reports)
  const steps = reports.map((report, index) => stepOf(report, known[index]))
  const moves = await movesOf(
    transaction,
    steps.filter(({ effect }) => effect !== 'conflict'),
    settings,
  )
  const completions = await completionsOf(transaction, creditedOf(moves), convert)
  const firsts = moves.filter(({ effect }) => effect === 'create')
  if (firsts.length > 0) await keepDepositMode(transaction, settings.isSandbox)
  const news = firsts.map((move) => ({ deposit: newDepositOf(move), report: move.report }))
  const createdAt = await insertDeposits(transaction, news)
  const others = moves.filter(({ effect }) => effect !== 'create')
  await recordSightings(transaction, others)
  await changeDeposits(
    transaction,
    others.flatMap((move) => changeOf(move) ?? []),
  )
  await writeAudits(transaction, [...moves.flatMap(auditOf), ...completions.map(completionAudit)])
  await recordConversions(
    transaction,
    completions.map(({ done }) => done),
  )
  await postCredits(transaction, moves, completions)
  await showAndStart(transaction, moves, completions, settings)
  const completed = new Set(completions.map(({ start }) => start.depositId))
  const { assets } = settings.conversions
  const documents = new Map(
    news.map((first) => [first.deposit.id, newDepositDocument(first, assets, createdAt as string)]),
  )
  return steps.map((step) => outcomeOf(step, completed.has(step.depositId), documents.get(step.depositId)))
}

function stepOf(report: Report, known: Awaited<ReturnType<typeof lockKnown>>[number]): Step {
  if (known === undefined) return { report, known: undefined, depositId: newId(), effect: 'create', fields: [] }
  const { deposit, isTorn } = known
  const differing = differingFields(termsOf(deposit), report)
  const fields = isTorn && differing.length === 0 ? ['fiat.bank_reference'] : differing
  const effect = fields.length > 0 ? 'conflict' : reportEffect(deposit.status, report.status)
  const named = effect === 'conflict' && fields.length === 0 ? ['status'] : fields
  return { report, known: deposit, depositId: deposit.id, effect, fields: named }
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
    steps.flatMap(({ known }) => known?.profile_id ?? []),
  )
  const placed = steps.map((step) => {
    const { known } = step
    const attribution = found.get(step)
    const owner = known?.profile_id ? owners.get(known.profile_id) : attribution?.owner
    return { ...step, owner, arrived: known?.profile_id ? arrivedOf(known, attribution) : (attribution ?? NOWHERE) }
  })
  const creditables = placed.map((step) => creditableOf(step))
  const decided = creditables.flatMap((creditable) => creditable ?? [])
  const credits = await decideCredits(transaction, decided, settings)
  const creditOf = new Map(decided.map((creditable, index) => [creditable, credits[index]]))
  return placed.map((step, index) => {
    const creditable = creditables[index]
    return { ...step, creditable, credit: creditable === undefined ? undefined : creditOf.get(creditable) }
  })
}

/** The address or memo that a deposit with an owner arrived at; neither when the operator assigned it. */
function arrivedOf(known: DepositRow, attribution: Arrived | undefined): Arrived {
  const { address } = attribution ?? NOWHERE
  return {
    address: address !== undefined && address.id === known.deposit_address_id ? address : undefined,
    fiatInstructionsId: known.fiat_instructions_id ?? undefined,
  }
}

function becomesCompleted({ effect, report }: Step): boolean {
  return effect === 'complete' || (effect === 'create' && report.status === 'COMPLETED')
}

function creditableOf(step: Step & Pick<Move, 'owner' | 'arrived'>): Creditable | undefined {
  const { report, known, depositId, owner, arrived } = step
  if (owner === undefined || !becomesCompleted(step)) return undefined
  const { asset, amount, network, occurredAt } = report
  return {
    depositId,
    asset,
    amount,
    network,
    occurredAt,
    owner,
    arrived,
    runsRules: known?.skips_rules !== true,
    isHeldBack: isHeldBack(known?.secondary_status ?? null),
    isReviewed: false,
  }
}

function newDepositOf({ depositId, report, owner, arrived, credit }: Move): NewDeposit {
  return {
    id: depositId,
    customer_id: owner?.customerId ?? null,
    profile_id: owner?.profileId ?? null,
    account_id: owner?.accountId ?? null,
    asset: report.asset,
    amount: String(report.amount),
    status: report.status,
    secondary_status: secondaryAfter(credit, null),
    disposition: report.status === 'COMPLETED' ? (credit?.disposition ?? 'UNATTRIBUTED') : null,
    network: report.network,
    address: report.address,
    tx_hash: report.txHash,
    tx_index: report.txIndex,
    memo_id: report.memoId,
    remittance: report.remittance,
    bank_reference: report.bankReference,
    sender: report.sender,
    deposit_address_id: arrived.address?.id ?? null,
    fiat_instructions_id: arrived.fiatInstructionsId ?? null,
    rule_id: credit?.ruleId ?? null,
    orchestration_id: credit?.orchestrationId ?? null,
    confirmations: report.confirmations,
  }
}

/** The change that a report makes to its deposit; undefined when there is none. */
function changeOf(move: Move): DepositChange | undefined {
  const { known, report, effect, owner, arrived, credit } = move
  if (known === undefined) return undefined
  const confirmations = mostConfirmations(known, report)
  const bank_reference = known.bank_reference ?? report.bankReference
  const isSame =
    effect === 'unchanged' && confirmations === known.confirmations && bank_reference === known.bank_reference
  if (isSame) return undefined
  const { id, customer_id, profile_id, account_id, deposit_address_id, fiat_instructions_id } = known
  const isCredited = effect === 'complete'
  return {
    id,
    customer_id: owner?.customerId ?? customer_id,
    profile_id: owner?.profileId ?? profile_id,
    account_id: owner?.accountId ?? account_id,
    status: effect === 'unchanged' ? known.status : report.status,
    secondary_status: secondaryAfter(credit, known.secondary_status),
    disposition: isCredited ? (credit?.disposition ?? 'UNATTRIBUTED') : known.disposition,
    bank_reference,
    deposit_address_id: deposit_address_id ?? arrived.address?.id ?? null,
    fiat_instructions_id: fiat_instructions_id ?? arrived.fiatInstructionsId ?? null,
    rule_id: isCredited ? (credit?.ruleId ?? null) : known.rule_id,
    orchestration_id: isCredited ? (credit?.orchestrationId ?? null) : known.orchestration_id,
    confirmations,
  }
}

function mostConfirmations(known: DepositRow | undefined, { confirmations }: Report): number | null {
  const before = known?.confirmations ?? null
  if (before === null || confirmations === null) return confirmations ?? before
  return Math.max(before, confirmations)
}

/** The credits of the moves that credit a profile. */
function creditedOf(moves: readonly Move[]): readonly CreditPosting[] {
  return moves.flatMap(({ creditable: deposit, credit }) =>
    deposit === undefined || credit === undefined ? [] : [{ deposit, credit, from: 'external' as const }],
  )
}

async function postCredits<Tables>(
  transaction: Transaction<Tables>,
  moves: readonly Move[],
  completions: readonly Completion[],
): Promise<void> {
  const credited = creditedOf(moves)
  const conversions = completions.flatMap(({ start, done }) => conversionPostings(start, done.amounts))
  const unattributed = moves.filter((move) => move.owner === undefined && becomesCompleted(move))
  const unknown = unattributed.map(
    ({ depositId: groupId, report }): Posting => ({
      asset: report.asset,
      amount: report.amount,
      debit: { bucket: 'external' },
      credit: { bucket: 'unattributed' },
      groupId,
      effectiveAt: report.occurredAt,
    }),
  )
  await post(transaction, [...credited.map(creditPosting), ...conversions, ...unknown])
}

/** Writes the customers' transfers, and starts or completes the orchestrations. */
async function showAndStart<Tables>(
  transaction: Transaction<Tables>,
  moves: readonly Move[],
  completions: readonly Completion[],
  { start }: DepositSettings,
): Promise<void> {
  const owned = moves.flatMap((move) => (move.owner === undefined ? [] : [{ ...move, owner: move.owner }]))
  const appearing = owned.filter(({ known, effect }) => effect === 'create' || known?.profile_id === null)
  const starting = owned.filter(({ credit }) => credit?.wanted !== undefined)
  const times = await nextCreationTimes(
    transaction,
    [...appearing, ...starting].map(({ owner }) => owner.customerId),
  )
  const timeOf = ({ customerId }: Pick<Owner, 'customerId'>) => times.get(customerId) as string
  const entries = appearing.map((move) => {
    const { known, owner, arrived } = move
    const entry = known === undefined ? newDepositOf(move) : { ...known, ...changeOf(move) }
    const shown = { ...entry, memo_id: entry.memo_id ?? arrived.memo ?? null }
    return transferOf(shown, owner, arrived.address?.metadata ?? {}, timeOf(owner))
  })
  const converted = completions.flatMap(({ start: own, done }) =>
    conversionTransfers(own, done.amounts, done.ids, timeOf(own)),
  )
  await insertTransfers(transaction, [...entries, ...converted])
  await changeTransfers(
    transaction,
    owned.filter((move) => !appearing.includes(move)).flatMap((move) => transferChangeOf(move) ?? []),
  )
  const results = new Map(completions.map(({ start: own, done }) => [own.id, { done }]))
  const starts = creditedOf(starting).flatMap(({ deposit, credit }) => {
    const own = orchestrationOf(deposit, credit)
    return own === undefined ? [] : [{ ...own, ...results.get(own.id), createdAt: timeOf(own) }]
  })
  await startOrchestrations(transaction, starts, start)
}

function transferChangeOf(move: Move) {
  const { known } = move
  const change = changeOf(move)
  if (known === undefined || change === undefined) return undefined
  const { id, status, secondary_status, disposition, confirmations } = change
  return {
    id,
    ...(status === known.status ? {} : { status }),
    ...(secondary_status === null ? {} : { secondaryStatus: shownSecondaryStatus(secondary_status) }),
    ...(disposition === null ? {} : { disposition }),
    ...(confirmations === null ? {} : { confirmations }),
  }
}

function auditOf({ depositId, report, effect, owner, credit }: Move) {
  if (!(effect in ACTIONS)) return []
  const { source, externalId: external_id, status, reportedBy: actor } = report
  const disposition =
    credit?.disposition ?? (owner === undefined && status === 'COMPLETED' ? 'UNATTRIBUTED' : undefined)
  const orchestration_id = credit?.orchestrationId ?? undefined
  return [
    {
      actor,
      action: ACTIONS[effect as keyof typeof ACTIONS],
      subject: depositId,
      detail: { source, external_id, status, disposition, orchestration_id },
    },
  ]
}

function outcomeOf(
  { depositId, effect, fields }: Step,
  isCompleted: boolean,
  deposit: DepositDocument | undefined,
): Outcome {
  if (effect === 'conflict') return { kind: 'conflict', depositId, fields }
  if (deposit !== undefined) return { kind: 'created', depositId, isCompleted, deposit }
  return { kind: effect === 'unchanged' ? 'known' : 'changed', depositId, isCompleted }
}
