/**
 * Tests a screening hook: repeats, concurrent and changed questions, untrusted requests, and slow answers. The sender
 * is passed in. docs/how-to/screening.md describes how a hook must answer.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { newId } from '../../../platform/base/ids.ts'
import { Failed, runScenarios } from '../harness.ts'
import { type Change, type Sent, UNTRUSTED, withTwoSignatures } from '../signed-request.ts'

type Decision = 'ALLOW' | 'HOLD' | 'REJECT'

export type QuestionOutcome =
  | { readonly kind: 'decided'; readonly decision: Decision }
  | { readonly kind: 'unanswered'; readonly fault: string }

/** Sends questions to a hook, as the service does. */
export interface QuestionSender {
  readonly clock: Clock
  /** The hook needs only one. */
  readonly secrets: readonly string[]
  send(question: Sent, change: Change): Promise<QuestionOutcome>
}

export interface ScreeningCheckResult {
  readonly name: string
  readonly rule: string
  /** The observed violation. Absent: the rule holds. */
  readonly violation?: string
}

interface Hook {
  readonly sender: QuestionSender
  /** The longest time until an answer. */
  slowestMilliseconds: number
}

export interface ScreeningScenario {
  readonly name: string
  readonly rule: string
  readonly play: (hook: Hook) => Promise<void>
}

/** What a test question asks for: `tidegate_check` in its data. */
const WANTED = { allow: 'ALLOW', hold: 'HOLD', reject: 'REJECT' } as const

type Wanted = keyof typeof WANTED

const PARALLEL = 20
const REPEATS = 3
/** The service waits this long. The rule leaves a margin for busy days. */
const ANSWER_SECONDS_MAX = 10
const SLOW_SECONDS = 3

const CHECKS: readonly (readonly [name: string, rule: string, play: ScreeningScenario['play']])[] = [
  ['decides', 'a deposit and a payment are answered with ALLOW, HOLD and REJECT as they ask for', decides],
  ['repeats', 'repeats of one webhook-id are answered with the first decision', repeats],
  ['parallel-questions', `${PARALLEL} questions at once are each answered with their own id`, parallelQuestions],
  ['parallel-repeats', `${PARALLEL} requests with one webhook-id at once get one decision`, parallelRepeats],
  ['equal-questions', 'the same movement, asked again with another id, gets the same decision', equalQuestions],
  ['changed-movement', 'a movement with other terms is a new question, answered with its own id', changedMovement],
  ['changed-body', 'a known webhook-id with other terms is not allowed', changedBody],
  ['unknown-members', 'unknown members change nothing', unknownMembers],
  [
    'wrong-signature',
    'a request signed with another secret is not answered with a decision',
    distrusts('wrong-signature'),
  ],
  ['no-signature', 'a request without a signature is not answered with a decision', distrusts('no-signature')],
  ['altered-body', 'a body altered after signing is not answered with a decision', alteredBody],
  [
    'old-timestamp',
    'a request signed an hour ago, or in an hour, is not answered with a decision',
    distrusts('old-timestamp'),
  ],
  ['two-signatures', 'among several signatures one valid one is enough, in any place', twoSignatures],
  // The last one: it measures the answers to all others.
  ['in-time', `every answer arrives within ${SLOW_SECONDS} seconds`, inTime],
]

export const SCREENING_SCENARIOS: readonly ScreeningScenario[] = CHECKS.map(([name, rule, play]) => ({
  name,
  rule,
  play,
}))

/** Plays the scenarios, one after another. */
export function checkScreening(sender: QuestionSender): Promise<readonly ScreeningCheckResult[]> {
  const hook: Hook = { sender, slowestMilliseconds: 0 }
  return runScenarios<ScreeningScenario, ScreeningCheckResult>({
    scenarios: SCREENING_SCENARIOS,
    clock: sender.clock,
    play: async ({ play }) => {
      await play(hook)
      return undefined
    },
    resultOf: ({ name, rule }, outcome) => ({
      name,
      rule,
      ...(outcome.kind === 'failed' ? { violation: outcome.failure.message } : {}),
    }),
  })
}

async function decides(hook: Hook): Promise<void> {
  for (const type of ['deposit', 'payment'] as const) {
    for (const wanted of Object.keys(WANTED) as Wanted[]) {
      expectDecision(
        await send(hook, newQuestion(wanted, { type })),
        WANTED[wanted],
        `a ${type} that asks for ${wanted}`,
      )
    }
  }
}

async function repeats(hook: Hook): Promise<void> {
  const question = newQuestion('hold')
  for (let attempt = 0; attempt <= REPEATS; attempt++) {
    expectDecision(await send(hook, question), 'HOLD', attempt === 0 ? 'the first request' : 'a repeat')
  }
}

