/** Who may fail a delivery after an attempt whose result is unknown: every kind of caller in every history of attempts. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimDeliveries, reportFailed, reportSettled } from '../../../src/money/deliveries/reports.ts'
import type { Reporter } from '../../../src/money/deliveries/unknown-attempts.ts'
import type { WebhookOutcome } from '../../../src/money/deliveries/webhook-answer.ts'
import { recordOutcome, takeDue } from '../../../src/money/deliveries/webhook-store.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addDeliveries, attemptsOf, letPass, OPERATOR, recordingOwners, rowsOf } from '../../support/deliveries.ts'
import { addAssets, addOwner, balanceOf, type Owner } from '../../support/ledger.ts'
import { openTestStore } from '../../support/test-store.ts'

let db: Db
let owner: Owner
const owners = recordingOwners()
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, { USDC: 6 })
})
afterAll(() => db?.close())
beforeEach(async () => {
  owner = await addOwner(db)
  await sql`update deliveries set next_attempt_at = null, status = 'FAILED' where next_attempt_at is not null`.execute(
    db.tables(),
  )
})

const REPORTERS = {
  alpha: { actor: 'operator:alpha', executor: 'alpha', mayDecide: false },
  beta: { actor: 'operator:beta', executor: 'beta', mayDecide: false },
  webhook: { actor: 'operator:webhook', executor: 'webhook', mayDecide: false },
  token: OPERATOR,
  person: { actor: 'operator:ines', executor: 'ines', mayDecide: true },
} as const satisfies Record<string, Reporter>
type Who = keyof typeof REPORTERS

const NO_ANSWER: WebhookOutcome = { kind: 'unknown', detail: 'no complete answer within 10 seconds' }
const ACCEPTED: WebhookOutcome = { kind: 'accepted', detail: 'ACCEPTED' }
const REFUSED: WebhookOutcome = { kind: 'refused', detail: 'closed_account' }

async function claim(executor: string): Promise<void> {
  const request = { executor, limit: 1, lease_seconds: 60 }
  await db.transaction((transaction) => claimDeliveries(transaction, owners, 'operator', request, false, ALL_DUE))
}

/** Attempts of the webhook with these answers; the last one is the present attempt. */
async function send(id: string, ...answers: readonly WebhookOutcome[]): Promise<void> {
  for (const [index, answer] of answers.entries()) {
    await letPass(db, [id], 3_600)
    await db.transaction((transaction) => takeDue(transaction, owners, 1, ALL_DUE))
    const attempt = { id, attempt: index + 1 }
    await db.transaction((transaction) => recordOutcome(transaction, owners, attempt, answer, 60))
  }
}

const letEnd = (id: string) => letPass(db, [id], 61)

/** What a gate leaves that is closed when the delivery is due again. */
async function stop(id: string, executor: string): Promise<void> {
  await sql`update controls set deliveries_paused = true`.execute(db.tables())
  await letEnd(id)
  await claim(executor)
  await sql`update controls set deliveries_paused = false`.execute(db.tables())
}

async function giveUp(id: string): Promise<void> {
  await sql`update deliveries set status = 'NEEDS_OPERATOR', next_attempt_at = null where id = ${id}`.execute(
    db.tables(),
  )
}

/** What happened to a delivery before it is reported as failed. */
const HISTORIES = {
  'nothing was handed out': async () => undefined,
  'the claim of alpha runs': () => claim('alpha'),
  'the claim of alpha has ended': async (id) => {
    await claim('alpha')
    await letEnd(id)
  },
  'the claim of alpha has ended, and a gate stops the next': async (id) => {
    await claim('alpha')
    await stop(id, 'alpha')
  },
  'alpha claims it again after its claim ended': async (id) => {
    await claim('alpha')
    await letEnd(id)
    await claim('alpha')
  },
  'alpha claims it after a claim of beta ended': async (id) => {
    await claim('beta')
    await letEnd(id)
    await claim('alpha')
  },
  'the operator has to find out what alpha did': async (id) => {
    await claim('alpha')
    await giveUp(id)
  },
  'the webhook is being asked': async () => {
    await db.transaction((transaction) => takeDue(transaction, owners, 1, ALL_DUE))
  },
  'the webhook did not answer': (id) => send(id, NO_ANSWER),
  'the webhook accepted': (id) => send(id, ACCEPTED),
  'the webhook accepted after it had not answered': (id) => send(id, NO_ANSWER, ACCEPTED),
  'the operator has to find out what the webhook did': async (id) => {
    await send(id, NO_ANSWER)
    await giveUp(id)
  },
  'the webhook accepted too late, and does not answer now': async (id) => {
    await send(id, NO_ANSWER, NO_ANSWER)
    await db.transaction((transaction) => recordOutcome(transaction, owners, { id, attempt: 1 }, ACCEPTED, 60))
  },
} as const satisfies Record<string, (id: string) => Promise<void>>
type History = keyof typeof HISTORIES

