/**
 * Tests a payment endpoint for ways to pay a delivery twice, or to pay it and also refuse it: sequential and concurrent
 * repeats, cut connections, untrusted requests. The sender is passed in. Only the endpoint's answers are visible, so
 * the check also keeps what they cannot show (`notKnown`). docs/how-to/deliveries.md describes how an endpoint must
 * handle these requests.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { newId } from '../../../platform/base/ids.ts'
import { Failed, type Outcome, runScenarios } from '../harness.ts'
import { type Change, type Sent, UNTRUSTED, withTwoSignatures } from '../signed-request.ts'

/** How a request for a payment ended. */
export type PaymentOutcome =
  | { readonly kind: 'settled'; readonly reference: string }
  /** Not paid, and it never will be. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** Accepted by the executor, not paid yet. */
  | { readonly kind: 'accepted'; readonly detail: string }
  /** It may or may not have been paid. */
  | { readonly kind: 'unknown'; readonly detail: string }

/** Sends deliveries to an endpoint, as the service does. */
export interface PaymentSender {
  readonly url: string
  readonly clock: Clock
  /** The endpoint needs only one. */
  readonly secrets: readonly string[]
  /** The outcome, and the body of an answer. */
  send(delivery: Sent, change: Change): Promise<{ readonly outcome: PaymentOutcome; readonly body: string | undefined }>
  /** Cuts the connection. The outcome follows from the bytes received before the cut. */
  sendAndCut(delivery: Sent, when: Cut): Promise<PaymentOutcome>
  /** The status that answers an unsigned request, which pays nothing. Undefined without an answer. */
  probe(): Promise<number | undefined>
}

export type Cut = 'before the answer' | 'in the answer'

export interface CheckResult {
  readonly name: string
  readonly rule: string
  /** The observed violation. Absent: the rule holds, or was not checked. */
  readonly violation?: string
  /** Why the rule was not checked. */
  readonly notChecked?: string
  /** Whether a delivery would have been paid twice, or paid and returned. */
  readonly losesMoney?: true
}

/** The outcome a test delivery requests: `metadata.tidegate_check`. */
type Wanted = 'settle' | 'refuse'

/** A test delivery's first result. */
interface Result {
  readonly delivery: Sent
  readonly outcome: PaymentOutcome & { readonly kind: 'settled' | 'refused' }
}

/** An endpoint with what it has answered so far. */
export interface ExecutorSession {
  readonly sender: PaymentSender
  readonly results: Map<string, Result>
  /** Whether an answer to a settled delivery lacked its number of payments. */
  hidesPayments: boolean
}

export function newSession(sender: PaymentSender): ExecutorSession {
  return { sender, results: new Map(), hidesPayments: false }
}

export class Violation extends Failed {
  override name = 'Violation'
  readonly losesMoney: boolean

  constructor(message: string, losesMoney = false) {
    super(message)
    this.losesMoney = losesMoney
  }
}

/** One rule, with the requests that test it. */
export interface ExecutorScenario {
  readonly name: string
  readonly rule: string
  readonly play: (executor: ExecutorSession) => Promise<void>
}

const PARALLEL = 10
const REPEATS = 3
const CHECKS: readonly (readonly [name: string, rule: string, play: ExecutorScenario['play']])[] = [
  ['settles', 'a delivery is paid, and answered with SETTLED and a reference', settles],
  ['repeats', 'repeats of one webhook-id are answered with the first payment’s reference', repeats],
  ['parallel-repeats', `${PARALLEL} requests with one webhook-id at once make one payment`, parallelRepeats],
  [
    'cut-before-answer',
    'a request whose connection is cut before the answer, and its repeats, make one payment',
    cutEarly,
  ],
  ['cut-in-answer', 'a cut-off answer and the repeats after it belong to one payment', cutLate],
  ['distinct-deliveries', 'two deliveries with equal amount and destination are two payments', distinct],
  ['changed-body', 'a known webhook-id with another amount pays nothing more and is not refused', changedBody],
  ['refusals', 'a refused delivery stays refused', refusals],
  ['unknown-members', 'unknown members change nothing', unknownMembers],
  [
    'wrong-signature',
    'a request signed with another secret is not answered with a success',
    distrusts('wrong-signature'),
  ],
  ['no-signature', 'a request without a signature is not answered with a success', distrusts('no-signature')],
  ['altered-body', 'a body altered after signing is not answered with a success', alteredBody],
  ['altered-id', 'a webhook-id altered after signing is not answered with a success', distrusts('altered-id')],
  [
    'old-timestamp',
    'a request signed an hour ago, or in an hour, is not answered with a success',
    distrusts('old-timestamp'),
  ],
  ['two-signatures', 'among several signatures one valid one is enough, in any place', twoSignatures],
  // The last one: it compares the answers to all others.
  ['own-references', 'every payment is answered with its own reference', ownReferences],
]

