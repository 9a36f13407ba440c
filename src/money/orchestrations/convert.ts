/**
 * The step `convert` for a batch of claimed orchestrations, in one transaction with one statement for each kind of
 * write: gates, prices, postings, conversions, orchestrations with audit rows, and the queue. Transfers and deliveries
 * come last, under the locks on the customers' clocks.
 */
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { type GateSettings, readAmountGates, readGates } from '../controls/gates.ts'
import { isRestored } from '../controls/store-identity.ts'
import { createDeliveries } from '../deliveries/create.ts'
import { areOwnAddresses } from '../deposit-instructions/address-owner.ts'
import { type GateSubject, type GatesWait, waitingForOf } from '../gates/model.ts'
import { refuseOtherDecimals } from '../ledger/assets.ts'
import { post } from '../ledger/ledger.ts'
import type { Posting } from '../ledger/posting.ts'
import { type LockedLimits, lockLimits } from '../limits/gate.ts'
import { insertTransfers } from '../transfers/store.ts'
import { type Done, priceAll } from './done.ts'
import type { StepMetrics } from './metrics.ts'
import { beforePrice, type Failure, feeOf, networksOf, type Wait } from './model.ts'
import { conversionPostings, conversionTransfers, deliveryOf, returnPosting } from './movements.ts'
import type { PricingContext } from './pricing/context.ts'
import { priceConversions, recordConversions } from './pricing/price.ts'
import { type Claim, finishWork, putOffWork } from './queue.ts'
import { type ClaimedOrchestration, lockClaimed, type StepChange, writeSteps } from './step-store.ts'

export interface ConvertSettings {
  /** The setting `orchestrations.fee_bps`. */
  readonly feeBps: number
  readonly pricing: PricingContext
  readonly gates: GateSettings
}

/** A process's conversion settings, and the metrics that count its steps. */
export interface Converter {
  /** The current settings, read for every batch. */
  readonly settings: () => ConvertSettings
  readonly metrics: StepMetrics
}

/** A batch's orchestration counts by result. */
export interface StepCounts {
  readonly completed: number
  readonly delivering: number
  readonly waiting: number
  readonly failed: number
}

type Outcome = Done | Wait | Failure

/** A batch's orchestration with its outcome. */
interface Step {
  readonly claim: Claim
  readonly row: ClaimedOrchestration
  readonly outcome: Outcome
  /** Why the payment waits from the beginning. */
  readonly wait: GatesWait | undefined
}

/**
 * Converts the orchestrations in these claims. Those that cannot be converted now wait or fail. Claims already lost are
 * skipped. A claim lost during the batch throws `ClaimLost`, which rolls the batch back.
 */
export async function convertBatch<Tables>(
  transaction: Transaction<Tables>,
  claims: readonly Claim[],
  settings: ConvertSettings,
): Promise<StepCounts> {
  const rows = await lockClaimed(transaction, claims)
  const limits = await lockLimits(transaction, rows.map(conversionGates), settings.gates)
  const outcomes = await outcomesOf(transaction, rows, settings)
  const byId = new Map(claims.map((claim) => [claim.orchestrationId, claim]))
  // The outcomes are in row order.
  const priced = rows.map((row, index) => ({
    row,
    claim: byId.get(row.id) as Claim,
    outcome: outcomes[index] as Outcome,
  }))
  const steps = await withAmountGates(transaction, priced, settings.gates, limits)
  const done = steps.flatMap(({ row, outcome, wait }) =>
    outcome.kind === 'done' ? [{ row, done: outcome, wait }] : [],
  )
  await post(transaction, steps.flatMap(postingsOf))
  await recordConversions(
    transaction,
    done.map((step) => step.done),
  )
  await writeSteps(transaction, steps.map(changeOf))
  const isPutOff = ({ outcome }: Step) => outcome.kind === 'wait'
  const waiting = steps.filter(isPutOff)
  await putOffWork(transaction, claimsOf(waiting), waiting.map(retrySecondsOf))
  await finishWork(transaction, claimsOf(steps.filter((step) => !isPutOff(step))))
  await writeMovements(transaction, done)
  // A failure may follow from a source amount that was read in other units.
  const isUsed = (symbol: string) =>
    steps.some((step) => !isPutOff(step) && [step.row.sourceAsset, step.row.destinationAsset].includes(symbol))
  await refuseOtherDecimals(
    transaction,
    settings.pricing.assets.filter(({ symbol }) => isUsed(symbol)),
  )
  const count = (kind: Outcome['kind']) => steps.filter(({ outcome }) => outcome.kind === kind).length
  const completed = done.filter(({ row }) => 'profile' in row.destination).length
  return { completed, delivering: done.length - completed, waiting: count('wait'), failed: count('fail') }
}

/** One outcome per row, in the same order. */
async function outcomesOf<Tables>(
  transaction: Transaction<Tables>,
  rows: readonly ClaimedOrchestration[],
  { feeBps, pricing, gates }: ConvertSettings,
): Promise<readonly Outcome[]> {
  const findings = await readGates(transaction, rows.map(conversionGates), gates)
  const places = rows.map(({ destination }) => ('crypto' in destination ? destination.crypto : undefined))
  const own = await areOwnAddresses(transaction, places)
  const mayFail = rows.some(({ isExpired }, index) => isExpired || own[index] === true)
  const mayBePaid = mayFail && (await isRestored(transaction, gates.seenStore))
  const early = rows.map(({ isExpired }, index) =>
    beforePrice({
      findings: findings[index] ?? [],
      isOwnAddress: own[index] === true,
      isExpired,
      isRestored: mayBePaid,
    }),
  )
  const open = rows.filter((_, index) => early[index] === undefined)
  const outcomes = await priceAll(
    open,
    (row) => chargeOf(row, feeBps),
    (requests) => priceConversions(transaction, requests, pricing),
  )
  const priced = new Map(open.map(({ id }, index) => [id, outcomes[index]]))
  // Each row has one or the other.
  return rows.map(({ id }, index) => (early[index] ?? priced.get(id)) as Outcome)
}