/** `yes`: the money is returned. `stated`: only with `earlier_attempts`. `no`: 409 either way. */
type Verdict = 'yes' | 'stated' | 'no'

const EXPECTED: Readonly<Record<History, Readonly<Record<Who, Verdict>>>> = {
  'nothing was handed out': { alpha: 'yes', beta: 'yes', webhook: 'yes', token: 'yes', person: 'yes' },
  'the claim of alpha runs': { alpha: 'yes', beta: 'no', webhook: 'no', token: 'yes', person: 'yes' },
  'the claim of alpha has ended': { alpha: 'yes', beta: 'no', webhook: 'no', token: 'yes', person: 'stated' },
  'the claim of alpha has ended, and a gate stops the next': {
    alpha: 'yes',
    beta: 'no',
    webhook: 'no',
    token: 'yes',
    person: 'stated',
  },
  'alpha claims it again after its claim ended': {
    alpha: 'stated',
    beta: 'no',
    webhook: 'no',
    token: 'stated',
    person: 'stated',
  },
  'alpha claims it after a claim of beta ended': {
    alpha: 'no',
    beta: 'no',
    webhook: 'no',
    token: 'stated',
    person: 'stated',
  },
  'the operator has to find out what alpha did': {
    alpha: 'yes',
    beta: 'no',
    webhook: 'no',
    token: 'yes',
    person: 'stated',
  },
  'the webhook is being asked': { alpha: 'no', beta: 'no', webhook: 'yes', token: 'yes', person: 'yes' },
  'the webhook did not answer': { alpha: 'no', beta: 'no', webhook: 'yes', token: 'stated', person: 'stated' },
  'the webhook accepted': { alpha: 'yes', beta: 'yes', webhook: 'yes', token: 'yes', person: 'yes' },
  'the webhook accepted after it had not answered': {
    alpha: 'no',
    beta: 'no',
    webhook: 'stated',
    token: 'stated',
    person: 'stated',
  },
  'the operator has to find out what the webhook did': {
    alpha: 'no',
    beta: 'no',
    webhook: 'yes',
    token: 'stated',
    person: 'stated',
  },
  'the webhook accepted too late, and does not answer now': {
    alpha: 'no',
    beta: 'no',
    webhook: 'stated',
    token: 'stated',
    person: 'stated',
  },
}

const CELLS = (Object.keys(EXPECTED) as History[]).flatMap((history) =>
  (Object.keys(REPORTERS) as Who[]).map((who) => [who, history, EXPECTED[history][who]] as const),
)

async function deliveryAfter(history: History): Promise<{ readonly id: string; readonly attempt: number }> {
  const [id = ''] = await addDeliveries(db, owner, 1)
  await HISTORIES[history](id)
  return { id, attempt: (await rowOf(id)).attempt }
}

async function rowOf(id: string) {
  const row = (await rowsOf(db, [id])).get(id)
  if (row === undefined) throw new Error('there is no such delivery')
  return row
}

async function failBy(who: Who, id: string, attempt: number, isStated: boolean): Promise<string> {
  const request = { reason: 'closed', attempt, ...(isStated ? { earlier_attempts: 'not_paid' as const } : {}) }
  try {
    await db.transaction((transaction) => reportFailed(transaction, owners, REPORTERS[who], id, request))
    return 'failed'
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code)
    throw error
  }
}

const availableOf = async () => (await balanceOf(db, owner.profileId, 'USDC')).available