/** All scenarios except the restart. */
export const EXECUTOR_SCENARIOS: readonly ExecutorScenario[] = CHECKS.map(([name, rule, play]) => ({
  name,
  rule,
  play,
}))

/** Plays the scenarios, one after another. */
export function checkExecutor(
  executor: ExecutorSession,
  scenarios: readonly ExecutorScenario[] = EXECUTOR_SCENARIOS,
): Promise<readonly CheckResult[]> {
  return runScenarios<ExecutorScenario, CheckResult>({
    scenarios,
    clock: executor.sender.clock,
    play: async ({ play }) => {
      await play(executor)
      return undefined
    },
    resultOf: ({ name, rule }, outcome) => ({ name, rule, ...verdictOf(outcome) }),
  })
}

function verdictOf(outcome: Outcome): Omit<CheckResult, 'name' | 'rule'> {
  if (outcome.kind === 'passed') return {}
  if (outcome.kind === 'skipped') return { notChecked: outcome.reason }
  const losesMoney = outcome.failure instanceof Violation && outcome.failure.losesMoney
  return { violation: outcome.failure.message, ...(losesMoney ? { losesMoney: true } : {}) }
}

/** What the answers cannot show, although every rule may hold. */
export function notKnown(executor: ExecutorSession, results: readonly CheckResult[]): readonly string[] {
  const unknown: string[] = []
  if (paidIn(executor).length === 0) unknown.push('whether it pays at all: no delivery was answered with SETTLED')
  if (sharedReference(executor) !== undefined) {
    unknown.push('which payments were made, and how often: several were answered with one reference')
  }
  if (executor.hidesPayments) {
    unknown.push('whether a repeat paid again with the first reference: the answers have no member `payments`')
  }
  for (const { name, notChecked } of results) if (notChecked !== undefined) unknown.push(`${name}: ${notChecked}`)
  return unknown
}

async function settles(executor: ExecutorSession): Promise<void> {
  referenceOf(await send(executor, newDelivery('settle')))
}

async function repeats(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('settle')
  const first = referenceOf(await send(executor, delivery))
  await expectRepeats(executor, delivery, first)
}

async function parallelRepeats(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('settle')
  const outcomes = await Promise.all(Array.from({ length: PARALLEL }, () => send(executor, delivery)))
  const references = new Set(outcomes.flatMap((outcome) => (outcome.kind === 'settled' ? [outcome.reference] : [])))
  if (references.size > 1) throw new Violation(`${references.size} references came back for one webhook-id`, true)
  const paid = [...references][0]
  const isRefused = outcomes.some(({ kind }) => kind === 'refused')
  if (isRefused) throw new Violation('one of them was refused', true)
  await expectRepeats(executor, delivery, paid ?? referenceOf(await send(executor, delivery)))
}

async function cutEarly(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('settle')
  await executor.sender.sendAndCut(delivery, 'before the answer')
  await expectRepeats(executor, delivery, referenceOf(await send(executor, delivery)))
}

async function cutLate(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('settle')
  const first = await executor.sender.sendAndCut(delivery, 'in the answer')
  const repeated = referenceOf(await send(executor, delivery))
  await expectRepeats(executor, delivery, first.kind === 'settled' ? first.reference : repeated)
}

async function distinct(executor: ExecutorSession): Promise<void> {
  const first = referenceOf(await send(executor, newDelivery('settle')))
  const second = referenceOf(await send(executor, newDelivery('settle')))
  if (first === second) throw new Violation('both were answered with the same reference: one of them is not paid')
}

async function changedBody(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('settle')
  const first = referenceOf(await send(executor, delivery))
  const changed = await send(executor, { ...delivery, body: delivery.body.replace('"1.25"', '"2.5"') })
  if (changed.kind === 'settled' && changed.reference !== first) throw new Violation('it was paid again', true)
  if (changed.kind === 'refused') throw new Violation('it was refused, although the delivery had been paid', true)
  await expectRepeats(executor, delivery, first)
}

async function refusals(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('refuse')
  for (let attempt = 0; attempt < REPEATS; attempt++) {
    const outcome = await send(executor, delivery)
    if (outcome.kind === 'refused') continue
    if (attempt > 0) throw new Violation(`a repeat was answered with ${nameOf(outcome)}`, outcome.kind === 'settled')
    throw new Violation(`it was answered with ${nameOf(outcome)} instead of REFUSED`)
  }
}

