/** Orchestrations as customers ask for them and see them, and as the operator decides about them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serviceBalance } from '../../../src/money/ledger/checkpoints.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { addAssets, balanceOf, credit } from '../../support/ledger.ts'
import {
  convertSettings,
  newOrchestration,
  ORCHESTRATED_ASSETS,
  orchestrationRow,
  startAll,
  violationsOf,
} from '../../support/orchestrations.ts'
import { releaseOf } from '../../support/release.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { ETHEREUM_ADDRESS, newAccount, RULES, ruleBody, type TestAccount } from '../../support/rules.ts'

const ORCHESTRATIONS = '/v2/orchestration/orchestrations'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

let node: RestNode
let customer: RestCustomer
let alice: TestAccount
beforeAll(async () => {
  node = await RestNode.open({
    hasTestSeed: true,
    flags: { 'orchestrations.minimums': '{"USDC": "0.5"}' },
  })
  await addAssets(node.db, ORCHESTRATED_ASSETS)
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

let refs = 0

function body(changes: Readonly<Record<string, unknown>> = {}) {
  return {
    ref_id: `withdrawal ${++refs}`,
    source: { profile: { profile_id: alice.profileId } },
    source_asset: 'USDC',
    source_amount: '2.5',
    destination_asset: 'USDG',
    ...changes,
  }
}

/** A new account with this amount of USDC, in units of 10^-6. */
async function fund(amount: bigint): Promise<void> {
  alice = await newAccount(customer)
  await credit(node.db, alice.profileId, 'USDC', amount)
}