function chargeOf({ sourceAmount, isCharged }: ClaimedOrchestration, feeBps: number): bigint {
  return isCharged ? feeOf(sourceAmount, feeBps) : 0n
}

export type ConversionTerms = Pick<
  ClaimedOrchestration,
  'id' | 'customerId' | 'profileId' | 'sourceAsset' | 'destinationAsset' | 'source' | 'destination' | 'openedGates'
> & { readonly hasLimits?: boolean | undefined }

/** A conversion, as its gates see it before its result is known. */
export function conversionGates(terms: ConversionTerms): GateSubject {
  const { id, customerId, profileId, sourceAsset, destinationAsset, source, destination, openedGates } = terms
  return {
    owner: { orchestrationId: id },
    customerId,
    profileId,
    sourceAsset,
    asset: destinationAsset,
    networks: networksOf(source, destination),
    destination,
    amount: undefined,
    isDelivery: false,
    openedGates,
    hasLimits: terms.hasLimits,
  }
}

/**
 * Reads the gates that need the amount, which the conversion has determined. A payment waits as a delivery, and its
 * gates are read again when it is handed out. A movement to a profile waits unconverted.
 */
async function withAmountGates<Tables>(
  transaction: Transaction<Tables>,
  steps: readonly Omit<Step, 'wait'>[],
  settings: GateSettings,
  limits: LockedLimits,
): Promise<readonly Step[]> {
  const subjects = steps.map(({ row, outcome }) => ({
    ...conversionGates(row),
    amount: outcome.kind === 'done' ? outcome.amounts.outgoing : undefined,
    isDelivery: !('profile' in row.destination),
  }))
  await limits.count(subjects)
  const findings = await readAmountGates(transaction, subjects, settings)
  return steps.map((step, index): Step => {
    const wait = waitingForOf(findings[index] ?? [])
    const isInside = 'profile' in step.row.destination
    return wait !== undefined && isInside
      ? { ...step, outcome: { kind: 'wait', ...wait }, wait: undefined }
      : { ...step, wait }
  })
}

function postingsOf({ row, outcome }: Step): readonly Posting[] {
  if (outcome.kind === 'wait') return []
  return outcome.kind === 'fail' ? [returnPosting(row)] : conversionPostings(row, outcome.amounts)
}

function changeOf({ row, outcome, wait }: Step): StepChange {
  const { id } = row
  if (outcome.kind === 'wait') {
    return {
      id,
      action: 'orchestration.wait',
      status: 'PROCESSING',
      step: 'convert',
      waitingFor: outcome.waitingFor,
      waitingDetail: outcome.detail,
      gates: outcome.gates,
    }
  }
  if (outcome.kind === 'fail') {
    return {
      id,
      action: 'orchestration.fail',
      status: 'FAILED',
      step: null,
      failCode: outcome.code,
      failDetail: outcome.detail,
    }
  }
  const { amounts, price, priceSource, ids } = outcome
  const isInside = 'profile' in row.destination
  const hasDebit = isInside || row.sourceAsset !== row.destinationAsset
  return {
    id,
    action: isInside ? 'orchestration.complete' : 'orchestration.deliver',
    status: isInside ? 'COMPLETED' : 'PROCESSING',
    step: isInside ? null : 'deliver',
    ...(wait === undefined ? {} : { waitingFor: wait.waitingFor, waitingDetail: wait.detail, gates: wait.gates }),
    conversion: { ...amounts, price, priceSource },
    ...(hasDebit ? { sourceTransferId: ids.debit } : {}),
    destinationTransferId: ids.destination,
  }
}

/** Writes the transfers and deliveries for converted orchestrations, with creation times from the customers' clocks. */
async function writeMovements<Tables>(
  transaction: Transaction<Tables>,
  done: readonly (Pick<Step, 'row' | 'wait'> & { readonly done: Done })[],
): Promise<void> {
  if (done.length === 0) return
  const times = await nextCreationTimes(
    transaction,
    done.map(({ row }) => row.customerId),
  )
  const timeOf = ({ customerId }: ClaimedOrchestration) => times.get(customerId) as string
  await insertTransfers(
    transaction,
    done.flatMap(({ row, done: { amounts, ids } }) => conversionTransfers(row, amounts, ids, timeOf(row))),
  )
  const deliveries = done.flatMap(({ row, done: { amounts, ids }, wait }) => {
    const delivery = deliveryOf(row, amounts, ids, timeOf(row))
    return delivery === undefined ? [] : [{ ...delivery, openedGates: row.openedGates, wait }]
  })
  await createDeliveries(transaction, deliveries)
}

/** The time before which a closed gate will not open. */
function retrySecondsOf({ outcome }: Step): number {
  const gates = outcome.kind === 'wait' ? (outcome.gates ?? []) : []
  return Math.max(0, ...gates.map(({ retrySeconds = 0 }) => retrySeconds))
}

function claimsOf(steps: readonly Step[]): readonly Claim[] {
  return steps.map(({ claim }) => claim)
}
