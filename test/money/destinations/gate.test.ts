/** What registration decides: rules and orchestrations at creation, payments when they are handed out. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import type { Config } from '../../../src/service/config/settings.ts'
import { addDeliveries, letPass, rowsOf } from '../../support/deliveries.ts'
import { FIAT_ACCOUNTS, fiatBody, registerAddress, TO_ADDRESSES } from '../../support/destinations.ts'
import { credit } from '../../support/ledger.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { ETHEREUM_ADDRESS, newAccount, RULES, ruleBody, type TestAccount } from '../../support/rules.ts'

const STELLAR = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'
const PLACE = { crypto: { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' } } as const

let node: RestNode
let customer: RestCustomer
let account: TestAccount
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
})
afterAll(() => node?.close())
beforeEach(async () => {
  configure({ 'destinations.required': true })
  customer = await node.newCustomer()
  account = await newAccount(customer)
  await sql`update deliveries set next_attempt_at = null, status = 'FAILED' where next_attempt_at is not null`.execute(
    node.db.tables(),
  )
})

let initial: Config | undefined
function configure(changes: Partial<Config>): void {
  initial ??= node.live.config
  node.live.config = { ...initial, ...changes }
}

const owner = () => ({ customerId: customer.customerId, ...account })
const rule = (destination: object) =>
  customer.call('POST', RULES, ruleBody(account.profileId, { destination_asset: 'USDC', destination }))
const withdrawal = (destination: object, ref_id = 'withdrawal') =>
  customer.call('POST', '/v2/orchestration/orchestrations', {
    ref_id,
    source: { profile: { profile_id: account.profileId } },
    source_asset: 'USDC',
    source_amount: '1',
    destination_asset: 'USDC',
    destination,
  })
const remove = (id: string) => customer.call('DELETE', `${TO_ADDRESSES}/${id}`)
const reject = (id: string) => node.operator('POST', `/destinations/${id}/reject`, { reason: 'unknown owner' })
const disable = (id: string) => node.operator('PATCH', `/accounts/${id}`, { admin_disabled: true })
const approve = (id: string) => node.operator('POST', `/destinations/${id}/approve`, {})

/** Claims everything that is due, and returns the deliveries' ids. */
async function claim(): Promise<readonly string[]> {
  const request = { executor: 'treasury', limit: 100, lease_seconds: 60 }
  const { status, text, body } = await node.operator('POST', '/deliveries/claim', request)
  expect(status, text).toBe(200)
  return body.items.map(({ id }: { id: string }) => id)
}

/** Moves a destination's times back. */
const elapse = (id: string, hours: number) =>
  sql`update destinations set usable_at = usable_at - ${hours} * interval '1 hour' where id = ${id}`.execute(
    node.db.tables(),
  )