async function start(changes: Readonly<Record<string, unknown>> = {}) {
  const answer = await customer.call('POST', ORCHESTRATIONS, body(changes))
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** Does everything that is due, as the worker would. */
async function work(settings: Parameters<typeof convertSettings>[0] = {}): Promise<void> {
  await sql`update orchestration_queue set next_attempt_at = clock_timestamp()`.execute(node.db.tables())
  const claims = await claimWork(
    node.db,
    {
      kinds: ['convert'],
      limit: 50,
      claimSeconds: 60,
    },
    ALL_DUE,
  )
  await node.db.transaction((transaction) => convertBatch(transaction, claims, convertSettings(settings)))
}

async function get(id: string) {
  return (await customer.call('GET', `${ORCHESTRATIONS}/${id}`)).body
}

async function idsOf(query: string): Promise<readonly string[]> {
  const answer = await customer.call('GET', `${ORCHESTRATIONS}?order=ASC${query}`)
  expect(answer.status, answer.text).toBe(200)
  return answer.body.items.map(({ id }: { id: string }) => id)
}

describe('an orchestration that is asked for', () => {
  it('a requested orchestration reserves its amount at once, and shows its result', async () => {
    await fund(10_000_000n)
    const made = await start({ metadata: { invoice: '7' } })
    expect(made).toEqual({
      id: expect.stringMatching(UUID),
      customer_id: customer.customerId,
      profile_id: alice.profileId,
      identity_id: 'alice',
      account_id: alice.accountId,
      ref_id: `withdrawal ${refs}`,
      source_asset: 'USDC',
      source_amount: '2.5',
      destination_asset: 'USDG',
      status: 'PROCESSING',
      expires_at: expect.stringMatching(TIME),
      source: { profile: { profile_id: alice.profileId } },
      destination: { profile: { profile_id: alice.profileId } },
      metadata: { invoice: '7' },
      created_at: expect.stringMatching(TIME),
      updated_at: made.created_at,
    })
    expect(await balanceOf(node.db, alice.profileId, 'USDC')).toMatchObject({
      available: 7_500_000n,
      in_transit: 2_500_000n,
    })
    await work({ feeBps: 100 })
    const done = await get(made.id)
    expect(done).toEqual({
      ...made,
      status: 'COMPLETED',
      destination_amount: '2.475',
      price: '1',
      price_source: 'par',
      receipt: {
        initial_amount: '2.5',
        fee_amount: '0.025',
        converted_amount: '2.475',
        rate: '1',
        outgoing_amount: '2.475',
      },
      source_transfer: { transfer_id: expect.stringMatching(UUID), status: 'COMPLETED' },
      destination_transfer: { transfer_id: expect.stringMatching(UUID), status: 'COMPLETED' },
      updated_at: expect.stringMatching(TIME),
    })
    const list = await customer.call('GET', `${ORCHESTRATIONS}?ids=${made.id}`)
    expect(list.body).toEqual({ orchestrations: [done], items: [done] })
  })

  it('an orchestration requested with a used ref_id is refused with the earlier one, though the money is gone', async () => {
    await fund(2_500_000n)
    const wanted = body()
    const answers = await Promise.all([1, 2, 3].map(() => customer.call('POST', ORCHESTRATIONS, wanted)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const made = answers.find(({ status }) => status === 200)?.body
    for (const { body: refused } of answers.filter(({ status }) => status === 409)) {
      expect(refused).toMatchObject({ code: 'already_exists', meta: { existing: made } })
    }
  })

  it('requested orchestrations never commit money twice, however many ask for it', async () => {
    await fund(5_000_000n)
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => customer.call('POST', ORCHESTRATIONS, body({ source_amount: '2' }))),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 403, 403, 403, 403])
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({
      code: 'insufficient_funds',
      meta: { available: '1', needed: '2' },
    })
    const balance = await balanceOf(node.db, alice.profileId, 'USDC')
    expect(balance).toMatchObject({ available: 1_000_000n, in_transit: 4_000_000n })
  })

  it.each([
    ['an amount that is none', { source_amount: '-1' }, '/source_amount'],
    ['more decimals than the asset has', { source_amount: '1.1234567' }, '/source_amount'],
    ['less than the minimum', { source_amount: '0.49' }, '/source_amount'],
    ['an asset that is not there', { source_asset: 'XYZ' }, '/source_asset'],
    ['a pair without a market', { destination_asset: 'LTC' }, '/destination_asset'],
    [
      'an address that is none',
      { destination: { crypto: { network: 'ETHEREUM', address: '0x1' } } },
      '/destination/crypto/address',
    ],
  ])('a requested orchestration is refused with %s', async (_, changes, pointer) => {
    const answer = await customer.call('POST', ORCHESTRATIONS, body(changes))
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toMatchObject([{ pointer }])
  })

  it('a requested orchestration is refused when the same asset would stay in the same profile, and nothing is reserved', async () => {
    const before = await node.operator('GET', `/profiles/${alice.profileId}/balances`)
    const same = { destination_asset: 'USDC' }
    const named = { ...same, destination: { profile: { profile_id: alice.profileId } } }
    for (const changes of [named, { ...same, destination: undefined }]) {
      const answer = await customer.call('POST', ORCHESTRATIONS, body(changes))
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
      expect(answer.body.errors).toMatchObject([{ pointer: '/destination' }])
    }
    expect((await node.operator('GET', `/profiles/${alice.profileId}/balances`)).body).toEqual(before.body)
  })

  it('a requested orchestration is refused to an address of this service, and for a profile of another customer', async () => {
    const { body: made } = await customer.call('POST', RULES, ruleBody(alice.profileId))
    const { address } = made.rule.source.crypto
    const own = await customer.call(
      'POST',
      ORCHESTRATIONS,
      body({ destination: { crypto: { network: 'BASE', address } } }),
    )
    expect(own.body).toMatchObject({ status: 400, code: 'invalid_request' })
    const usdc = { destination_asset: 'USDC', destination: { crypto: { network: 'BASE', address } } }
    expect((await customer.call('POST', ORCHESTRATIONS, body(usdc))).body).toMatchObject({ code: 'own_address' })
    const stranger = await node.newCustomer()
    expect((await stranger.call('POST', ORCHESTRATIONS, body())).status).toBe(404)
    const id = (await customer.call('GET', `${ORCHESTRATIONS}?limit=1`)).body.items[0].id
    expect((await stranger.call('GET', `${ORCHESTRATIONS}/${id}`)).status).toBe(404)
    expect((await stranger.call('GET', `${ORCHESTRATIONS}?ids=${id}`)).body.items).toEqual([])
  })

  it('a requested orchestration is refused while a gate is closed', async () => {
    await fund(10_000_000n)
    await node.operator('PATCH', '/controls', { paused: { pairs: ['USDC/USDG'] } })
    expect((await customer.call('POST', ORCHESTRATIONS, body())).body).toMatchObject({ status: 403, code: 'paused' })
    await node.operator('PATCH', '/controls', { paused: { pairs: [] } })
    await sql`update balances set receivable = 1 where profile_id = ${alice.profileId}`.execute(node.db.tables())
    expect((await customer.call('POST', ORCHESTRATIONS, body())).body).toMatchObject({
      status: 403,
      code: 'receivable',
    })
    await sql`update balances set receivable = 0 where profile_id = ${alice.profileId}`.execute(node.db.tables())
    await node.operator('PATCH', `/accounts/${alice.accountId}`, { admin_disabled: true })
    const blocked = await customer.call('POST', ORCHESTRATIONS, body())
    expect(blocked.body).toMatchObject({ status: 403, code: 'account_blocked' })
    await node.operator('PATCH', `/accounts/${alice.accountId}`, { admin_disabled: false })
    await start()
  })
})

