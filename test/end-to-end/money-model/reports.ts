/**
 * Reports of payments by three reporters, each in an order of its own: repeated, late, FAILED before they are COMPLETED, alone
 * and in batches, and with a reporter that is wrong about some. What the answers allow to conclude is noted with the payment.
 */
import { amount, hex } from '../../money/orchestrations/world/model.ts'
import type { Json } from './nodes.ts'
import { DECIMALS, isReviewed, toText, toUnits } from './units.ts'
import { type Payment, type Place, REPORTERS, type Terms, type World } from './world.ts'

type Status = 'PENDING' | 'COMPLETED' | 'FAILED'

interface Report {
  readonly payment: Payment
  readonly reporter: string
  readonly terms: Terms
  readonly status: Status
}

const UNITS_MAX = 1_000

export async function reportNew(world: World): Promise<void> {
  const payment = newPayment(world)
  world.payments.push(payment)
  const { random } = world
  const wrong = random.chance(0.15)
    ? { reporter: random.pick(REPORTERS), terms: wrongTerms(world, payment.truth) }
    : undefined
  const isFinal = random.chance(0.94)
  const reporters = REPORTERS.filter(() => random.chance(0.8))
  await Promise.all(
    (reporters.length === 0 ? [REPORTERS[0]] : reporters).map(async (reporter) => {
      const terms = wrong?.reporter === reporter ? wrong.terms : payment.truth
      for (const status of statusesOf(world, isFinal)) await send(world, { payment, reporter, terms, status })
    }),
  )
  payment.isReported = true
}

/** Of any payment: what is known of it already, what was corrected, or what is wrong. */
export async function reportAgain(world: World): Promise<void> {
  const { random, payments } = world
  const known = payments.filter(({ isReported }) => isReported)
  if (known.length === 0) return
  const payment = random.pick(known)
  const terms = random.chance(0.2)
    ? wrongTerms(world, payment.truth)
    : random.pick([payment.truth, ...payment.revisions])
  const status = random.pick(['PENDING', 'COMPLETED', 'COMPLETED', 'FAILED'] as const)
  await send(world, { payment, reporter: random.pick(REPORTERS), terms, status })
}

function statusesOf({ random }: World, isFinal: boolean): readonly Status[] {
  const early: Status[] = random.chance(0.4) ? ['PENDING'] : []
  if (random.chance(0.08)) early.push('FAILED')
  if (!isFinal) return early.length > 0 ? early : ['PENDING']
  return random.chance(0.1) ? ['COMPLETED', ...early] : [...early, 'COMPLETED']
}

function newPayment({ random, places, payments }: World): Payment {
  const place = random.pick(places)
  const asset = place.crypto !== undefined && random.chance(0.04) ? 'USDG' : place.asset
  const units = toUnits(amount(random, UNITS_MAX, DECIMALS[asset] as number), asset)
  const truth: Terms = { asset, units, place, profileId: place.profileId }
  const state = {
    isCorrected: false,
    isSeen: false,
    isCompleted: false,
    base: null,
    isHeldByReview: false,
    isReversed: false,
    returns: 0,
    isReported: false,
    isBusy: false,
  }
  return { key: hex(random, 64), number: payments.length, truth, terms: truth, revisions: [], ...state }
}

/** Another amount, another receiver, or another asset. */
function wrongTerms({ random, places }: World, truth: Terms): Terms {
  const isAlike = (place: Place) => (place.crypto === undefined) === (truth.place.crypto === undefined)
  const place = random.pick(places.filter(isAlike))
  const wrong = random.pick(['amount', 'amount', 'place'] as const)
  if (wrong === 'amount') return { ...truth, units: truth.units + 1n + BigInt(random.integer(10_000)) }
  return { ...truth, place, profileId: place.profileId }
}

function bodyOf({ payment, reporter, terms, status }: Report): object {
  const { crypto, fiat } = terms.place
  const place =
    crypto === undefined
      ? { fiat: { ...fiat, bank_reference: spelled(payment, reporter) } }
      : { crypto: { ...crypto, tx_hash: `0x${payment.key}`, tx_index: 0 } }
  return {
    source: reporter,
    external_id: `${reporter} ${payment.number}`,
    asset: terms.asset,
    amount: toText(terms.units, terms.asset),
    ...place,
    status,
    occurred_at: '2026-11-22T12:00:00.000Z',
  }
}

/** One reference, as each bank writes it. */
function spelled({ key, number }: Payment, reporter: string): string {
  const reference = `REF${key.slice(0, 20)}`
  const spelling = (number + reporter.length) % 3
  if (spelling === 0) return reference
  return spelling === 1 ? reference.toLowerCase() : reference.replace(/(.{4})/g, '$1 ')
}

