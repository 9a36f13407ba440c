/**
 * Tests a payment endpoint for ways to pay a delivery twice, or to pay it and also refuse it: sequential and concurrent
 * repeats, connections that are cut, requests that must not be trusted. It sees only the answers of the endpoint, so it
 * also keeps what these cannot show (`notKnown`). See docs/how-to/deliveries.md for how an endpoint must handle these requests.
 */
import { randomBytes } from 'node:crypto'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { outcomeOf, type WebhookOutcome } from '../../../money/deliveries/webhook-answer.ts'
import { postWebhook } from '../../../money/deliveries/webhook-request.ts'
import { signatureHeaders } from '../../../money/deliveries/webhook-signature.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import { newId } from '../../../platform/base/ids.ts'

export interface ExecutorUnderTest {
  readonly url: string
  /** One of them is enough for the endpoint. */
  readonly secrets: readonly string[]
  readonly clock: Clock
}

export interface CheckResult {
  readonly name: string
  readonly rule: string
  /** The observed violation; absent: the rule holds, or was not checked. */
  readonly violation?: string
  /** Why the rule was not checked. */
  readonly notChecked?: string
  /** Whether a delivery would have been paid twice, or paid and returned. */
  readonly losesMoney?: true
}

/** The requested outcome of a test delivery: `metadata.tidegate_check`. */
type Wanted = 'settle' | 'refuse'

interface Sent {
  readonly id: string
  readonly body: string
}

/** The first result of each test delivery. */
interface Result {
  readonly delivery: Sent
  readonly outcome: WebhookOutcome & { readonly kind: 'settled' | 'refused' }
}

/** An endpoint with what it has answered so far. */
export interface ExecutorSession extends ExecutorUnderTest {
  readonly results: Map<string, Result>
  /** Whether a settled delivery was answered without the number of payments made for it. */
  hidesPayments: boolean
}

export function newSession(executor: ExecutorUnderTest): ExecutorSession {
  return { ...executor, results: new Map(), hidesPayments: false }
}

/** Differences from an ordinary request. */
interface Change {
  readonly secrets?: readonly string[]
  readonly ageSeconds?: number
  readonly sentBody?: string
  readonly headers?: (headers: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
}

export class Violation extends Error {
  override name = 'Violation'
  readonly losesMoney: boolean

  constructor(message: string, losesMoney = false) {
    super(message)
    this.losesMoney = losesMoney
  }
}

type Check = (executor: ExecutorSession) => Promise<void>

const PARALLEL = 10
const REPEATS = 3
/** Further from the current time than a receiver should accept. */
const OLD_SECONDS = 3_600

const CHECKS: readonly (readonly [name: string, rule: string, check: Check])[] = [
  ['settles', 'a delivery is paid, and answered with SETTLED and a reference', settles],
  ['repeats', 'repeats of one webhook-id are answered with the reference of the first payment', repeats],
  ['parallel-repeats', `${PARALLEL} requests with one webhook-id at once make one payment`, parallelRepeats],
  [
    'cut-before-answer',
    'a request whose connection is cut before the answer, and its repeats, make one payment',
    cutEarly,
  ],
  ['cut-in-answer', 'an answer that is cut off, and the repeats that follow, belong to one payment', cutLate],
  ['distinct-deliveries', 'two deliveries of equal amount and destination are two payments', distinct],
  ['changed-body', 'a known webhook-id with another amount pays nothing more and is not refused', changedBody],
  ['refusals', 'a refused delivery stays refused', refusals],
  ['unknown-members', 'members that the endpoint does not know change nothing', unknownMembers],
  ['wrong-signature', 'a request that is signed with another secret is not answered with a success', wrongSignature],
  ['no-signature', 'a request without a signature is not answered with a success', noSignature],
  ['altered-body', 'a body that was altered after it was signed is not answered with a success', alteredBody],
  [
    'old-timestamp',
    'a request that was signed an hour ago, or in an hour, is not answered with a success',
    oldTimestamp,
  ],
  ['two-signatures', 'of several signatures one that is valid is enough, in any place', twoSignatures],
  // The last one: it looks at the answers of all others.
  ['own-references', 'every payment is answered with a reference of its own', ownReferences],
]

/** Every rule with its description. */
export const EXECUTOR_RULES: readonly (readonly [name: string, rule: string])[] = CHECKS.map(([name, rule]) => [
  name,
  rule,
])

/** Runs every check, one after another. */
export async function checkExecutor(executor: ExecutorSession): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = []
  for (const [name, rule, check] of CHECKS) results.push(await resultOf(name, rule, () => check(executor)))
  return results
}

/** Runs a check; a violation is its result. */
export async function resultOf(name: string, rule: string, check: () => Promise<void>): Promise<CheckResult> {
  try {
    await check()
    return { name, rule }
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return { name, rule, violation: error.message, ...(error.losesMoney ? { losesMoney: true } : {}) }
  }
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
  await sendAndCut(executor, delivery, 'before the answer')
  await expectRepeats(executor, delivery, referenceOf(await send(executor, delivery)))
}