async function unknownMembers(executor: ExecutorSession): Promise<void> {
  const { id, body } = newDelivery('settle')
  const { data, ...message } = JSON.parse(body)
  const extended = JSON.stringify({ ...message, added_later: [1], data: { ...data, added_later: { a: null } } })
  referenceOf(await send(executor, { id, body: extended }))
}

function distrusts(rule: keyof typeof UNTRUSTED): ExecutorScenario['play'] {
  return async (executor) => {
    for (const change of UNTRUSTED[rule]()) await expectDistrust(executor, change)
  }
}

async function alteredBody(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('settle')
  await expectDistrust(executor, { sentBody: delivery.body.replace('"1.25"', '"9.25"') }, delivery)
}

async function ownReferences(executor: ExecutorSession): Promise<void> {
  const shared = sharedReference(executor)
  if (shared !== undefined) throw new Violation(`${shared} payments were answered with the same reference`)
}

/** How many payments were answered with one reference. Undefined: each has its own. */
function sharedReference(executor: ExecutorSession): number | undefined {
  const counts = new Map<string, number>()
  for (const reference of paidIn(executor)) counts.set(reference, (counts.get(reference) ?? 0) + 1)
  return [...counts.values()].find((count) => count > 1)
}

function paidIn({ results }: ExecutorSession): readonly string[] {
  return [...results.values()].flatMap(({ outcome }) => (outcome.kind === 'settled' ? [outcome.reference] : []))
}

async function twoSignatures(executor: ExecutorSession): Promise<void> {
  const [secret = ''] = executor.sender.secrets
  for (const change of withTwoSignatures(secret)) referenceOf(await send(executor, newDelivery('settle'), change))
}

/** Expects an answer without success, and one payment for the valid request that follows. */
async function expectDistrust(
  executor: ExecutorSession,
  change: Change,
  delivery = newDelivery('settle'),
): Promise<void> {
  const outcome = await send(executor, delivery, change)
  if (outcome.kind !== 'unknown') {
    const isPaid = outcome.kind === 'settled'
    throw new Violation(`it was answered with ${nameOf(outcome)}: any client could request a payment`, isPaid)
  }
  await expectRepeats(executor, delivery, referenceOf(await send(executor, delivery)))
}

async function expectRepeats(executor: ExecutorSession, delivery: Sent, reference: string): Promise<void> {
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const outcome = await send(executor, delivery)
    if (outcome.kind === 'settled' && outcome.reference === reference) continue
    if (outcome.kind === 'settled') throw new Violation('a repeat was answered with another reference', true)
    throw new Violation(`a repeat was answered with ${nameOf(outcome)}`, outcome.kind === 'refused')
  }
}

function referenceOf(outcome: PaymentOutcome): string {
  if (outcome.kind === 'settled') return outcome.reference
  throw new Violation(`it was answered with ${nameOf(outcome)} instead of SETTLED`)
}

export function nameOf(outcome: PaymentOutcome): string {
  if (outcome.kind === 'settled') return 'SETTLED'
  return outcome.kind === 'refused'
    ? 'REFUSED'
    : outcome.kind === 'accepted'
      ? 'ACCEPTED'
      : `no answer (${outcome.detail})`
}

function newDelivery(wanted: Wanted): Sent {
  const id = newId()
  const destination = { fiat: { fiat_account_id: 'tidegate-check' } }
  const data = { id, asset: 'USD', amount: '1.25', destination, metadata: { tidegate_check: wanted } }
  return { id, body: JSON.stringify({ type: 'delivery.requested', timestamp: new Date().toISOString(), data }) }
}

/** Sends a delivery, and keeps its first result. */
export async function send(executor: ExecutorSession, delivery: Sent, change: Change = {}): Promise<PaymentOutcome> {
  const { sender, results } = executor
  const { outcome, body } = await sender.send(delivery, change)
  const payments = body === undefined ? undefined : paymentsIn(body)
  if (outcome.kind === 'settled' && payments === undefined) executor.hidesPayments = true
  if ((outcome.kind === 'settled' || outcome.kind === 'refused') && !results.has(delivery.id)) {
    results.set(delivery.id, { delivery, outcome })
  }
  if (payments !== undefined && payments > 1) {
    throw new Violation(`the endpoint reports ${payments} payments for one webhook-id`, true)
  }
  return outcome
}

/** The payments which the endpoint reports for this id. Undefined when it reports no number. */
function paymentsIn(body: string): number | undefined {
  const [, count] = /"payments"\s*:\s*([0-9]{1,9})\b/.exec(body) ?? []
  return count === undefined ? undefined : Number(count)
}
