/** What the operator does with a deposit, and where its money is afterwards. */
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/money/deliveries/model.ts'
import { depositReturns } from '../../../src/money/deposits/returns.ts'
import { post } from '../../../src/money/ledger/ledger.ts'
import { failUnconverted } from '../../../src/money/orchestrations/fail-unconverted.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ETHEREUM_ADDRESS } from '../../support/rules.ts'
import {
  auditOf,
  balancesOf,
  newAddress,
  newProfile,
  newRule,
  postingsOf,
  releaseDeposit,
  report,
  reportOf,
  transferOf,
  useDepositsNode,
  wireOf,
} from './deposits-node.ts'

const NO_ONE = '018f0000-0000-7000-8000-000000000000'
const DESTINATION = { crypto: { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' } }

const stand = useDepositsNode()

const ask = (id: string, verb: string, body?: object) => stand.node.operator('POST', `/deposits/${id}/${verb}`, body)

/** A release that succeeds. */
async function release(id: string) {
  const answer = await releaseDeposit(stand, id)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** A call that succeeds. */
async function act(id: string, verb: string, body?: object) {
  const answer = await ask(id, verb, body)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** Spends what a profile has, as an orchestration out of its balance does. */
async function spend(profileId: string, amount: bigint): Promise<void> {
  const debit = { bucket: 'available', profileId } as const
  await stand.node.db.transaction((transaction) =>
    post(transaction, [{ asset: 'USDC', amount, debit, credit: { bucket: 'external' }, groupId: newId() }]),
  )
}

async function newDeposit(changes: Readonly<Record<string, unknown>> = {}) {
  const profileId = await newProfile(stand)
  const body = reportOf(await newAddress(stand, profileId), changes)
  return { profileId, body, deposit: await report(stand, body) }
}

describe('a hold', () => {
  it('a hold of a PENDING deposit keeps it from its profile, and its release looks at the rules', async () => {
    const profileId = await newProfile(stand)
    const rule = await newRule(stand, profileId)
    const body = reportOf(rule.source.crypto.address, { status: 'PENDING' })
    const { id } = await report(stand, body)
    expect(await act(id, 'hold', { reason: 'to be checked' })).toMatchObject({
      status: 'PENDING',
      secondary_status: 'HELD',
    })
    const held = await report(stand, { ...body, status: 'COMPLETED' })
    expect(held).toMatchObject({ status: 'COMPLETED', secondary_status: 'HELD', disposition: { code: 'HELD' } })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', held: '100000000' })
    expect(await transferOf(stand, id)).toMatchObject({ secondary_status: 'HELD', disposition: 'HELD' })
    const released = await release(id)
    expect(released).toMatchObject({ disposition: { code: 'ORCHESTRATED' }, orchestration_rule_id: rule.id })
    expect(released.secondary_status).toBeUndefined()
    expect(await balancesOf(stand, profileId)).toMatchObject({ held: '0', in_transit: '100000000' })
    expect(await transferOf(stand, id)).toMatchObject({ secondary_status: null, disposition: 'ORCHESTRATED' })
    expect(await release(id)).toEqual(released)
    expect(await ask(id, 'hold', { reason: 'to be checked' })).toMatchObject({
      status: 409,
      body: { meta: { current: 'COMPLETED' } },
    })
    expect(await auditOf(stand, id)).toEqual(['deposit.create', 'deposit.hold', 'deposit.complete', 'deposit.release'])
  })

  it('a hold of a COMPLETED deposit takes its money out of the balance, while it is there', async () => {
    const { profileId, deposit } = await newDeposit()
    expect(await act(deposit.id, 'hold', { reason: 'to be checked' })).toMatchObject({
      secondary_status: 'HELD',
      disposition: { code: 'NO_RULE' },
    })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', held: '100000000' })
    expect(await release(deposit.id)).toMatchObject({ disposition: { code: 'NO_RULE' } })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '100000000', held: '0' })
    await spend(profileId, 1n)
    expect(await ask(deposit.id, 'hold', { reason: 'to be checked' })).toMatchObject({
      status: 409,
      body: { code: 'invalid_state' },
    })
  })

  it('a hold or return of a deposit takes no other money while a retry of its orchestration has its own', async () => {
    const profileId = await newProfile(stand)
    const deposit = await report(stand, reportOf((await newRule(stand, profileId)).source.crypto.address))
    const { orchestration_id: id } = deposit
    const row = { id, profile_id: profileId, source_asset: 'USDC', source_amount: '100000000' }
    const expired = { action: 'orchestration.fail', failCode: 'EXPIRED', failDetail: 'no price' } as const
    await stand.node.db.transaction((transaction) => failUnconverted(transaction, row, expired, 'worker'))
    expect((await stand.node.operator('POST', `/orchestrations/${id}/retry`)).status).toBe(200)
    await report(stand, reportOf(await newAddress(stand, profileId)))
    const refused = { status: 409, body: { code: 'invalid_state' } }
    expect(await ask(deposit.id, 'hold', { reason: 'to be checked' })).toMatchObject(refused)
    expect(await ask(deposit.id, 'return', { reason: 'not wanted', ...DESTINATION })).toMatchObject(refused)
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '100000000', in_transit: '100000000' })
  })

  it('a hold that ends in a rejection is kept until it is returned', async () => {
    const { profileId, deposit } = await newDeposit()
    await act(deposit.id, 'hold', { reason: 'to be checked' })
    const rejected = await act(deposit.id, 'reject', { reason: 'a sanctioned sender' })
    expect(rejected).toMatchObject({ secondary_status: 'REJECTED', reason: 'a sanctioned sender' })
    expect(await act(deposit.id, 'reject', { reason: 'other' })).toEqual(rejected)
    expect(await transferOf(stand, deposit.id)).toMatchObject({ secondary_status: 'HELD' })
    expect(await releaseDeposit(stand, deposit.id)).toMatchObject({
      status: 409,
      body: { meta: { current: 'REJECTED' } },
    })
    const returned = await act(deposit.id, 'return', { reason: 'as asked', ...DESTINATION })
    expect(returned).toMatchObject({ secondary_status: 'RETURNED', delivery_id: expect.any(String) })
    expect(await balancesOf(stand, profileId)).toMatchObject({ held: '0', in_transit: '100000000' })
  })
})