async function parallelQuestions(hook: Hook): Promise<void> {
  const questions = Array.from({ length: PARALLEL }, () => newQuestion('allow'))
  for (const outcome of await Promise.all(questions.map((question) => send(hook, question)))) {
    expectDecision(outcome, 'ALLOW', 'one of them')
  }
}

async function parallelRepeats(hook: Hook): Promise<void> {
  const question = newQuestion('reject')
  const outcomes = await Promise.all(Array.from({ length: PARALLEL }, () => send(hook, question)))
  for (const outcome of outcomes) expectDecision(outcome, 'REJECT', 'one of them')
}

async function equalQuestions(hook: Hook): Promise<void> {
  for (const wanted of Object.keys(WANTED) as Wanted[]) {
    const movement = { id: newId() }
    expectDecision(await send(hook, newQuestion(wanted, movement)), WANTED[wanted], 'the first question')
    expectDecision(await send(hook, newQuestion(wanted, movement)), WANTED[wanted], 'the second question')
  }
}

async function changedMovement(hook: Hook): Promise<void> {
  const movement = { id: newId() }
  expectDecision(await send(hook, newQuestion('allow', movement)), 'ALLOW', 'the first terms')
  const changed = newQuestion('reject', { ...movement, amount: '1250000' }, 2)
  expectDecision(await send(hook, changed), 'REJECT', 'the changed terms')
}

async function changedBody(hook: Hook): Promise<void> {
  const question = newQuestion('allow')
  expectDecision(await send(hook, question), 'ALLOW', 'the first request')
  const body = question.body.replace('"1.25"', '"1250000"')
  const changed = await send(hook, { ...question, body })
  if (changed.kind === 'decided' && changed.decision === 'ALLOW') {
    throw new Failed('other terms with the same id were answered with ALLOW')
  }
  expectDecision(await send(hook, question), 'ALLOW', 'a repeat of the first request')
}

async function unknownMembers(hook: Hook): Promise<void> {
  const { id, body } = newQuestion('allow')
  const { data, ...message } = JSON.parse(body)
  const extended = JSON.stringify({ ...message, added_later: [1], data: { ...data, added_later: { a: null } } })
  expectDecision(await send(hook, { id, body: extended }), 'ALLOW', 'it')
}

function distrusts(rule: keyof typeof UNTRUSTED): ScreeningScenario['play'] {
  return async (hook) => {
    for (const change of UNTRUSTED[rule]()) await expectDistrust(hook, newQuestion('allow'), change)
  }
}

async function alteredBody(hook: Hook): Promise<void> {
  const question = newQuestion('allow')
  await expectDistrust(hook, question, { sentBody: question.body.replace('"1.25"', '"9.25"') })
}

async function twoSignatures(hook: Hook): Promise<void> {
  const [secret = ''] = hook.sender.secrets
  for (const change of withTwoSignatures(secret)) {
    expectDecision(await send(hook, newQuestion('allow'), change), 'ALLOW', 'it')
  }
}

async function inTime({ slowestMilliseconds }: Hook): Promise<void> {
  if (slowestMilliseconds <= SLOW_SECONDS * 1_000) return
  const seconds = (slowestMilliseconds / 1_000).toFixed(1)
  throw new Failed(`the slowest took ${seconds} seconds. After ${ANSWER_SECONDS_MAX} the service asks again`)
}

/** Expects no decision for the untrusted request, and the right one for the valid request that follows. */
async function expectDistrust(hook: Hook, question: Sent, change: Change): Promise<void> {
  const outcome = await send(hook, question, change)
  if (outcome.kind === 'decided') {
    throw new Failed(`it was answered with ${outcome.decision}: any client could learn who is screened and how`)
  }
  expectDecision(await send(hook, question), 'ALLOW', 'the valid request after it')
}

function expectDecision(outcome: QuestionOutcome, wanted: Decision, what: string): void {
  if (outcome.kind === 'unanswered') throw new Failed(`${what} has no answer: ${outcome.fault}`)
  if (outcome.decision !== wanted)
    throw new Failed(`${what} was answered with ${outcome.decision} instead of ${wanted}`)
}

async function send(hook: Hook, question: Sent, change: Change = {}): Promise<QuestionOutcome> {
  const { clock } = hook.sender
  const start = clock.monotonicMilliseconds()
  const outcome = await hook.sender.send(question, change)
  hook.slowestMilliseconds = Math.max(hook.slowestMilliseconds, clock.monotonicMilliseconds() - start)
  return outcome
}

function newQuestion(wanted: Wanted, changes: Readonly<Record<string, string>> = {}, revision = 1): Sent {
  const id = newId()
  const destination = { fiat: { fiat_account_id: 'tidegate-check' } }
  const movement = { id: newId(), type: 'payment', asset: 'USD', amount: '1.25', destination, ...changes }
  const data = { id, screening_id: newId(), revision, tidegate_check: wanted, movement }
  return { id, body: JSON.stringify({ type: 'screening.requested', timestamp: new Date().toISOString(), data }) }
}