describe('a delivery fails only when every attempt is known not to have paid it', () => {
  it.each(CELLS)("a delivery's failure can be reported by %s when %s: %s", async (who, history, verdict) => {
    const unstated = await deliveryAfter(history)
    const isPlain = verdict === 'yes'
    expect(await failBy(who, unstated.id, unstated.attempt, false)).toBe(isPlain ? 'failed' : 'earlier_attempt_unknown')
    expect(await availableOf()).toBe(isPlain ? 1_500_000n : 0n)
    const stated = isPlain ? await deliveryAfter(history) : unstated
    expect(await failBy(who, stated.id, stated.attempt, true)).toBe(
      verdict === 'no' ? 'earlier_attempt_unknown' : 'failed',
    )
    expect((await rowOf(stated.id)).status).toBe(verdict === 'no' ? unstatedStatus(history) : 'FAILED')
  })

  it.each(CELLS.filter(([who, history]) => who === 'token' && history !== 'nothing was handed out'))(
    'the reporter %s cannot report an earlier attempt when %s, nor repeat one after the delivery is final',
    async (who, history) => {
      const { id, attempt } = await deliveryAfter(history)
      expect(await failBy(who, id, attempt - 1, true)).toBe('invalid_state')
      await sql`
        update deliveries set status = 'FAILED', next_attempt_at = null, fail_code = 'REFUSED' where id = ${id}
      `.execute(db.tables())
      expect(await failBy(who, id, attempt - 1, true)).toBe('invalid_state')
      expect(await failBy(who, id, attempt, false)).toBe('failed')
      expect(await availableOf()).toBe(0n)
      await sql`
        update deliveries set status = 'SETTLED', fail_code = null, reference = ${id} where id = ${id}
      `.execute(db.tables())
      expect(await failBy(who, id, attempt, true)).toBe('invalid_state')
    },
  )
})

/** The status that a refused report leaves as it is. */
function unstatedStatus(history: History): string {
  if (history.startsWith('the operator has to')) return 'NEEDS_OPERATOR'
  return history.startsWith('the webhook accepted after') ? 'SENT' : 'CLAIMED'
}

it('the refusal names the attempts that may have paid, with their executors', async () => {
  const { id } = await deliveryAfter('alpha claims it after a claim of beta ended')
  const report = { reason: 'closed', attempt: 2, earlier_attempts: 'not_paid' } as const
  const failed = db.transaction((transaction) => reportFailed(transaction, owners, REPORTERS.alpha, id, report))
  await expect(failed).rejects.toMatchObject({
    status: 409,
    message: 'attempt 1 may have been paid: only its executor (beta) or a person can report that it was not',
    extras: { meta: { attempts: [{ attempt: 1, executor: 'beta' }] } },
  })
})

it('the audit row of a failure has the statement about earlier attempts', async () => {
  const { id } = await deliveryAfter('alpha claims it again after its claim ended')
  await failBy('alpha', id, 2, true)
  const { rows } = await sql`select actor, detail from audit where subject = ${id}`.execute(db.tables())
  const detail = { reason: 'closed', attempt: 2, earlier_attempts: 'not_paid' }
  expect(rows).toEqual([{ actor: 'operator:alpha', detail }])
  expect((await attemptsOf(db, id)).map(({ outcome }) => outcome)).toEqual(['UNKNOWN', 'FAILED'])
})

describe('a webhook that answers REFUSED', () => {
  it('a webhook that answers REFUSED also answers for its earlier attempts without an answer', async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    await send(id, NO_ANSWER, NO_ANSWER, REFUSED)
    expect(await rowOf(id)).toMatchObject({ status: 'FAILED', fail_code: 'REFUSED' })
    expect(await availableOf()).toBe(1_500_000n)
  })

  it('a webhook that answers REFUSED after an earlier attempt was answered with SETTLED leaves the decision to the operator', async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    await send(id, NO_ANSWER, NO_ANSWER)
    const paid = { kind: 'settled', reference: `paid ${id}` } as const
    await db.transaction((transaction) => recordOutcome(transaction, owners, { id, attempt: 1 }, paid, 60))
    await letPass(db, [id], 3_600)
    await db.transaction((transaction) => takeDue(transaction, owners, 1, ALL_DUE))
    const recorded = await db.transaction((transaction) =>
      recordOutcome(transaction, owners, { id, attempt: 3 }, REFUSED, 60),
    )
    expect(recorded).toBe('contradiction')
    expect((await rowOf(id)).status).toBe('NEEDS_OPERATOR')
    expect(await availableOf()).toBe(0n)
    const report = { reference: `paid ${id}`, attempt: 3 }
    await db.transaction((transaction) => reportSettled(transaction, owners, 'operator', id, report))
    expect((await rowOf(id)).status).toBe('SETTLED')
  })
})