describe('a reversal', () => {
  it('a reversal after the money left leaves nothing, and a debt', async () => {
    const { profileId, body, deposit } = await newDeposit()
    await spend(profileId, 70_000_000n)
    expect(await act(deposit.id, 'reverse', { reason: 'recalled' })).toMatchObject({ secondary_status: 'REVERSED' })
    expect(await balancesOf(stand, profileId)).toEqual({
      available: '0',
      in_transit: '0',
      held: '0',
      receivable: '70000000',
    })
    const posted = [
      'external -> available 100000000',
      'available -> external 30000000',
      'receivable -> external 70000000',
    ]
    expect(await postingsOf(stand, deposit.id)).toEqual(posted)
    expect(await transferOf(stand, deposit.id)).toMatchObject({ secondary_status: 'REVERSED' })
    const debits = async () => {
      const { rows } = await sql`
        select direction, type, amount, status, secondary_status, profile_id from transfers
        where group_id = ${deposit.id} and id <> group_id
      `.execute(stand.node.db.tables())
      return rows
    }
    const entry = { direction: 'DEBIT', type: 'CRYPTO_DEPOSIT', amount: '100000000', status: 'COMPLETED' }
    expect(await debits()).toEqual([{ ...entry, secondary_status: null, profile_id: profileId }])
    await act(deposit.id, 'reverse', { reason: 'again' })
    expect(await postingsOf(stand, deposit.id)).toEqual(posted)
    expect(await debits()).toHaveLength(1)
    const next = await report(stand, reportOf(body.crypto.address, { amount: '50' }))
    expect(await postingsOf(stand, next.id)).toEqual([
      'external -> available 50000000',
      'available -> receivable 50000000',
    ])
    const rest = await report(stand, reportOf(body.crypto.address, { amount: '50' }))
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '30000000', receivable: '0' })
    expect(rest.disposition).toEqual({ code: 'NO_RULE' })
  })

  it('a reversal ends an orchestration that has not converted, and a debt starts none', async () => {
    const profileId = await newProfile(stand)
    const { address } = (await newRule(stand, profileId)).source.crypto
    const deposit = await report(stand, reportOf(address))
    await act(deposit.id, 'reverse', { reason: 'recalled' })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', in_transit: '0', receivable: '0' })
    const { rows } = await sql`
      select status, fail_code from orchestrations where deposit_id = ${deposit.id}
    `.execute(stand.node.db.tables())
    expect(rows).toEqual([{ status: 'FAILED', fail_code: 'REVERSED' }])
    const plain = await report(stand, reportOf(await newAddress(stand, profileId)))
    await spend(profileId, 100_000_000n)
    await act(plain.id, 'reverse', { reason: 'recalled' })
    const owing = await report(stand, reportOf(address))
    expect(owing.disposition).toEqual({ code: 'RECEIVABLE' })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', in_transit: '0', receivable: '0' })
  })

  it('a reversal of held or unattributed money takes it from there', async () => {
    const { profileId, deposit } = await newDeposit()
    await act(deposit.id, 'hold', { reason: 'to be checked' })
    await act(deposit.id, 'reverse', { reason: 'recalled' })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', held: '0', receivable: '0' })
    const lost = await report(stand, reportOf(ETHEREUM_ADDRESS))
    await act(lost.id, 'reverse', { reason: 'recalled' })
    expect(await postingsOf(stand, lost.id)).toEqual([
      'external -> unattributed 100000000',
      'unattributed -> external 100000000',
    ])
    expect((await ask(lost.id, 'assign', { profile_id: profileId })).status).toBe(409)
  })
})

