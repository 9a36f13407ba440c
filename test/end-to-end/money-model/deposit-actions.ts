/**
 * What operators do with deposits, one at a time for each, so that its state follows from the answers: hold, release, reject,
 * reverse, return and assign. What was not answered clearly is read from its record.
 */
import type { Json } from './nodes.ts'
import { BANK_ACCOUNT, OUTSIDE, type Outcome, type Payment, type World } from './world.ts'

const VERBS = ['hold', 'hold', 'release', 'release', 'reject', 'reverse', 'return', 'assign'] as const
type Verb = (typeof VERBS)[number]

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
  const profileId = world.random.pick(world.customers.flatMap(({ profiles }) => profiles))
  const outcome = await world.act(`/deposits/${payment.depositId}/${verb}`, bodyOf(world, payment, verb, profileId))
  world.count(`deposit ${verb}: ${outcome.kind}`)
  if (outcome.kind === 'done') apply(payment, verb, profileId)
  else if (outcome.kind === 'unknown') await readState(world, payment)
  else if (outcome.kind === 'refused') refuseUnexpected(world, payment, verb, outcome)
}

function bodyOf({ random }: World, { terms }: Payment, verb: Verb, profile_id: string): object {
  if (verb === 'assign') return { profile_id, run_rules: random.chance(0.7) }
  if (verb === 'return') return { reason: 'not ours', ...(terms.asset === 'USD' ? BANK_ACCOUNT : OUTSIDE) }
  return verb === 'reject' || verb === 'reverse' ? { reason: 'recalled' } : {}
}

function apply(payment: Payment, verb: Verb, profileId: string): void {
  if (verb === 'hold') payment.base = 'HELD'
  if (verb === 'release') payment.base = null
  if (verb === 'reject') payment.base = 'REJECTED'
  if (verb === 'reverse') payment.isReversed = true
  if (verb === 'return') payment.returns++
  if (verb === 'assign') payment.terms = { ...payment.terms, profileId }
}

/** Whether the call was carried out is not known: the record says it. */
export async function readState(world: World, payment: Payment): Promise<void> {
  const deposit: Json = await world.read(`/deposits/${payment.depositId}`)
  const { secondary_status: secondary = null, profile_id: profileId } = deposit
  if (secondary === 'REVERSED') payment.isReversed = true
  else if (secondary === 'RETURNED') payment.returns++
  else payment.base = secondary
  payment.terms = { ...payment.terms, profileId }
}

/** An action that is not possible is 409, also for the second person. */
function refuseUnexpected(world: World, { number }: Payment, verb: Verb, { status, body }: Outcome): void {
  if (status === 409 || status === 200) return
  world.violations.push(`${verb} of payment ${number} was answered ${status}: ${JSON.stringify(body)}`)
}
