/**
 * What operators do with deposits, one at a time for each, so that its state follows from the answers: hold, release, reject,
 * reverse, return, assign and correct. What was not answered clearly is read from its record.
 */
import { releaseOf } from '../../support/release.ts'
import type { Json } from './nodes.ts'
import { holdReviewed } from './reports.ts'
import { toText, toUnits } from './units.ts'
import { BANK_ACCOUNT, OUTSIDE, type Outcome, type Payment, type Terms, type World } from './world.ts'

const VERBS = ['hold', 'hold', 'release', 'release', 'reject', 'reverse', 'return', 'correct', 'correct'] as const
type Verb = (typeof VERBS)[number] | 'assign'

export async function changeDeposit(world: World): Promise<void> {
  const { random, payments } = world
  const known = payments.filter(({ depositId, isBusy, isReported }) => depositId !== undefined && !isBusy && isReported)
  if (known.length === 0) return
  const unassigned = known.filter(({ terms }) => terms.profileId === undefined)
  const payment = unassigned.length > 0 && random.chance(0.2) ? random.pick(unassigned) : random.pick(known)
  payment.isBusy = true
  try {
    await change(world, payment, payment.terms.profileId === undefined ? 'assign' : random.pick(VERBS))
  } finally {
    payment.isBusy = false
  }
}

async function change(world: World, payment: Payment, verb: Verb): Promise<void> {
  if (verb === 'correct') return await correct(world, payment)
  const profileId = world.random.pick(world.customers.flatMap(({ profiles }) => profiles))
  if (verb === 'assign') payment.proposed = { ...payment.terms, profileId }
  const path = `/deposits/${payment.depositId}`
  const body = verb === 'release' ? releaseOf(await world.read(path)) : bodyOf(world, payment, verb, profileId)
  const outcome = await world.act(`${path}/${verb}`, body)
  world.count(`deposit ${verb}: ${outcome.kind}`)
  if (outcome.kind === 'done') apply(payment, verb, profileId)
  else if (outcome.kind === 'unknown') await readState(world, payment)
  else if (outcome.kind === 'refused') refuseUnexpected(world, payment, verb, outcome)
  if (verb === 'assign' && payment.isCompleted) payment.revisions.push(payment.terms)
  delete payment.proposed
}

function bodyOf({ random }: World, { terms }: Payment, verb: Verb, profile_id: string): object {
  if (verb === 'assign') return { profile_id, run_rules: random.chance(0.7) }
  if (verb === 'return') return { reason: 'not ours', ...(terms.asset === 'USD' ? BANK_ACCOUNT : OUTSIDE) }
  return { reason: 'recalled' }
}

function apply(payment: Payment, verb: Verb, profileId: string): void {
  if (verb === 'hold') {
    payment.base = 'HELD'
    payment.isHeldByReview = false
  }
  if (verb === 'release') payment.base = null
  if (verb === 'reject') payment.base = 'REJECTED'
  if (verb === 'reverse') payment.isReversed = true
  if (verb === 'return') payment.returns++
  if (verb === 'assign') {
    payment.terms = { ...payment.terms, profileId }
    holdReviewed(payment)
  }
}

/** Mostly to what is right; now and then to what is wrong, or to what it has. One that was returned stays as it is. */
async function correct(world: World, payment: Payment): Promise<void> {
  const { random } = world
  const { truth, terms, returns } = payment
  if (returns > 0) return
  const profileId = truth.profileId ?? terms.profileId
  const isWrong = random.chance(0.15)
  const units = isWrong ? truth.units + 5n + BigInt(random.integer(1_000_000)) : truth.units
  const next: Terms = { ...terms, asset: truth.asset, units, profileId }
  const body = {
    amount: toText(units, next.asset),
    asset: next.asset,
    ...(profileId === undefined ? {} : { profile_id: profileId }),
    run_rules: random.chance(0.5),
    reason: 'reported wrongly',
  }
  // A report of the new terms may be answered before this call is, as during an assignment.
  payment.proposed = next
  const outcome = await world.act(`/deposits/${payment.depositId}/correct`, body)
  world.count(`deposit correct: ${outcome.kind}`)
  if (outcome.kind === 'done') {
    const isSameAsBefore = next.units === terms.units && next.asset === terms.asset && profileId === terms.profileId
    // Nothing was changed, so no revision was made: terms that no report has completed can still be replaced.
    const isUnchanged = isSameAsBefore && !payment.isReversed
    if (!isUnchanged) {
      payment.revisions.push(next)
      applyCorrection(payment, next)
    }
  } else if (outcome.kind === 'unknown') {
    await readState(world, payment)
    payment.revisions.push(payment.terms)
  } else if (outcome.kind === 'refused') refuseUnexpected(world, payment, 'correct', outcome)
  delete payment.proposed
}

function applyCorrection(payment: Payment, next: Terms): void {
  payment.terms = next
  payment.isCorrected = true
  // What was held before it was reversed is credited again without a hold, and new terms are reviewed again.
  if (payment.isReversed || (payment.base === 'HELD' && payment.isHeldByReview)) payment.base = null
  payment.isReversed = false
  holdReviewed(payment)
}

/** Whether the call was carried out is not known: the record shows it. */
async function readState(world: World, payment: Payment): Promise<void> {
  const deposit: Json = await world.read(`/deposits/${payment.depositId}`)
  const { secondary_status: secondary = null, profile_id: profileId, asset, amount, corrections, gates = [] } = deposit
  payment.isReversed = secondary === 'REVERSED'
  if (secondary === 'RETURNED') payment.returns++
  else if (secondary !== 'REVERSED') payment.base = secondary
  payment.isHeldByReview = gates.every(({ code }: Json) => code !== 'OPERATOR_HOLD')
  payment.terms = { ...payment.terms, asset, units: toUnits(amount, asset), profileId }
  payment.isCorrected = corrections !== undefined
}

/** An action that is not possible is 409, also for the second person. */
function refuseUnexpected(world: World, { number }: Payment, verb: Verb, { status, body }: Outcome): void {
  if (status === 409 || status === 200) return
  world.violations.push(`${verb} of payment ${number} was answered ${status}: ${JSON.stringify(body)}`)
}