describe('a return', () => {
  it('a return needs a destination that can be paid', async () => {
    const { deposit, body, profileId } = await newDeposit()
    const reason = 'not wanted'
    const refused = async (changes: object) => (await ask(deposit.id, 'return', { reason, ...changes })).body
    expect(await refused({})).toMatchObject({ code: 'invalid_request' })
    expect(await refused({ fiat: { fiat_account_id: 'a' } })).toMatchObject({ errors: [{ pointer: '/fiat' }] })
    const crypto = { address: ETHEREUM_ADDRESS, network: 'BNB' }
    expect(await refused({ crypto })).toMatchObject({ errors: [{ pointer: '/crypto/network' }] })
    const own = { address: body.crypto.address, network: 'BASE' }
    expect(await refused({ crypto: own })).toMatchObject({ code: 'own_address' })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '100000000' })
  })

  it('a return is a delivery; when that fails, the deposit is as it was', async () => {
    const { deposit, profileId } = await newDeposit()
    const { delivery_id: id } = await act(deposit.id, 'return', { reason: 'not wanted', ...DESTINATION })
    const { rows } = await sql`
      select deposit_id, amount, destination, fails_to, status from deliveries where id = ${id}
    `.execute(stand.node.db.tables())
    expect(rows).toEqual([
      {
        deposit_id: deposit.id,
        amount: '100000000',
        destination: DESTINATION,
        fails_to: 'available',
        status: 'WAITING',
      },
    ])
    expect(await transferOf(stand, deposit.id)).toMatchObject({ secondary_status: 'RETURNED' })
    expect(await balancesOf(stand, profileId)).toMatchObject({ available: '0', in_transit: '100000000' })
    const delivery = { id, owner: { depositId: deposit.id }, late: false } as Delivery
    const failure = { code: 'REFUSED', detail: 'account closed' } as const
    await stand.node.db.transaction((transaction) => depositReturns.failed(transaction, delivery, failure))
    const again = (await stand.node.operator('GET', `/deposits/${deposit.id}`)).body
    expect(again.secondary_status).toBeUndefined()
    expect(await transferOf(stand, deposit.id)).toMatchObject({ secondary_status: null })
    const late = { ...delivery, late: true }
    await stand.node.db.transaction((transaction) => depositReturns.settled(transaction, late))
    expect((await stand.node.operator('GET', `/deposits/${deposit.id}`)).body.secondary_status).toBe('RETURNED')
  })

  it.each<[string, ((id: string) => Promise<unknown>) | undefined, object]>([
    ['is held', undefined, { available: '0', held: '100000000', receivable: '0' }],
    ['was released', release, { available: '0', held: '100000000', receivable: '0' }],
    [
      'was reversed',
      (id: string) => act(id, 'reverse', { reason: 'recalled' }),
      { available: '0', held: '100000000', receivable: '100000000' },
    ],
  ])(
    'a return that was paid after all takes the money from where it is, when the deposit %s meanwhile',
    async (_, done, left) => {
      const { deposit, profileId } = await newDeposit()
      const other = await report(stand, reportOf(await newAddress(stand, profileId)))
      for (const { id } of [deposit, other]) await act(id, 'hold', { reason: 'to be checked' })
      const { delivery_id: id } = await act(deposit.id, 'return', { reason: 'not wanted', ...DESTINATION })
      const operate = async (verb: string, body: object) => {
        const answer = await stand.node.operator('POST', `/deliveries/${id}/${verb}`, body)
        expect(answer.status, answer.text).toBe(200)
      }
      await operate('claim', { lease_seconds: 60 })
      await operate('fail', { reason: 'closed', attempt: 1 })
      if (done !== undefined) await done(deposit.id)
      await operate('settle', { reference: `paid ${id}`, attempt: 1, late: true })
      expect(await balancesOf(stand, profileId)).toMatchObject(left)
    },
  )
})

