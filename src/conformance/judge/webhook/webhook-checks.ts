/**
 * Tests a customer's webhook endpoint: repeats, reordered and unknown events, untrusted requests, and slow answers. Only
 * the answers' statuses are seen: whether a repeated event has an effect is the endpoint's own business. The sender is
 * passed in. docs/how-to/webhooks.md describes what an endpoint must do.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { newId } from '../../../platform/base/ids.ts'
import { Failed, runScenarios } from '../harness.ts'
import { type Change, type Sent, UNTRUSTED, withTwoSignatures } from '../signed-request.ts'

/** `accepted`: answered with 2xx. Otherwise the detail says what happened. */
export type EventOutcome = { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly detail: string }

/** Sends events to an endpoint, as the service does. */
export interface EventSender {
  readonly clock: Clock
  /** The endpoint needs only one. */
  readonly secrets: readonly string[]
  send(event: Sent, change: Change): Promise<EventOutcome>
}

export interface WebhookCheckResult {
  readonly name: string
  readonly rule: string
  /** The observed violation. Absent: the rule holds. */
  readonly violation?: string
}

interface Endpoint {
  readonly sender: EventSender
  /** The longest time until an answer. */
  slowestMilliseconds: number
}

export interface WebhookScenario {
  readonly name: string
  readonly rule: string
  readonly play: (endpoint: Endpoint) => Promise<void>
}

const PARALLEL = 8
const REPEATS = 3
/** The service waits this long. The rule leaves a margin for busy days. */
const ANSWER_SECONDS_MAX = 10
const SLOW_SECONDS = 3

const CHECKS: readonly (readonly [name: string, rule: string, play: WebhookScenario['play']])[] = [
  ['accepts', 'a signed event is accepted: answered with 2xx', (endpoint) => expectAccepted(endpoint, newEvent())],
  ['test-event', 'a test event, with is_test and the sequence 0, is accepted', testEvent],
  ['repeats', 'a repeated event, with the same webhook-id, is accepted each time', repeats],
  ['parallel-repeats', `${PARALLEL} requests with one webhook-id at once are accepted`, parallelRepeats],
  ['parallel-events', `${PARALLEL} events about different objects at once are accepted`, parallelEvents],
  ['reordered', 'an event with an earlier sequence, as after a replay, is accepted', reordered],
  ['unknown-type', 'an event with an unknown type is accepted: new versions add types', unknownType],
  ['unknown-members', 'unknown members change nothing', unknownMembers],
  ['wrong-signature', 'a request signed with another secret is not accepted', distrusts('wrong-signature')],
  ['no-signature', 'a request without a signature is not accepted', distrusts('no-signature')],
  ['altered-body', 'a body altered after signing is not accepted', alteredBody],
  ['altered-id', 'a webhook-id altered after signing is not accepted', distrusts('altered-id')],
  ['old-timestamp', 'a request signed an hour ago, or in an hour, is not accepted', distrusts('old-timestamp')],
  ['two-signatures', 'among several signatures one valid one is enough, in any place', twoSignatures],
  // The last one: it measures the answers to all others.
  ['in-time', `every answer arrives within ${SLOW_SECONDS} seconds`, inTime],
]

export const WEBHOOK_SCENARIOS: readonly WebhookScenario[] = CHECKS.map(([name, rule, play]) => ({ name, rule, play }))

/** Plays the scenarios, one after another. */
export function checkWebhook(sender: EventSender): Promise<readonly WebhookCheckResult[]> {
  const endpoint: Endpoint = { sender, slowestMilliseconds: 0 }
  return runScenarios<WebhookScenario, WebhookCheckResult>({
    scenarios: WEBHOOK_SCENARIOS,
    clock: sender.clock,
    play: async ({ play }) => {
      await play(endpoint)
      return undefined
    },
    resultOf: ({ name, rule }, outcome) => ({
      name,
      rule,
      ...(outcome.kind === 'failed' ? { violation: outcome.failure.message } : {}),
    }),
  })
}

async function testEvent(endpoint: Endpoint): Promise<void> {
  await expectAccepted(endpoint, newEvent({ type: 'webhook.endpoint.test', sequence: 0, is_test: true }))
}

