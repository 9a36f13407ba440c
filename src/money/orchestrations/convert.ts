/**
 * The step `convert` for a batch of claimed orchestrations, in one transaction with one statement for each kind of
 * write: gates, prices, postings, conversions, orchestrations with audit rows, and the queue. Transfers and deliveries
 * come last, under the locks on the customers' clocks.
 */
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { type GateSubject, readGates } from '../controls/gates.ts'
import { needsReview, PAYMENT_REVIEW_DETAIL, type ReviewLimits } from '../controls/review.ts'
import { createDeliveries } from '../deliveries/create.ts'
import { areOwnAddresses } from '../deposit-instructions/address-owner.ts'
import { post } from '../ledger/ledger.ts'
import type { Posting } from '../ledger/posting.ts'
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
  /** The setting `review_above.payments`. */
  readonly reviewAbove: ReviewLimits
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
  /** Why the payment starts on hold. */
  readonly holdDetail: string | undefined
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
  const outcomes = await outcomesOf(transaction, rows, settings)
  const byId = new Map(claims.map((claim) => [claim.orchestrationId, claim]))
  const steps = rows.map((row, index): Step => {
    // The outcomes are in row order.
    const outcome = outcomes[index] as Outcome
    return { row, claim: byId.get(row.id) as Claim, outcome, holdDetail: holdDetailOf(row, outcome, settings) }
  })
  const done = steps.flatMap(({ row, outcome, holdDetail }) =>
    outcome.kind === 'done' ? [{ row, done: outcome, holdDetail }] : [],
  )
  await post(transaction, steps.flatMap(postingsOf))
  await recordConversions(
    transaction,
    done.map((step) => step.done),
  )
  await writeSteps(transaction, steps.map(changeOf))
  const isPutOff = ({ outcome }: Step) => outcome.kind === 'wait' && outcome.isRetried
  await putOffWork(transaction, claimsOf(steps.filter(isPutOff)))
  await finishWork(transaction, claimsOf(steps.filter((step) => !isPutOff(step))))
  await writeMovements(transaction, done)
  const count = (kind: Outcome['kind']) => steps.filter(({ outcome }) => outcome.kind === kind).length
  const completed = done.filter(({ row }) => 'profile' in row.destination).length
  return { completed, delivering: done.length - completed, waiting: count('wait'), failed: count('fail') }
}

/** One outcome per row, in the same order. */
async function outcomesOf<Tables>(
  transaction: Transaction<Tables>,
  rows: readonly ClaimedOrchestration[],
  { feeBps, pricing }: ConvertSettings,
): Promise<readonly Outcome[]> {
  const findings = await readGates(transaction, rows.map(conversionGates))
  const places = rows.map(({ destination }) => ('crypto' in destination ? destination.crypto : undefined))
  const own = await areOwnAddresses(transaction, places)
  const early = rows.map(({ isExpired }, index) =>
    beforePrice({ finding: findings[index], isOwnAddress: own[index] === true, isExpired }),
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

/** The gates that apply to a conversion. */
export function conversionGates({
  profileId,
  sourceAsset,
  destinationAsset,
  source,
  destination,
}: Pick<
  ClaimedOrchestration,
  'profileId' | 'sourceAsset' | 'destinationAsset' | 'source' | 'destination'
>): GateSubject {
  const isConversion = sourceAsset !== destinationAsset
  return {
    profileId,
    assets: [sourceAsset, destinationAsset],
    ...(isConversion ? { pair: [sourceAsset, destinationAsset] as const } : {}),
    networks: networksOf(source, destination),
    isDelivery: false,
  }
}

/** A payment's amount is known after the conversion. It is compared again when the payment is handed out. */
function holdDetailOf(
  { destination, destinationAsset }: ClaimedOrchestration,
  outcome: Outcome,
  { reviewAbove }: ConvertSettings,
): string | undefined {
  if (outcome.kind !== 'done' || 'profile' in destination) return undefined
  return needsReview(reviewAbove, destinationAsset, outcome.amounts.outgoing) ? PAYMENT_REVIEW_DETAIL : undefined
}

function postingsOf({ row, outcome }: Step): readonly Posting[] {
  if (outcome.kind === 'wait') return []
  return outcome.kind === 'fail' ? [returnPosting(row)] : conversionPostings(row, outcome.amounts)
}

function changeOf({ row, outcome, holdDetail }: Step): StepChange {
  const { id } = row
  if (outcome.kind === 'wait') {
    return {
      id,
      action: 'orchestration.wait',
      status: 'PROCESSING',
      step: 'convert',
      waitingFor: outcome.waitingFor,
      waitingDetail: outcome.detail,
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
    ...(holdDetail === undefined ? {} : { waitingFor: 'HOLD', waitingDetail: holdDetail }),
    conversion: { ...amounts, price, priceSource },
    ...(hasDebit ? { sourceTransferId: ids.debit } : {}),
    destinationTransferId: ids.destination,
  }
}

/** Writes the transfers and deliveries for converted orchestrations, with creation times from the customers' clocks. */
async function writeMovements<Tables>(
  transaction: Transaction<Tables>,
  done: readonly (Pick<Step, 'row' | 'holdDetail'> & { readonly done: Done })[],
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
  const deliveries = done.flatMap(({ row, done: { amounts, ids }, holdDetail }) => {
    const delivery = deliveryOf(row, amounts, ids, timeOf(row))
    const hold = holdDetail === undefined ? {} : { holdDetail }
    return delivery === undefined ? [] : [{ ...delivery, ...hold }]
  })
  await createDeliveries(transaction, deliveries)
}

function claimsOf(steps: readonly Step[]): readonly Claim[] {
  return steps.map(({ claim }) => claim)
}