describe('an assignment', () => {
  it('an assignment credits an unattributed deposit, with the rules only on request', async () => {
    const profileId = await newProfile(stand)
    const source = { profile: { profile_id: profileId } }
    const rule = await newRule(stand, profileId, { source, source_asset: 'USD', destination_asset: 'USDC' })
    const without = await report(stand, wireOf({ remittance: 'rent' }))
    const assigned = await act(without.id, 'assign', { profile_id: profileId })
    expect(assigned).toMatchObject({ profile_id: profileId, disposition: { code: 'ASSIGNED' } })
    expect(await act(without.id, 'assign', { profile_id: profileId, run_rules: true })).toEqual(assigned)
    expect(await postingsOf(stand, without.id)).toEqual([
      'external -> unattributed 10000',
      'unattributed -> available 10000',
    ])
    expect(await transferOf(stand, without.id)).toMatchObject({ type: 'WIRE_DEPOSIT', status: 'COMPLETED' })
    const withRules = await report(stand, wireOf({ remittance: 'rent' }))
    expect(await act(withRules.id, 'assign', { profile_id: profileId, run_rules: true })).toMatchObject({
      disposition: { code: 'ORCHESTRATED' },
      orchestration_rule_id: rule.id,
    })
    expect(await balancesOf(stand, profileId, 'USD')).toMatchObject({ available: '10000', in_transit: '10000' })
    const other = await ask(withRules.id, 'assign', { profile_id: stand.profileId })
    expect(other).toMatchObject({ status: 409, body: { code: 'invalid_state', meta: { profile_id: profileId } } })
    for (const profileId of [NO_ONE, 'nobody']) {
      expect(await ask(withRules.id, 'assign', { profile_id: profileId })).toMatchObject({
        status: 404,
        body: { errors: [{ pointer: '/profile_id' }] },
      })
    }
  })

  it('an assignment of a PENDING deposit counts when it is credited', async () => {
    const profileId = await newProfile(stand)
    const body = wireOf({ remittance: 'rent' }, { status: 'PENDING' })
    const { id } = await report(stand, body)
    expect((await ask(id, 'return', { reason: 'x', fiat: { fiat_account_id: 'a' } })).status).toBe(409)
    await act(id, 'assign', { profile_id: profileId })
    expect(await transferOf(stand, id)).toMatchObject({ status: 'PENDING', profile_id: profileId })
    const final = await report(stand, { ...body, status: 'COMPLETED' })
    expect(final).toMatchObject({ profile_id: profileId, disposition: { code: 'ASSIGNED' } })
    expect(await postingsOf(stand, id)).toEqual(['external -> available 10000'])
  })
})

it('a trace has everything that happened, in the order of time', async () => {
  const profileId = await newProfile(stand)
  const rule = await newRule(stand, profileId)
  const body = reportOf(rule.source.crypto.address, { status: 'PENDING', confirmations: 1 })
  const { id } = await report(stand, body)
  await act(id, 'hold', { reason: 'to be checked' })
  await report(stand, { ...body, source: 'node', status: 'COMPLETED', confirmations: 12 })
  const { orchestration_id } = await release(id)
  const { deposit, entries } = (await stand.node.operator('GET', `/deposits/${id}/trace`)).body
  expect(deposit).toEqual((await stand.node.operator('GET', `/deposits/${id}`)).body)
  expect(entries.map(({ kind }: { kind: string }) => kind)).toEqual([
    'sighting',
    'audit',
    'audit',
    'sighting',
    'audit',
    'posting',
    'audit',
    'posting',
    'orchestration',
  ])
  const texts = entries.map(({ text }: { text: string }) => text)
  expect(texts[0]).toBe(`custody reports the payment as ${body.external_id}: once, now PENDING, 1 confirmation`)
  expect(texts).toContain(`100 USDC move from external to held of profile ${profileId}`)
  expect(texts.at(-1)).toBe(`Orchestration ${orchestration_id} begins: 100 USDC into USD`)
  expect((await stand.node.operator('GET', `/deposits/${NO_ONE}/trace`)).status).toBe(404)
})

