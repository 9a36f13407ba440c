/** Screened deposits: held until they are allowed, then as if they had just been credited; a rejected one stays held. */
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { ETHEREUM_ADDRESS } from '../../support/rules.ts'
import {
  auditOf,
  balancesOf,
  type DepositsNode,
  newAddress,
  newRule,
  postingsOf,
  report,
  reportOf,
  transferOf,
  wireOf,
} from '../deposits/deposits-node.ts'
import { allow, type Behaviour, decide, KEY, useScreening } from './screening-stand.ts'

const stand = useScreening()
const HELD = { status: 'COMPLETED', secondary_status: 'HELD', disposition: { code: 'SCREENING' } }

const node = (): DepositsNode => ({
  node: stand.node,
  customer: stand.customer,
  profileId: stand.account.profileId,
})
const depositOf = async (id: string) => (await stand.node.operator('GET', `/deposits/${id}`)).body
const act = async (id: string, verb: string, given?: object) => {
  const version = (await depositOf(id)).updated_at
  const body = verb === 'release' ? { version, reason: 'checked', ...given } : given
  const answer = await stand.node.operator('POST', `/deposits/${id}/${verb}`, body)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

async function ruleAndDeposit(changes: Readonly<Record<string, unknown>> = {}) {
  await stand.sender.stop()
  const rule = await newRule(node(), stand.account.profileId)
  const deposit = await report(node(), reportOf(rule.source.crypto.address, changes))
  stand.sender = stand.newSender()
  return { rule, deposit }
}

describe('a screened deposit', () => {
  it('a screened deposit is held until the hook allows it, and then its rule runs', async () => {
    const { rule, deposit } = await ruleAndDeposit()
    expect(deposit).toMatchObject(HELD)
    expect(await balancesOf(node(), stand.account.profileId)).toMatchObject({ available: '0', held: '100000000' })
    expect(await transferOf(node(), deposit.id)).toMatchObject({ secondary_status: 'HELD', disposition: 'SCREENING' })
    await stand.sender.start()
    await stand.sender.settled()
    const credited = await depositOf(deposit.id)
    expect(credited).toMatchObject({ disposition: { code: 'ORCHESTRATED' }, orchestration_rule_id: rule.id })
    expect(credited.secondary_status).toBeUndefined()
    expect((await transferOf(node(), deposit.id))?.secondary_status).toBeNull()
    expect(await postingsOf(node(), deposit.id)).toEqual(['external -> held 100000000', 'held -> in_transit 100000000'])
    expect(await auditOf(node(), deposit.id)).toEqual(['deposit.create', 'deposit.release'])
    const screening = await stand.screeningOf(deposit.id)
    expect(screening).toMatchObject({
      kind: 'deposit',
      status: 'ALLOWED',
      decided_by: 'hook',
      attempts: 1,
      revision: 1,
    })
    expect(await auditOf(node(), screening.id)).toEqual(['screening.decide'])
  })

  it('a screened deposit without a rule becomes available when it is allowed', async () => {
    await stand.sender.stop()
    const address = await newAddress(node(), stand.account.profileId)
    const { id } = await report(node(), reportOf(address))
    stand.sender = stand.newSender()
    await stand.sender.start()
    await stand.sender.settled()
    expect(await depositOf(id)).toMatchObject({ disposition: { code: 'NO_RULE' } })
    expect(await balancesOf(node(), stand.account.profileId)).toMatchObject({ available: '100000000', held: '0' })
  })

  it('the hook gets the movement with its facts, signed, and the same bytes in every request', async () => {
    stand.script = [(_, response) => void response.writeHead(500).end()]
    const { deposit } = await ruleAndDeposit()
    await stand.sender.start()
    await stand.sender.settled()
    await stand.letPass(60)
    expect(stand.received).toHaveLength(2)
    const [first, second] = stand.received
    expect(second?.text).toBe(first?.text)
    expect(second?.id).toBe(first?.id)
    expect(first?.data.id).toBe(first?.id)
    const signature = (each: typeof first) =>
      `v1,${createHmac('sha256', KEY).update(`${each?.id}.${each?.timestamp}.${each?.text}`).digest('base64')}`
    expect(second?.signatures).toEqual([signature(second)])
    expect(first?.data).toMatchObject({
      revision: 1,
      movement: {
        id: deposit.id,
        type: 'deposit',
        asset: 'USDC',
        amount: '100',
        network: 'ETHEREUM',
        tx_hash: deposit.crypto.tx_hash,
        occurred_at: '2026-01-02T03:04:05.000Z',
      },
      profile_id: stand.account.profileId,
      customer: { id: stand.customer.customerId },
      account: { id: stand.account.accountId, identity_id: 'alice' },
      last_24_hours: [{ asset: 'USDC', deposits: { count: 1, amount: '100' }, payments: { count: 0, amount: '0' } }],
    })
  })

  it.each([
    [
      'answers 500',
      (_: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(500).end(),
    ],
    [
      'redirects',
      (_: unknown, response: { writeHead(status: number, headers?: object): { end(): void } }) =>
        response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    ],
    ['answers no JSON', (_: unknown, response: { end(text: string): void }) => response.end('<html>')],
    ['answers an unknown decision', decide('MAYBE')],
    [
      'answers for another id',
      (_: unknown, response: { end(text: string): void }) =>
        response.end('{"id":"00000000-0000-4000-8000-000000000000","decision":"ALLOW"}'),
    ],
    [
      'answers without an id',
      (_: unknown, response: { end(text: string): void }) => response.end('{"decision":"ALLOW"}'),
    ],
    [
      'cuts the connection',
      (_: unknown, response: { socket: { destroy(): void } | null }) => response.socket?.destroy(),
    ],
  ])('a hook that %s has decided nothing, and is asked again', async (_, behaviour) => {
    stand.script = [behaviour as never, behaviour as never]
    const { deposit } = await ruleAndDeposit()
    await stand.sender.start()
    await stand.sender.settled()
    expect(await depositOf(deposit.id)).toMatchObject(HELD)
    expect((await stand.screeningOf(deposit.id)).fault).toBeDefined()
    await stand.letPass(60)
    expect(await depositOf(deposit.id)).toMatchObject(HELD)
    await stand.letPass(60)
    expect(await depositOf(deposit.id)).toMatchObject({ disposition: { code: 'ORCHESTRATED' } })
    expect(new Set(stand.received.map(({ id }) => id)).size).toBe(1)
  })

  it('a hook that hangs is cut off, and is asked again', async () => {
    stand.script = [() => undefined]
    const { deposit } = await ruleAndDeposit()
    await stand.sender.start()
    await expect.poll(() => stand.received.length).toBe(1)
    stand.clock.advance(10_000)
    await stand.sender.settled()
    expect(await depositOf(deposit.id)).toMatchObject(HELD)
    expect((await stand.screeningOf(deposit.id)).fault).toMatch(/within 10 seconds/)
    await stand.letPass(60)
    expect(await depositOf(deposit.id)).toMatchObject({ disposition: { code: 'ORCHESTRATED' } })
  })

  it('a rejected deposit stays held with an alarm, is never returned, and a person may still allow it', async () => {
    stand.otherwise = decide('REJECT', 'sanctioned sender')
    const { deposit } = await ruleAndDeposit()
    await stand.sender.start()
    await stand.sender.settled()
    expect(await depositOf(deposit.id)).toMatchObject(HELD)
    expect(await balancesOf(node(), stand.account.profileId)).toMatchObject({ held: '100000000', available: '0' })
    expect(stand.logged.lines.some((line) => /rejected a deposit/.test(JSON.stringify(line)))).toBe(true)
    const screening = await stand.screeningOf(deposit.id)
    expect(screening).toMatchObject({ status: 'REJECTED', reason: 'sanctioned sender' })
    const seen = await stand.customer.call('GET', `/v2/transfer/transfers/${deposit.id}`)
    expect(seen.body).toMatchObject({ secondary_status: 'HELD' })
    expect(seen.text).not.toMatch(/sanctioned/)
    const held = await depositOf(deposit.id)
    expect(held.gates).toEqual([{ code: 'SCREENING', detail: 'its screening was answered with REJECT' }])
    const release = { gates: ['SCREENING'], version: held.updated_at, reason: 'please' }
    expect((await stand.node.operator('POST', `/deposits/${deposit.id}/release`, release)).status).toBe(400)
    const body = { decision: 'ALLOW', note: 'another person with this name' }
    const decided = await stand.node.operator('POST', `/screening/${screening.id}/decide`, body)
    expect(decided, decided.text).toMatchObject({ status: 200, body: { status: 'ALLOWED', decided_by: 'operator' } })
    expect(decided.body.decisions).toHaveLength(2)
    expect(await depositOf(deposit.id)).toMatchObject({ disposition: { code: 'ORCHESTRATED' } })
    expect(await stand.node.operator('POST', `/screening/${screening.id}/decide`, body)).toMatchObject({ status: 200 })
    const late = { decision: 'REJECT', note: 'too late' }
    expect(await stand.node.operator('POST', `/screening/${screening.id}/decide`, late)).toMatchObject({ status: 409 })
    expect(await stand.screeningOf(deposit.id)).toMatchObject({ status: 'ALLOWED' })
  })

  it('a rejected deposit can be returned or reversed, which closes its screening', async () => {
    stand.otherwise = decide('REJECT')
    const { deposit } = await ruleAndDeposit()
    await stand.sender.start()
    await stand.sender.settled()
    await act(deposit.id, 'reverse', { reason: 'sent back by the bank' })
    await stand.ask()
    expect(await stand.screeningOf(deposit.id)).toMatchObject({ status: 'CLOSED' })
    expect(await balancesOf(node(), stand.account.profileId)).toMatchObject({ held: '0', available: '0' })
  })

  it('HOLD waits for a person, whom the hook’s next questions do not replace', async () => {
    stand.otherwise = decide('HOLD')
    const { deposit } = await ruleAndDeposit()
    await stand.sender.start()
    await stand.sender.settled()
    stand.otherwise = allow
    await stand.letPass(90_000)
    expect(stand.received).toHaveLength(1)
    const screening = await stand.screeningOf(deposit.id)
    expect(screening.status).toBe('HELD')
    expect((await stand.node.operator('GET', '/screening?status=HELD')).text).toContain(screening.id)
    const body = { decision: 'REJECT', note: 'as the hook suspected' }
    expect(await stand.node.operator('POST', `/screening/${screening.id}/decide`, body)).toMatchObject({
      status: 200,
      body: { status: 'REJECTED' },
    })
    expect(await depositOf(deposit.id)).toMatchObject(HELD)
  })

  it('a corrected deposit is asked about again, and the answer for the earlier terms is ignored', async () => {
    let answerFirst: () => void = () => undefined
    stand.script = [
      (question, response) => {
        answerFirst = () => allow(question, response)
      },
      decide('HOLD'),
    ]
    const { deposit } = await ruleAndDeposit()
    await stand.sender.start()
    await expect.poll(() => stand.received.length).toBe(1)
    await act(deposit.id, 'correct', { amount: '90', run_rules: true, reason: 'mistyped' })
    expect(await depositOf(deposit.id)).toMatchObject({ ...HELD, amount: '90' })
    answerFirst()
    await stand.sender.settled()
    await stand.ask()
    expect(await depositOf(deposit.id)).toMatchObject({ ...HELD, amount: '90' })
    const screening = await stand.screeningOf(deposit.id)
    expect(screening).toMatchObject({ status: 'HELD', revision: 2, amount: '90' })
    expect(stand.received[1]?.id).not.toBe(stand.received[0]?.id)
    expect(stand.received[1]?.data.movement.amount).toBe('90')
    const { rows } = await sql<{ held: string }>`
      select held from balances where profile_id = ${stand.account.profileId} and asset = 'USDC'
    `.execute(stand.node.db.tables())
    expect(rows).toEqual([{ held: '90000000' }])
  })

  it('a person’s decision about the terms they have seen is refused after a correction', async () => {
    stand.otherwise = decide('HOLD')
    const { deposit } = await ruleAndDeposit()
    await stand.sender.start()
    await stand.sender.settled()
    const { id, revision } = await stand.screeningOf(deposit.id)
    await act(deposit.id, 'correct', { amount: '90000', run_rules: true, reason: 'mistyped' })
    const decided = (body: object) => stand.node.operator('POST', `/screening/${id}/decide`, { note: 'known', ...body })
    for (const decision of ['ALLOW', 'REJECT']) {
      expect((await decided({ decision, revision })).body).toMatchObject({ status: 409, code: 'record_changed' })
    }
    expect(await depositOf(deposit.id)).toMatchObject({ ...HELD, amount: '90000' })
    const seen = { decision: 'ALLOW', revision: revision + 1 }
    for (const _ of ['once', 'again']) expect(await decided(seen)).toMatchObject({ status: 200 })
    expect(await depositOf(deposit.id)).toMatchObject({ disposition: { code: 'ORCHESTRATED' } })
  })

  it.each([
    ['hold', 'HELD', 'ALLOWED'],
    ['reject', 'REJECTED', 'CLOSED'],
  ])('a person’s %s of a deposit in screening stays after a correction', async (verb, state, status) => {
    const { deposit } = await ruleAndDeposit()
    await act(deposit.id, verb, { reason: 'we know more' })
    const corrected = await act(deposit.id, 'correct', { amount: '90', run_rules: true, reason: 'mistyped' })
    expect(corrected).toMatchObject({ secondary_status: state, amount: '90' })
    await stand.sender.start()
    await stand.sender.settled()
    expect(await stand.screeningOf(deposit.id)).toMatchObject({ status, revision: 2 })
    expect(await depositOf(deposit.id)).toMatchObject({ secondary_status: state, amount: '90' })
    expect(await balancesOf(node(), stand.account.profileId)).toMatchObject({ held: '90000000', in_transit: '0' })
  })

  it('a deposit whose return has failed is asked about again, after REJECT and after an answer during the return', async () => {
    let answerLate: () => void = () => undefined
    const late: Behaviour = (question, response) => {
      answerLate = () => allow(question, response)
    }
    for (const [questions, first] of [decide('REJECT'), late].entries()) {
      stand.script = [first]
      const { deposit } = await ruleAndDeposit()
      await stand.sender.start()
      await expect.poll(() => stand.received.length).toBe(2 * questions + 1)
      if (first !== late) await stand.sender.settled()
      const crypto = { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' }
      await act(deposit.id, 'return', { crypto, reason: 'back to its sender' })
      answerLate()
      await stand.sender.settled()
      await stand.ask()
      const { items } = (await stand.node.operator('GET', '/deliveries?status=WAITING')).body
      const { id } = items.find(({ deposit_id }: { deposit_id: string }) => deposit_id === deposit.id)
      await stand.node.operator('POST', `/deliveries/${id}/fail`, { reason: 'the wallet is closed', attempt: 0 })
      expect(await depositOf(deposit.id)).toMatchObject({ secondary_status: 'HELD' })
      await stand.ask()
      expect(stand.received).toHaveLength(2 * questions + 2)
      expect(await depositOf(deposit.id)).toMatchObject({ disposition: { code: 'ORCHESTRATED' } })
    }
  })

  it('a deposit that a person holds stays held after ALLOW, and is released by the person', async () => {
    const { deposit } = await ruleAndDeposit()
    await act(deposit.id, 'hold', { reason: 'we know more' })
    await stand.sender.start()
    await stand.sender.settled()
    expect(await depositOf(deposit.id)).toMatchObject({ secondary_status: 'HELD', disposition: { code: 'HELD' } })
    expect(await stand.screeningOf(deposit.id)).toMatchObject({ status: 'ALLOWED' })
    expect(await act(deposit.id, 'release', { gates: ['OPERATOR_HOLD'] })).toMatchObject({
      disposition: { code: 'ORCHESTRATED' },
    })
  })

  it('a deposit in review waits for its screening after the release, and for its review after ALLOW', async () => {
    stand.set({ 'review_above.deposits': new Map([['USDC', '50']]) })
    const { deposit } = await ruleAndDeposit()
    expect(deposit).toMatchObject({ disposition: { code: 'REVIEW' } })
    expect(deposit.gates.map(({ code }: { code: string }) => code)).toEqual(['REVIEW', 'SCREENING'])
    expect(await act(deposit.id, 'release', { gates: ['REVIEW'] })).toMatchObject(HELD)
    await stand.sender.start()
    await stand.sender.settled()
    expect(await depositOf(deposit.id)).toMatchObject({ disposition: { code: 'ORCHESTRATED' } })
    const other = await ruleAndDeposit()
    await stand.sender.start()
    await stand.sender.settled()
    expect(await depositOf(other.deposit.id)).toMatchObject({ disposition: { code: 'REVIEW' } })
    expect(await act(other.deposit.id, 'release', { gates: ['REVIEW'] })).toMatchObject({
      disposition: { code: 'ORCHESTRATED' },
    })
  })

  it('an unattributed deposit is screened when it is assigned', async () => {
    const { id } = await report(node(), wireOf({}, { amount: '500' }))
    expect((await stand.node.operator('GET', `/screening?movement_id=${id}`)).body.items).toEqual([])
    await stand.sender.stop()
    expect(await act(id, 'assign', { profile_id: stand.account.profileId })).toMatchObject(HELD)
    stand.sender = stand.newSender()
    await stand.sender.start()
    await stand.sender.settled()
    expect(await depositOf(id)).toMatchObject({ disposition: { code: 'ASSIGNED' } })
    expect(await balancesOf(node(), stand.account.profileId, 'USD')).toMatchObject({ available: '50000', held: '0' })
  })

  it('a deposit is credited at once while screening.url is empty, and nothing is asked', async () => {
    stand.set({ 'screening.url': '' })
    const { deposit } = await ruleAndDeposit()
    expect(deposit).toMatchObject({ disposition: { code: 'ORCHESTRATED' } })
    expect((await stand.node.operator('GET', `/screening?movement_id=${deposit.id}`)).body.items).toEqual([])
  })
})