describe('a rule or an orchestration to a destination', () => {
  it('an unregistered destination is refused while registration is required, and accepted otherwise', async () => {
    await credit(node.db, account.profileId, 'USDC', 5_000_000n)
    for (const place of [PLACE, { fiat: { fiat_account_id: 'no such account' } }]) {
      const asset = 'crypto' in place ? 'USDC' : 'USD'
      const body = ruleBody(account.profileId, { destination_asset: asset, destination: place })
      const refused = await customer.call('POST', RULES, body)
      expect(refused).toMatchObject({ status: 403, body: { code: 'destination_not_registered' } })
    }
    expect(await withdrawal(PLACE)).toMatchObject({ status: 403, body: { code: 'destination_not_registered' } })
    expect((await rule({ profile: { profile_id: account.profileId } })).status).toBe(200)
    const other = await node.newCustomer()
    await registerAddress(other)
    expect((await rule(PLACE)).status).toBe(403)
    configure({ 'destinations.required': false })
    expect((await rule(PLACE)).status).toBe(200)
    expect((await withdrawal(PLACE)).status).toBe(200)
  })

  it('a registered destination is accepted, in every notation of its address and only on its network', async () => {
    await registerAddress(customer)
    expect((await rule({ crypto: { ...PLACE.crypto, address: ETHEREUM_ADDRESS.toLowerCase() } })).status).toBe(200)
    expect((await rule({ crypto: { ...PLACE.crypto, network: 'POLYGON' } })).status).toBe(403)
  })

  it('a destination that cools is refused with the time from which it is usable', async () => {
    configure({ 'destinations.required': true, 'destinations.cooling_hours': 24 })
    const { body } = await registerAddress(customer)
    expect(Date.parse(body.usable_at) - Date.parse(body.created_at)).toBe(24 * 3_600_000)
    const meta = { usable_at: body.usable_at }
    expect(await rule(PLACE)).toMatchObject({ status: 403, body: { code: 'destination_cooling', meta } })
    await elapse(body.id, 23)
    expect((await rule(PLACE)).status).toBe(403)
    await elapse(body.id, 1)
    expect((await rule(PLACE)).status).toBe(200)
  })

  it('a PENDING, rejected or deleted destination is refused, and a rejected one also without required registration', async () => {
    configure({ 'destinations.required': true, 'destinations.approval': 'required', 'destinations.cooling_hours': 1 })
    const { body } = await registerAddress(customer)
    expect(body.status).toBe('PENDING')
    await elapse(body.id, 2)
    expect((await rule(PLACE)).body.code).toBe('destination_not_registered')
    const before = Date.now()
    const approved = await approve(body.id)
    expect(approved.body).toMatchObject({ id: body.id, kind: 'CRYPTO', status: 'ACTIVE', unverified: false })
    expect(Date.parse(approved.body.usable_at)).toBeGreaterThan(before - 60_000)
    expect((await rule(PLACE)).status).toBe(200)
    expect((await approve(body.id)).body).toEqual(approved.body)
    expect((await reject(body.id)).body).toMatchObject({ status: 'REJECTED', reject_reason: 'unknown owner' })
    for (const isRequired of [true, false]) {
      configure({ 'destinations.required': isRequired })
      expect((await rule(PLACE)).body.code).toBe('destination_not_registered')
    }
    expect(await remove(body.id)).toMatchObject({ status: 409, body: { code: 'invalid_state' } })
    expect((await approve(body.id)).status).toBe(409)
    expect((await registerAddress(customer)).status).toBe(409)
  })

  it.each([
    ['destination was deleted', 'destination_not_registered', (id: string) => remove(id)],
    ['account was disabled', 'account_blocked', () => disable(account.accountId)],
  ])('a repeated ref_id is answered with its record, also after the %s', async (_, code, refuse) => {
    await credit(node.db, account.profileId, 'USDC', 5_000_000n)
    const { body } = await registerAddress(customer)
    const terms = ruleBody(account.profileId, { destination_asset: 'USDC', destination: PLACE })
    const created = await customer.call('POST', RULES, terms)
    const withdrawn = await withdrawal(PLACE)
    expect([created.status, withdrawn.status]).toEqual([200, 200])
    await refuse(body.id)
    const existing = { code: 'already_exists', meta: { existing: { id: withdrawn.body.id } } }
    expect(await withdrawal(PLACE)).toMatchObject({ status: 409, body: existing })
    const again = await customer.call('POST', RULES, terms)
    expect(again).toMatchObject({ status: 409, body: { meta: { existing: { id: created.body.rule.id } } } })
    expect(await withdrawal(PLACE, 'another one')).toMatchObject({ status: 403, body: { code } })
    expect(await rule(PLACE)).toMatchObject({ status: 403, body: { code } })
  })

  it('the memo is that of the destination, and another one is refused', async () => {
    await registerAddress(customer, { crypto_network: 'STELLAR', address: STELLAR, memo: '4711' })
    const stellar = (memo: object) =>
      customer.call(
        'POST',
        RULES,
        ruleBody(account.profileId, {
          source_asset: 'XLM',
          destination_asset: 'XLM',
          source: { profile: { profile_id: account.profileId } },
          destination: { crypto: { address: STELLAR, network: 'STELLAR', ...memo } },
        }),
      )
    for (const memo of [{}, { memo: '4711' }]) {
      const answer = await stellar(memo)
      expect(answer.status, answer.text).toBe(200)
      expect(answer.body.rule.destination).toEqual({ crypto: { address: STELLAR, network: 'STELLAR', memo: '4711' } })
    }
    const refused = await stellar({ memo: '4712' })
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ pointer: '/destination/crypto/memo' }] } })
    const { body: plain } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody())
    const fiat = (memo: object) =>
      customer.call(
        'POST',
        RULES,
        ruleBody(account.profileId, { destination: { fiat: { fiat_account_id: plain.id, ...memo } } }),
      )
    expect((await fiat({})).status).toBe(200)
    const surplus = await fiat({ memo: 'x' })
    expect(surplus).toMatchObject({ status: 400, body: { errors: [{ pointer: '/destination/fiat/memo' }] } })
  })

  it('a fiat account is named by its id, and not by its ref_id', async () => {
    const { body } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody({ ref_id: 'house bank' }))
    const to = (fiat_account_id: string) =>
      customer.call('POST', RULES, ruleBody(account.profileId, { destination: { fiat: { fiat_account_id } } }))
    expect((await to('house bank')).status).toBe(403)
    expect((await to(body.id)).status).toBe(200)
  })

  it('with rest.sandbox the magic destinations count as registered', async () => {
    const magic = { fiat: { fiat_account_id: 'sandbox-refused' } }
    const body = () => ruleBody(account.profileId, { destination: magic })
    expect((await customer.call('POST', RULES, body())).status).toBe(403)
    configure({ 'destinations.required': true, 'rest.sandbox': true })
    expect((await customer.call('POST', RULES, body())).status).toBe(200)
  })
})