async function repeats(endpoint: Endpoint): Promise<void> {
  const event = newEvent()
  for (let attempt = 0; attempt <= REPEATS; attempt++) {
    await expectAccepted(endpoint, event, attempt === 0 ? 'the first request' : 'a repeat')
  }
}

async function parallelRepeats(endpoint: Endpoint): Promise<void> {
  const event = newEvent()
  await Promise.all(Array.from({ length: PARALLEL }, () => expectAccepted(endpoint, event, 'one of them')))
}

async function parallelEvents(endpoint: Endpoint): Promise<void> {
  const events = Array.from({ length: PARALLEL }, () => newEvent())
  await Promise.all(events.map((event) => expectAccepted(endpoint, event, 'one of them')))
}

async function reordered(endpoint: Endpoint): Promise<void> {
  const object = newId()
  await expectAccepted(endpoint, newEvent({ sequence: 1_002 }, object), 'the later event')
  await expectAccepted(endpoint, newEvent({ sequence: 1_001 }, object), 'the earlier event')
}

async function unknownType(endpoint: Endpoint): Promise<void> {
  await expectAccepted(endpoint, newEvent({ type: 'added.later' }))
}

async function unknownMembers(endpoint: Endpoint): Promise<void> {
  const { id, body } = newEvent({ added_later: [1] })
  const { data, ...event } = JSON.parse(body)
  await expectAccepted(endpoint, {
    id,
    body: JSON.stringify({ ...event, data: { ...data, added_later: { a: null } } }),
  })
}

function distrusts(rule: keyof typeof UNTRUSTED): WebhookScenario['play'] {
  return async (endpoint) => {
    for (const change of UNTRUSTED[rule]()) await expectDistrust(endpoint, change)
  }
}

async function alteredBody(endpoint: Endpoint): Promise<void> {
  const event = newEvent()
  await expectDistrust(endpoint, { sentBody: event.body.replace('"COMPLETED"', '"FAILED"') }, event)
}

async function twoSignatures(endpoint: Endpoint): Promise<void> {
  const [secret = ''] = endpoint.sender.secrets
  for (const change of withTwoSignatures(secret)) await expectAccepted(endpoint, newEvent(), 'it', change)
}

async function inTime({ slowestMilliseconds }: Endpoint): Promise<void> {
  if (slowestMilliseconds <= SLOW_SECONDS * 1_000) return
  const seconds = (slowestMilliseconds / 1_000).toFixed(1)
  throw new Failed(`the slowest took ${seconds} seconds. After ${ANSWER_SECONDS_MAX} the service sends the event again`)
}

/** Expects that the untrusted request is not accepted, and that the valid one that follows is. */
async function expectDistrust(endpoint: Endpoint, change: Change, event = newEvent()): Promise<void> {
  const outcome = await send(endpoint, event, change)
  if (outcome.kind === 'accepted') throw new Failed('it was accepted: any program could send the endpoint events')
  await expectAccepted(endpoint, event, 'the valid request after it')
}

async function expectAccepted(endpoint: Endpoint, event: Sent, what = 'it', change: Change = {}): Promise<void> {
  const outcome = await send(endpoint, event, change)
  if (outcome.kind === 'refused') throw new Failed(`${what} was not accepted: ${outcome.detail}`)
}

async function send(endpoint: Endpoint, event: Sent, change: Change): Promise<EventOutcome> {
  const { clock } = endpoint.sender
  const start = clock.monotonicMilliseconds()
  const outcome = await endpoint.sender.send(event, change)
  endpoint.slowestMilliseconds = Math.max(endpoint.slowestMilliseconds, clock.monotonicMilliseconds() - start)
  return outcome
}

function newEvent(changes: Readonly<Record<string, unknown>> = {}, object = newId()): Sent {
  const id = newId()
  const time = new Date().toISOString()
  const data = { object_type: 'transfer', id: object, ref_id: 'tidegate-check', status: 'COMPLETED', changed_at: time }
  const event = {
    id,
    sequence: 1_000,
    type: 'transfer.deposit.completed',
    source: 'tidegate',
    time,
    specversion: '1.0',
    subject: `transfer/${object}`,
    object: 'event',
    is_test: false,
    ...changes,
    data,
  }
  return { id, body: JSON.stringify(event) }
}