async function cutLate(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('settle')
  const seen = await sendAndCut(executor, delivery, 'in the answer')
  const first = outcomeOf({ kind: 'answered', status: 200, body: seen })
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

async function wrongSignature(executor: ExecutorSession): Promise<void> {
  await expectDistrust(executor, { secrets: [newSecret()] })
}

async function noSignature(executor: ExecutorSession): Promise<void> {
  await expectDistrust(executor, { headers: ({ 'webhook-signature': _, ...rest }) => rest })
  await expectDistrust(executor, { headers: (headers) => ({ ...headers, 'webhook-signature': '' }) })
}

async function alteredBody(executor: ExecutorSession): Promise<void> {
  const delivery = newDelivery('settle')
  await expectDistrust(executor, { sentBody: delivery.body.replace('"1.25"', '"9.25"') }, delivery)
}

async function oldTimestamp(executor: ExecutorSession): Promise<void> {
  await expectDistrust(executor, { ageSeconds: OLD_SECONDS })
  await expectDistrust(executor, { ageSeconds: -OLD_SECONDS })
}

async function ownReferences(executor: ExecutorSession): Promise<void> {
  const shared = sharedReference(executor)
  if (shared !== undefined) throw new Violation(`${shared} payments were answered with the same reference`)
}

/** The number of payments that were answered with one and the same reference; undefined: each has its own. */
function sharedReference(executor: ExecutorSession): number | undefined {
  const counts = new Map<string, number>()
  for (const reference of paidIn(executor)) counts.set(reference, (counts.get(reference) ?? 0) + 1)
  return [...counts.values()].find((count) => count > 1)
}

function paidIn({ results }: ExecutorSession): readonly string[] {
  return [...results.values()].flatMap(({ outcome }) => (outcome.kind === 'settled' ? [outcome.reference] : []))
}

async function twoSignatures(executor: ExecutorSession): Promise<void> {
  const [secret = ''] = executor.secrets
  for (const secrets of [
    [newSecret(), secret],
    [secret, newSecret()],
  ]) {
    referenceOf(await send(executor, newDelivery('settle'), { secrets }))
  }
  // A signature of an unknown version precedes the known one.
  const later = (headers: Readonly<Record<string, string>>) => ({
    ...headers,
    'webhook-signature': `v1a,${Buffer.alloc(64).toString('base64')} ${headers['webhook-signature']}`,
  })
  referenceOf(await send(executor, newDelivery('settle'), { headers: later }))
}

/** Expects that the request is not answered with a success, and that the valid request afterwards is paid once. */
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

function referenceOf(outcome: WebhookOutcome): string {
  if (outcome.kind === 'settled') return outcome.reference
  throw new Violation(`it was answered with ${nameOf(outcome)} instead of SETTLED`)
}

export function nameOf(outcome: WebhookOutcome): string {
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

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

function requestOf({ secrets: ours, clock }: ExecutorUnderTest, { id, body }: Sent, change: Change) {
  const { secrets = ours, ageSeconds = 0, sentBody = body, headers: adapt = (headers) => headers } = change
  const timestamp = Math.floor(clock.wallInstant().milliseconds / 1000) - ageSeconds
  return { headers: adapt(signatureHeaders({ id, timestamp, body }, secrets)), body: sentBody }
}

/** Sends a delivery, and keeps its first result. */
export async function send(executor: ExecutorSession, delivery: Sent, change: Change = {}): Promise<WebhookOutcome> {
  const { url, clock, results } = executor
  const request = { ...requestOf(executor, delivery, change), url, allowPrivate: true }
  const reply = await postWebhook(request, { clock })
  const outcome = outcomeOf(reply)
  const payments = reply.kind === 'answered' ? paymentsIn(reply.body) : undefined
  if (outcome.kind === 'settled' && payments === undefined) executor.hidesPayments = true
  if ((outcome.kind === 'settled' || outcome.kind === 'refused') && !results.has(delivery.id)) {
    results.set(delivery.id, { delivery, outcome })
  }
  if (payments !== undefined && payments > 1) {
    throw new Violation(`the endpoint reports ${payments} payments for one webhook-id`, true)
  }
  return outcome
}

/** Number of payments that the endpoint reports for this id; undefined when it reports none. */
function paymentsIn(body: string): number | undefined {
  const [, count] = /"payments"\s*:\s*([0-9]{1,9})\b/.exec(body) ?? []
  return count === undefined ? undefined : Number(count)
}

/** Sends a delivery and cuts the connection; returns the part of the answer received until then. */
function sendAndCut(
  executor: ExecutorSession,
  delivery: Sent,
  when: 'before the answer' | 'in the answer',
): Promise<string> {
  const { headers, body } = requestOf(executor, delivery, {})
  const url = new URL(executor.url)
  const request = url.protocol === 'http:' ? requestHttp : requestHttps
  return new Promise((resolve) => {
    let seen = ''
    const end = () => resolve(seen)
    const outgoing = request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
      agent: false,
      timeout: 10_000,
    })
    outgoing.on('error', end)
    outgoing.on('close', end)
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('response', (response) => {
      response.on('error', end)
      response.once('data', (part: Buffer) => {
        seen = part.toString()
        outgoing.destroy()
      })
    })
    // The kernel has all bytes by then, so the endpoint reads the request and finds its client gone.
    outgoing.end(body, () => {
      if (when === 'before the answer') outgoing.destroy()
    })
  })
}