describe('a payment that is handed out', () => {
  it('a payment waits for its destination, and leaves when that is registered and usable', async () => {
    configure({ 'destinations.required': true, 'destinations.approval': 'required' })
    const [id = ''] = await addDeliveries(node.db, owner(), 1)
    const waits = async (detail: string) => {
      await letPass(node.db, [id], 60)
      expect(await claim()).toEqual([])
      const gates = [{ code: 'DESTINATION', detail }]
      expect((await rowsOf(node.db, [id])).get(id)).toMatchObject({ waiting_for: 'DESTINATION', gates })
    }
    await waits('the destination is not registered')
    configure({ 'destinations.required': true, 'destinations.approval': 'required', 'destinations.cooling_hours': 24 })
    const { body } = await registerAddress(customer)
    await waits('the destination waits for approval')
    const { body: approved } = await approve(body.id)
    await waits(`the destination is usable from ${approved.usable_at} on`)
    await elapse(body.id, 24)
    await letPass(node.db, [id], 60)
    expect(await claim()).toEqual([id])
  })

  it('an approval and an earlier usable_at wake the waiting payment at once', async () => {
    const configured = { 'destinations.required': true, 'destinations.cooling_hours': 24 } as const
    configure({ ...configured, 'destinations.approval': 'required' })
    const { body } = await registerAddress(customer)
    const [id = ''] = await addDeliveries(node.db, owner(), 1)
    expect(await claim()).toEqual([])
    await elapse(body.id, 24)
    expect(await claim()).toEqual([])
    expect((await approve(body.id)).status).toBe(200)
    expect(await claim()).toEqual([id])
    const { body: later } = await registerAddress(customer, { crypto_network: 'BASE' })
    await approve(later.id)
    const destination = { crypto: { address: ETHEREUM_ADDRESS, network: 'BASE' } } as const
    const [other = ''] = await addDeliveries(node.db, owner(), 1, { destination })
    expect(await claim()).toEqual([])
    const [ada, grace] = [await node.newOperator('ada', 'reviewer'), await node.newOperator('grace', 'reviewer')]
    const earlier = { usable_at: new Date(0).toISOString(), reason: 'called back' }
    const { request } = (await ada('POST', `/destinations/${later.id}/approve`, earlier)).body
    const { version } = (await grace('GET', `/change-requests/${request.id}`)).body
    expect((await grace('POST', `/change-requests/${request.id}/confirm`, { version })).status).toBe(200)
    expect(await claim()).toEqual([other])
  })

  it('nothing is paid to a deleted or rejected destination, also without required registration', async () => {
    const { body: first } = await registerAddress(customer)
    const { body: second } = await registerAddress(customer, { crypto_network: 'BASE' })
    const destination = { crypto: { address: ETHEREUM_ADDRESS, network: 'BASE' } } as const
    const ids = [
      ...(await addDeliveries(node.db, owner(), 1)),
      ...(await addDeliveries(node.db, owner(), 1, { destination })),
    ]
    await remove(first.id)
    await reject(second.id)
    configure({ 'destinations.required': false })
    expect(await claim()).toEqual([])
    await registerAddress(customer)
    await letPass(node.db, ids, 60)
    expect(await claim()).toEqual([ids[0]])
  })

  it('a payment with another memo than its destination waits', async () => {
    await registerAddress(customer, { crypto_network: 'STELLAR', address: STELLAR, memo: '4711' })
    const crypto = { address: STELLAR, network: 'STELLAR' } as const
    const [wrong = ''] = await addDeliveries(node.db, owner(), 1, { destination: { crypto } })
    const destination = { crypto: { ...crypto, memo: '4711' } }
    const [right = ''] = await addDeliveries(node.db, owner(), 1, { destination })
    expect(await claim()).toEqual([right])
    expect((await rowsOf(node.db, [wrong])).get(wrong)).toMatchObject({ waiting_for: 'DESTINATION' })
  })

  it('a deposit’s return goes to the place that the operator names', async () => {
    const ids = await addDeliveries(node.db, owner(), 1, { owner: { depositId: owner().profileId } })
    expect(await claim()).toEqual(ids)
  })
})