it('a trace has refused reports, and names instead of ids', async () => {
  const { customerId } = await stand.node.newCustomer()
  const nickname = `main ${newId()}`
  const profile = await stand.node.operator('POST', `/customers/${customerId}/profiles`, { nickname })
  const body = wireOf({ sender: 'Mallory' }, { amount: '100.07' })
  const { id } = await report(stand, body)
  const person = `tina-${newId().slice(-12)}`
  await stand.node.operator('POST', '/operators', { name: person, role: 'treasurer' })
  const issued = await stand.node.operator('POST', `/operators/${person}/tokens`, { name: 'test' })
  const assigned = await fetch(`${stand.node.operatorUrl}/admin/v1/deposits/${id}/assign`, {
    method: 'POST',
    headers: { authorization: `Bearer ${issued.body.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ profile_id: profile.body.id }),
  })
  expect(assigned.status).toBe(200)
  const refused = async (changes: object) => (await stand.node.operator('POST', '/deposits', changes)).body.code
  for (const amount of ['101', '101', '102']) expect(await refused({ ...body, amount })).toBe('deposit_conflict')
  const { bank_reference: _, ...nameless } = body.fiat
  const other = { ...body, source: 'ledger', external_id: 'other', fiat: nameless }
  expect(await refused(other)).toBe('ambiguous_payment')
  const { names, entries } = (await stand.node.operator('GET', `/deposits/${id}/trace`)).body
  expect(names).toMatchObject({ profile: nickname })
  const texts: string[] = entries.map(({ text }: { text: string }) => text)
  expect(texts.filter((text) => text.startsWith('A report is refused'))).toEqual([
    expect.stringContaining('amount 101, '),
    expect.stringContaining('amount 102, '),
    expect.stringContaining('source ledger, status COMPLETED, problem ambiguous_payment, external_id other'),
  ])
  expect(texts).toContainEqual(expect.stringMatching(`^${person} assigns the deposit to a profile .*"${nickname}"`))
  expect(texts).toContainEqual(expect.stringContaining(`available of profile "${nickname}"`))
})

it('a trace keeps the first 20 refused reports of a deposit, and what happened after them', async () => {
  const body = wireOf({}, { amount: '100.08' })
  const { id } = await report(stand, body)
  const { bank_reference: _, ...nameless } = body.fiat
  const others = Array.from({ length: 30 }, (_, index) => ({
    ...body,
    external_id: `${index}`,
    source: 'x',
    fiat: nameless,
  }))
  for (const deposits of [others, others])
    expect((await stand.node.operator('POST', '/deposits', { deposits })).body.failed).toBe(30)
  await act(id, 'assign', { profile_id: await newProfile(stand) })
  const { entries } = (await stand.node.operator('GET', `/deposits/${id}/trace`)).body
  const texts: string[] = entries.map(({ text }: { text: string }) => text)
  expect(texts.filter((text) => text.startsWith('A report is refused'))).toHaveLength(20)
  expect(texts.at(-1)).toMatch(/available of profile/)
  expect(await auditOf(stand, id)).toHaveLength(22)
})

it('deposits are listed by each filter', async () => {
  const { deposit, profileId } = await newDeposit()
  await act(deposit.id, 'hold', { reason: 'to be checked' })
  const lost = await report(stand, wireOf({ remittance: 'listed' }))
  const list = async (query: string) => (await stand.node.operator('GET', `/deposits?${query}`)).body
  const shown = (await stand.node.operator('GET', `/deposits/${deposit.id}`)).body
  expect((await list(`profile_id=${profileId}`)).items).toEqual([shown])
  expect((await list('unattributed=true&limit=1')).items).toEqual([lost])
  expect((await list('secondary_status=HELD&disposition=NO_RULE&asset=USDC&limit=1')).items).toEqual([shown])
  const { items, next_page_cursor } = await list(`customer_id=${stand.customer.customerId}&limit=1&status=COMPLETED`)
  expect(items).toEqual([shown])
  expect((await list(`limit=1&page_cursor=${next_page_cursor}`)).code).toBe('invalid_cursor')
  expect((await list('profile_id=nobody')).items).toEqual([])
  for (const query of ['status=DONE', 'unattributed=yes', 'limit=0']) {
    expect((await list(query)).code, query).toBe('invalid_request')
  }
  expect((await stand.node.operator('GET', `/deposits/${NO_ONE}`)).status).toBe(404)
})