/** Sends it alone or with others until it is answered, and notes what the answer says. */
async function send(world: World, report: Report): Promise<void> {
  const { random, payments } = world
  const known = payments.filter(({ isReported, isCompleted }) => isReported && isCompleted)
  const others: Report[] = []
  if (random.chance(0.3) && known.length > 0) {
    const payment = random.pick(known)
    const { terms } = payment
    if (payment !== report.payment) others.push({ ...report, payment, terms, status: 'COMPLETED' })
  }
  for (let left = [report, ...others]; left.length > 0; ) {
    const before = left.map(({ payment: { revisions, isCorrected } }) => ({ revisions: [...revisions], isCorrected }))
    const results = await answersTo(world, left)
    const unanswered: Report[] = []
    for (const [index, each] of left.entries()) {
      const result = results[index] as Result
      if (result.status === 503) unanswered.push(each)
      else note(world, each, result, before[index] as Before)
    }
    left = unanswered
  }
}

/** A payment when a report of it was sent. */
type Before = Pick<Payment, 'revisions' | 'isCorrected'>

interface Result {
  readonly status: number
  /** The deposit, or the problem. */
  readonly document: Json
}

async function answersTo(world: World, reports: readonly Report[]): Promise<readonly Result[]> {
  const { reporter } = reports[0] as Report
  const bodies = reports.map(bodyOf)
  const isBatch = bodies.length > 1 || world.random.chance(0.1)
  const { status, body } = await world.program(
    reporter,
    'POST',
    '/deposits',
    isBatch ? { deposits: bodies } : (bodies[0] as object),
  )
  if (!isBatch) return [{ status, document: body }]
  if (status !== 200) throw new Error(`a batch was answered ${status}: ${JSON.stringify(body)}`)
  return body.results.map(({ deposit, problem }: Json) =>
    problem === undefined ? { status: 200, document: deposit } : { status: problem.status, document: problem },
  )
}

function note(
  world: World,
  { payment, terms, status }: Report,
  { status: answered, document }: Result,
  before: Before,
): void {
  const reject = (what: string) =>
    world.violations.push(`a report of payment ${payment.number} ${what}: ${status} ${JSON.stringify(document)}`)
  world.count(`report: ${status} ${answered}`)
  if (answered === 200) {
    payment.depositId ??= document.id
    if (payment.depositId !== document.id) reject('made a second deposit')
    // What was seen first are the terms until a report is COMPLETED.
    if (!payment.isSeen) payment.terms = terms
    payment.isSeen = true
    if (status !== 'COMPLETED') return
    if (document.status !== 'COMPLETED') reject('was acknowledged and is not COMPLETED')
    if (!payment.isCompleted) {
      payment.isCompleted = true
      if (!payment.isCorrected && !isSame(payment.terms, terms)) {
        payment.terms = isAssigned(payment) ? { ...terms, profileId: payment.terms.profileId } : terms
      }
      holdReviewed(payment)
      payment.revisions.push(terms)
      return
    }
    const isDecided = payment.isCorrected || payment.proposed !== undefined || isAssigned(payment)
    const revisions = [...payment.revisions, payment.proposed ?? payment.terms]
    if (!revisions.some((each) => isRevision(each, terms, isDecided))) reject('was accepted with other terms')
    return
  }
  if (answered !== 409 || document.code !== 'deposit_conflict') return void reject(`was answered ${answered}`)
  if (status === 'FAILED') return
  if (before.revisions.some((each) => isRevision(each, terms, before.isCorrected))) {
    reject('was rejected with terms that it has had')
  }
}

/** Once a person has decided about a payment, every place of a profile stands for the profile. */
function isRevision(revision: Terms, terms: Terms, isDecided: boolean): boolean {
  const place = isDecided && terms.profileId !== undefined && terms.profileId === revision.profileId
  return isSame(revision, place ? { ...terms, place: revision.place } : terms)
}

/** To a profile by a person, or by a correction. */
function isAssigned({ terms: { profileId, place } }: Payment): boolean {
  return profileId !== place.profileId
}

/** What is credited to a profile waits for a person when it is large. */
export function holdReviewed(payment: Payment): void {
  const { isCompleted, terms, base } = payment
  if (!isCompleted || terms.profileId === undefined || base !== null) return
  if (!isReviewed(terms.units, terms.asset)) return
  payment.base = 'HELD'
  payment.isHeldByReview = true
}

export function isSame(one: Terms, other: Terms): boolean {
  return one.asset === other.asset && one.units === other.units && one.place === other.place
}