describe.skipIf(inject('engine') === 'embedded')('a destination deleted while its payment is handed out', () => {
  it('a payment and its destination’s deletion exclude each other, whichever comes first', async () => {
    for (let round = 0; round < 20; round++) {
      const { body } = await registerAddress(customer)
      const [id = ''] = await addDeliveries(node.db, owner(), 1)
      const both = [claim, () => remove(body.id)] as const
      const [claimed, deleted] =
        round === 0 ? [await both[0](), await both[1]()] : await Promise.all([both[0](), both[1]()])
      expect(deleted.status).toBe(200)
      const { updated_at } = deleted.body
      const { rows } = await sql<{ late: boolean }>`
        select started_at > ${updated_at}::timestamptz as late from delivery_attempts where delivery_id = ${id}
      `.execute(node.db.tables())
      expect(rows).toEqual(claimed.length === 0 ? [] : [{ late: false }])
      await letPass(node.db, [id], 60)
      // Nor is a second attempt, although the first may have paid: a person decides.
      expect(await claim()).toEqual([])
      await sql`update deliveries set next_attempt_at = null, status = 'FAILED' where id = ${id}`.execute(
        node.db.tables(),
      )
    }
  })

  it('a payment whose destination another transaction is changing waits, and is not claimed', async () => {
    const { body } = await registerAddress(customer)
    const ids = await addDeliveries(node.db, owner(), 1)
    await node.db.transaction(async (transaction) => {
      await sql`select from destinations where id = ${body.id} for update`.execute(transaction)
      const { status, body: claimed } = await node.operator('POST', '/deliveries/claim', {
        executor: 'treasury',
        limit: 10,
        lease_seconds: 60,
      })
      expect([status, claimed.items]).toEqual([200, []])
    })
    await letPass(node.db, ids, 60)
    expect(await claim()).toEqual(ids)
  })
})