describe('an orchestration of a rule', () => {
  it('an orchestration of a rule continues when the rule is deleted', async () => {
    alice = await newAccount(customer)
    const { rule } = (await customer.call('POST', RULES, ruleBody(alice.profileId))).body
    const owner = { customerId: customer.customerId, ...alice }
    const changes = { ruleId: rule.id, depositId: newId(), destinationAsset: 'USD', source: rule.source }
    const [id = ''] = await startAll(node.db, [newOrchestration(owner, changes)])
    expect((await customer.call('DELETE', `${RULES}/${rule.id}`)).body.rule.status).toBe('DELETED')
    await work()
    const { source, deposit_id } = { source: rule.source, deposit_id: changes.depositId }
    expect(await get(id)).toMatchObject({
      status: 'COMPLETED',
      orchestration_rule_id: rule.id,
      source,
      deposit_id,
      destination_amount: '5',
    })
    expect(await idsOf(`&orchestration_rule_id=${rule.id}`)).toEqual([id])
    expect(await idsOf(`&orchestration_rule_ids=${rule.id}`)).toEqual([id])
    for (const query of [`orchestration_rule_id=${rule.id}`, `deposit_id=${deposit_id}`]) {
      const { items } = (await node.operator('GET', `/orchestrations?${query}`)).body
      expect(items).toMatchObject([{ id }])
    }
  })
})

describe('the list', () => {
  it('the list of orchestrations is filtered by each member, by one name or the other', async () => {
    await fund(10_000_000n)
    const first = await start({ ref_id: 'filtered 1' })
    const second = await start({ ref_id: 'filtered 2', destination_asset: 'USD' })
    await work()
    const profile = `&profile_id=${alice.profileId}`
    expect(await idsOf(profile)).toEqual([first.id, second.id])
    expect(await idsOf(`&profile_ids=${alice.profileId}`)).toEqual([first.id, second.id])
    expect(await idsOf(`&profile_ids=${alice.profileId}&profile_id=${newId()}`)).toEqual([first.id, second.id])
    expect(await idsOf(`&ref_id=filtered 2&ref_id=filtered 3`)).toEqual([second.id])
    expect(await idsOf(`&orchestration_id=${first.id}&orchestration_id=no-id`)).toEqual([first.id])
    expect(await idsOf(`&ids=${first.id.toUpperCase()}&status=FAILED`)).toEqual([])
    expect(await idsOf(`${profile}&destination_asset=USD`)).toEqual([second.id])
    expect(await idsOf(`${profile}&source_asset=BTC`)).toEqual([])
    expect(await idsOf(`${profile}&status=COMPLETED,FAILED`)).toEqual([first.id, second.id])
    expect(await idsOf(`${profile}&status=PROCESSING`)).toEqual([])
    expect(await idsOf(`&created_at.eq=${second.created_at}&destination_asset=USD`)).toEqual([second.id])
    expect(await idsOf(`&orchestration_rule_id=${newId()}&orchestration_rule_ids=x`)).toEqual([])
    const { updated_at: changed } = await get(second.id)
    expect(changed > second.created_at).toBe(true)
    expect(await idsOf(`${profile}&updated_at.eq=${changed}&destination_asset=USD`)).toEqual([second.id])
    // Without other filters, a value of which names one record, and of another time.
    expect(await idsOf(`&updated_at.eq=${changed}`)).toContain(second.id)
    expect(await idsOf(`&ids=${second.id}&updated_at.gte=${changed}`)).toEqual([second.id])
    expect(await idsOf(`&ids=${second.id}&updated_at.gt=${changed}`)).toEqual([])
  })

  it('the list of orchestrations refuses too many values, and malformed ids', async () => {
    const many = Array.from({ length: 101 }, () => 'ref_id=x').join('&')
    expect((await customer.call('GET', `${ORCHESTRATIONS}?${many}`)).status).toBe(400)
    expect((await customer.call('GET', `${ORCHESTRATIONS}?ids=x`)).status).toBe(400)
  })
})

/** The rows of the audit trail about one record, the oldest first. */
async function trailOf(id: string) {
  return (await node.operator('GET', `/audit?subject=${id}&order=ASC`)).body.items
}

describe('the operator', () => {
  const disable = (admin_disabled: boolean) =>
    node.operator('PATCH', `/accounts/${alice.accountId}`, { admin_disabled })

  it('the operator releases an orchestration on hold from the gates that the release names', async () => {
    await fund(10_000_000n)
    const { id, expires_at } = await start()
    await disable(true)
    await work()
    const held = (await node.operator('GET', `/orchestrations/${id}`)).body
    expect(held).toMatchObject({
      waiting_for: 'HOLD',
      waiting_detail: expect.stringContaining('DISABLED'),
      step: 'convert',
    })
    expect((await get(id)).waiting_for).toBe('HOLD')
    expect((await get(id)).waiting_detail).toBeUndefined()
    const listed = await node.operator('GET', `/orchestrations?waiting_for=HOLD&profile_id=${alice.profileId}`)
    expect(listed.body.items).toEqual([held])
    expect(held.gates).toEqual([{ code: 'ACCOUNT_BLOCKED', detail: held.waiting_detail }])
    const release = (changes: object) =>
      node.operator('POST', `/orchestrations/${id}/release`, { ...releaseOf(held), ...changes })
    expect((await release({ version: expires_at })).body).toMatchObject({ status: 409, code: 'record_changed' })
    const refused = (await release({ gates: ['RECEIVABLE'] })).body
    expect(refused).toMatchObject({ status: 409, code: 'invalid_state', meta: { current: 'HOLD' } })
    for (const code of ['SCREENING', 'DESTINATION', 'CUSTOMER_DISABLED', 'ACCOUNT_NOT_APPROVED', 'PAUSED']) {
      expect((await release({ gates: [code] })).status).toBe(400)
    }
    expect((await release({ gates: [] })).status).toBe(400)
    await sql`update orchestrations set waiting_since = waiting_since - interval '1 hour' where id = ${id}`.execute(
      node.db.tables(),
    )
    const released = await release({})
    expect(released.body).toMatchObject({ id, status: 'PROCESSING' })
    expect(released.body.waiting_for).toBeUndefined()
    expect(Date.parse(released.body.expires_at) - Date.parse(expires_at)).toBeGreaterThanOrEqual(3_600_000)
    expect((await release({})).body).toEqual(released.body)
    await work()
    expect((await get(id)).status).toBe('COMPLETED')
    expect(await trailOf(id)).toMatchObject([
      { action: 'orchestration.create', actor: `client:${customer.clientId}` },
      { action: 'orchestration.wait', actor: 'worker', detail: { waiting_for: 'HOLD' } },
      {
        action: 'orchestration.release',
        actor: 'operator',
        detail: { gates: ['ACCOUNT_BLOCKED'], reason: 'checked' },
      },
      { action: 'orchestration.complete', actor: 'worker' },
    ])
    expect((await release({})).status).toBe(409)
    await disable(false)
  })

  it('the operator rejects an orchestration on hold, and the amount stays with the profile', async () => {
    await fund(10_000_000n)
    const { id } = await start()
    const reject = () => node.operator('POST', `/orchestrations/${id}/reject`, { reason: 'origin not known' })
    expect((await reject()).status).toBe(409)
    await disable(true)
    await work()
    const rejected = (await reject()).body
    expect(rejected).toMatchObject({ status: 'FAILED', fail_reason: { code: 'REJECTED', detail: 'origin not known' } })
    expect((await reject()).body).toEqual(rejected)
    const balance = await balanceOf(node.db, alice.profileId, 'USDC')
    expect(balance).toMatchObject({ available: 10_000_000n, in_transit: 0n })
    expect((await trailOf(id)).at(-1)).toMatchObject({ action: 'orchestration.reject', actor: 'operator' })
    await disable(false)
  })

  it('the operator retries a failed orchestration, with the money that came back', async () => {
    await fund(2_500_000n)
    const { id } = await start({ destination_asset: 'USD' })
    const retry = () => node.operator('POST', `/orchestrations/${id}/retry`)
    expect((await retry()).status).toBe(409)
    await sql`update orchestrations set expires_at = created_at where id = ${id}`.execute(node.db.tables())
    await work()
    expect((await get(id)).fail_reason.code).toBe('EXPIRED')
    const first = await retry()
    expect(first.body).toMatchObject({ retry_of: id, status: 'PROCESSING', source_amount: '2.5' })
    expect(first.body.ref_id).toBeUndefined()
    expect((await retry()).body).toEqual(first.body)
    await work()
    expect((await get(first.body.id)).status).toBe('COMPLETED')
    expect((await node.operator('POST', `/orchestrations/${first.body.id}/retry`)).status).toBe(409)
    expect((await trailOf(id)).at(-1)).toMatchObject({
      action: 'orchestration.retry',
      detail: { retry_id: first.body.id },
    })
  })

  it('the operator retries a delivery that failed without a second conversion or fee', async () => {
    await fund(2_500_000n)
    const destination = { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } }
    const { id } = await start({ destination })
    await work({ feeBps: 100 })
    // As a refusal leaves it.
    await sql`
      update orchestrations set status = 'FAILED', step = null, fail_code = 'REFUSED', fail_detail = 'x' where id = ${id}
    `.execute(node.db.tables())
    await sql`
      update balances set available = in_transit, in_transit = 0 where profile_id = ${alice.profileId} and asset = 'USDG'
    `.execute(node.db.tables())
    const retry = (await node.operator('POST', `/orchestrations/${id}/retry`)).body
    expect(retry).toMatchObject({
      source_asset: 'USDG',
      source_amount: '2.475',
      destination_asset: 'USDG',
      destination,
    })
    await work({ feeBps: 100 })
    const row = await orchestrationRow(node.db, retry.id)
    expect(row).toMatchObject({ step: 'deliver', fee_amount: '0', destination_amount: '2475000' })
  })

  describe('without a conversion', () => {
    const destination = { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } }
    const operate = async (path: string, request: object) => {
      const answer = await node.operator('POST', path, request)
      expect(answer.status, answer.text).toBe(200)
      return answer.body
    }
    const settle = (delivery: string, changes: object = {}) =>
      operate(`/deliveries/${delivery}/settle`, { reference: `paid ${delivery}`, attempt: 1, ...changes })
    const shown = async (transfer: string) => {
      const { amount, fee, total, status } = (await customer.call('GET', `/v2/transfer/transfers/${transfer}`)).body
      return [amount, fee, total, status].join(' ')
    }
    const usdc = () => balanceOf(node.db, alice.profileId, 'USDC')
    const violations = async () =>
      (await violationsOf(node.db)).filter((violation) => violation.includes(alice.profileId))
    const collected = () => node.db.transaction((transaction) => serviceBalance(transaction, 'fees', 'USDC'))

    /** The payment of what was not converted, claimed. */
    async function claimPayment(id: string): Promise<string> {
      await work({ feeBps: 100 })
      const delivery = (await get(id)).destination_transfer.transfer_id
      await operate(`/deliveries/${delivery}/claim`, { lease_seconds: 60 })
      return delivery
    }

    it('a payment shows the fee that was charged for it, and not what it cost the operator', async () => {
      await fund(2_500_000n)
      const before = await collected()
      const delivery = await claimPayment((await start({ destination_asset: 'USDC', destination })).id)
      expect(await shown(delivery)).toBe('2.475 0.025 2.5 PENDING')
      expect(await settle(delivery, { fee: '0.3' })).toMatchObject({ fee: '0.3' })
      expect(await shown(delivery)).toBe('2.475 0.025 2.5 COMPLETED')
      expect(await collected()).toBe(before + 25_000n)
      expect(await violations()).toEqual([])
    })

    it('a failed payment gives its fee back, its retry is charged, and so is one that was paid after all', async () => {
      await fund(2_500_000n)
      const before = await collected()
      const { id } = await start({ destination_asset: 'USDC', destination })
      const delivery = await claimPayment(id)
      await operate(`/deliveries/${delivery}/fail`, { reason: 'closed', attempt: 1 })
      expect(await usdc()).toMatchObject({ available: 2_500_000n, in_transit: 0n })
      expect((await get(id)).receipt).toMatchObject({ fee_amount: '0', converted_amount: '2.475' })
      expect(await collected()).toBe(before)
      const retry = await operate(`/orchestrations/${id}/retry`, {})
      expect(retry).toMatchObject({ source_asset: 'USDC', source_amount: '2.5', destination })
      await settle(await claimPayment(retry.id))
      expect(await collected()).toBe(before + 25_000n)
      await settle(delivery, { late: true })
      expect((await get(id)).receipt).toMatchObject({ fee_amount: '0.025', converted_amount: '2.475' })
      expect(await usdc()).toMatchObject({ available: 0n, in_transit: 0n, receivable: 2_500_000n })
      expect(await collected()).toBe(before + 50_000n)
      expect(await violations()).toEqual([])
    })

    it('a second failed payment of a charged conversion gives back no fee', async () => {
      await fund(2_500_000n)
      const before = await collected()
      let { id } = await start({ destination })
      for (let attempt = 1; attempt <= 3; attempt++) {
        await operate(`/deliveries/${await claimPayment(id)}/fail`, { reason: 'closed', attempt: 1 })
        expect(await balanceOf(node.db, alice.profileId, 'USDG')).toMatchObject({ available: 2_475_000n })
        id = (await operate(`/orchestrations/${id}/retry`, {})).id
      }
      expect(await collected()).toBe(before + 25_000n)
      expect(await violations()).toEqual([])
    })

    it('a retry of a charged conversion is free, also after a retry that was rejected before its payment', async () => {
      await fund(2_500_000n)
      const first = await start({ destination })
      await operate(`/deliveries/${await claimPayment(first.id)}/fail`, { reason: 'closed', attempt: 1 })
      const second = await operate(`/orchestrations/${first.id}/retry`, {})
      await disable(true)
      await work({ feeBps: 100 })
      await operate(`/orchestrations/${second.id}/reject`, { reason: 'origin not known' })
      await disable(false)
      const third = await operate(`/orchestrations/${second.id}/retry`, {})
      await work({ feeBps: 100 })
      const { receipt } = await get(third.id)
      expect(receipt).toMatchObject({ initial_amount: '2.475', fee_amount: '0', outgoing_amount: '2.475' })
      expect(await violations()).toEqual([])
    })
  })

  it('the operator pauses the configured parts, and waiting orchestrations wake when the pause ends', async () => {
    await fund(10_000_000n)
    const unknown = await node.operator('PATCH', '/controls', {
      paused: { assets: ['XYZ'], networks: ['MARS'], pairs: ['USDC', 'USDC/LTC'] },
    })
    const pointers = unknown.body.errors.map(({ pointer }: { pointer: string }) => pointer)
    expect(pointers).toEqual(['/paused/assets/0', '/paused/networks/0', '/paused/pairs/0', '/paused/pairs/1'])
    const { id } = await start()
    const paused = await node.operator('PATCH', '/controls', { paused: { assets: ['USDG', 'USDG'], deliveries: true } })
    expect(paused.body.paused).toEqual({ assets: ['USDG'], networks: [], pairs: [], deliveries: true })
    expect((await node.operator('GET', '/controls')).body).toEqual(paused.body)
    await work()
    expect((await get(id)).waiting_for).toBe('PAUSED')
    await sql`update orchestration_queue set next_attempt_at = 'infinity' where orchestration_id = ${id}`.execute(
      node.db.tables(),
    )
    await node.operator('PATCH', '/controls', { paused: { assets: [], deliveries: false } })
    const due = sql<{ due: boolean }>`
      select next_attempt_at <= clock_timestamp() as due from orchestration_queue where orchestration_id = ${id}
    `
    expect((await due.execute(node.db.tables())).rows).toEqual([{ due: true }])
    await work()
    expect((await get(id)).status).toBe('COMPLETED')
  })

  it('the operator finds orchestrations by customer, rule, deposit and status', async () => {
    const other = await node.newCustomer()
    const found = async (query: string) => (await node.operator('GET', `/orchestrations?${query}`)).body.items.length
    expect(await found(`customer_id=${customer.customerId}`)).toBeGreaterThan(3)
    expect(await found(`customer_id=${other.customerId}`)).toBe(0)
    expect(await found(`status=COMPLETED&limit=2&customer_id=${customer.customerId}`)).toBe(2)
    expect(await found(`orchestration_rule_id=${newId()}`)).toBe(0)
    expect(await found(`deposit_id=${newId()}`)).toBe(0)
    expect((await node.operator('GET', `/orchestrations/${newId()}`)).status).toBe(404)
  })
})
