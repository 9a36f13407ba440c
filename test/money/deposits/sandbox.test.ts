/** Sandbox deposits: where they arrive, the outcomes that amounts force, and that they are never mixed with real ones. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkDepositMode, keepDepositMode } from '../../../src/money/controls/deposit-mode.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount, RULES, ruleBody, type TestAccount } from '../../support/rules.ts'

let node: RestNode
let customer: RestCustomer
let alice: TestAccount

beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true, flags: { 'rest.sandbox': 'true' } })
  customer = await node.newCustomer()
  alice = await newAccount(customer)
})
afterAll(() => node?.close())

function make(body: object, profileId = alice.profileId, by = customer) {
  return by.call('POST', `/v2/sandbox/profiles/${profileId}/deposit`, body)
}

async function balancesOf({ profileId }: TestAccount): Promise<unknown> {
  return (await customer.call('GET', `/v2/profiles/${profileId}/balances`)).body.items
}

describe('a deposit for testing', () => {
  it('a sandbox deposit arrives at an address of the profile, and not before there is one', async () => {
    const body = { asset: 'USDC', amount: '12.5', crypto_network: 'BASE' }
    const early = await make(body)
    expect(early.status).toBe(404)
    expect(early.body.errors).toEqual([expect.objectContaining({ pointer: '/crypto_network' })])
    const address = { profile_id: alice.profileId, crypto_network: 'ETHEREUM' }
    const made = (await customer.call('POST', '/v2/transfer/deposit-addresses', address)).body
    const { status, body: transfer } = await make(body)
    expect(status).toBe(200)
    expect(transfer).toMatchObject({
      type: 'CRYPTO_DEPOSIT',
      status: 'COMPLETED',
      amount: '12.5',
      crypto_network: 'BASE',
      destination_address: made.address,
      disposition: { code: 'NO_RULE' },
    })
    const given = { asset: 'USDC', amount: '1', crypto_address: made.address.toLowerCase() }
    expect((await make(given)).body).toMatchObject({ destination_address: made.address })
  })

  it('a sandbox deposit of a fiat asset arrives at a memo, or at the profile itself', async () => {
    const bob = await newAccount(customer, 'bob')
    const source = { fiat: { network: 'WIRE', account_type: 'ABA' } }
    const { rule } = (
      await customer.call(
        'POST',
        RULES,
        ruleBody(bob.profileId, { source_asset: 'USD', destination_asset: 'USDC', source }),
      )
    ).body
    const memo_id = rule.source.fiat.memo_id
    const arrived = await make({ asset: 'USD', amount: '20', memo_id }, bob.profileId)
    expect(arrived.body).toMatchObject({ type: 'WIRE_DEPOSIT', memo: memo_id, disposition: { code: 'ORCHESTRATED' } })
    const plain = await make({ asset: 'USD', amount: '3' }, bob.profileId)
    expect(plain.body).toMatchObject({ status: 'COMPLETED', amount: '3' })
    expect((await make({ asset: 'USD', amount: '3', memo_id })).status).toBe(404)
  })

  it.each([
    ['11.01', { status: 'COMPLETED', secondary_status: 'HELD', disposition: { code: 'HELD' } }],
    ['11.02', { status: 'FAILED' }],
    ['11.03', { status: 'COMPLETED', disposition: { code: 'BELOW_MINIMUM' } }],
  ])('a sandbox deposit of %s has the outcome that the amount asks for', async (amount, expected) => {
    const profile = await newAccount(customer, `of ${amount}`)
    await customer.call('POST', RULES, ruleBody(profile.profileId))
    const { body } = await make({ asset: 'USDC', amount }, profile.profileId)
    expect(body).toMatchObject(expected)
    const buckets = { available: '0', in_transit: '0', held: '0' }
    const credited = { '11.01': { held: amount }, '11.03': { available: amount } }[amount]
    expect(await balancesOf(profile)).toEqual(
      credited === undefined ? [] : [{ asset: 'USDC', ...buckets, ...credited }],
    )
  })

  it.each([
    [{ asset: 'USDC', amount: '0' }, '/amount'],
    [{ asset: 'USDC', amount: '1.0000001' }, '/amount'],
    [{ asset: 'NONE', amount: '1' }, '/asset'],
    [{ asset: 'USDC', amount: '1', memo_id: 'memo' }, '/memo_id'],
    [{ asset: 'USD', amount: '1', crypto_network: 'BASE' }, '/crypto_network'],
    [{ asset: 'USDC', amount: 1 }, '/amount'],
  ])('a sandbox deposit that is %j is refused at its member', async (body, pointer) => {
    const answer = await make(body)
    expect(answer.status, answer.text).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    expect(answer.body.errors?.[0]).toMatchObject({ pointer })
  })

  it('a sandbox deposit is created once for a ref_id of the customer, also by concurrent requests', async () => {
    const carol = await newAccount(customer, 'carol')
    const body = { asset: 'USD', amount: '7', ref_id: 'payment-1' }
    const answers = await Promise.all([1, 2, 3].map(() => make(body, carol.profileId)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const created = answers.find(({ status }) => status === 200)?.body
    const another = await make({ ...body, amount: '8' }, carol.profileId)
    const refused = answers.filter(({ status }) => status === 409)
    for (const answer of [...refused, another]) {
      expect(answer.body).toMatchObject({ code: 'already_exists', meta: { existing: created } })
    }
    const address = { profile_id: carol.profileId, crypto_network: 'ETHEREUM' }
    await customer.call('POST', '/v2/transfer/deposit-addresses', address)
    const crypto = { asset: 'USDC', amount: '11.02', ref_id: 'payment-2' }
    const failed = await make(crypto, carol.profileId)
    expect(failed.body).toMatchObject({ status: 'FAILED' })
    expect((await make(crypto, carol.profileId)).body).toMatchObject({ meta: { existing: failed.body } })
    expect((await make({ ...crypto, crypto_network: 'BASE' }, carol.profileId)).body.code).toBe('already_exists')
    expect(await balancesOf(carol)).toEqual([expect.objectContaining({ asset: 'USD', available: '7' })])
    const stranger = await node.newCustomer()
    const theirs = await newAccount(stranger)
    expect((await make(body, theirs.profileId, stranger)).status).toBe(200)
  })

  it('a sandbox deposit waits for a person above review_above.deposits', async () => {
    const { live } = node
    const config = live.config
    live.config = { ...config, 'review_above.deposits': new Map([['USD', '8000']]) }
    const dave = await newAccount(customer, 'dave')
    const { body } = await make({ asset: 'USD', amount: '8000.01' }, dave.profileId)
    expect(body).toMatchObject({ secondary_status: 'HELD', disposition: { code: 'REVIEW' } })
    expect(await balancesOf(dave)).toEqual([expect.objectContaining({ available: '0', held: '8000.01' })])
    live.config = config
  })

  it('a sandbox deposit is for own profiles only', async () => {
    const stranger = await node.newCustomer()
    expect((await make({ asset: 'USDC', amount: '1' }, alice.profileId, stranger)).status).toBe(404)
  })
})

it('a sandbox deposit marks its store, which takes no real deposit and is not served without rest.sandbox again', async () => {
  const real = () => node.db.transaction((transaction) => keepDepositMode(transaction, false))
  const extras = { headers: { 'retry-after': '60' } }
  await expect(real()).rejects.toMatchObject({ code: 'unavailable', extras })
  await checkDepositMode(node.db.tables(), true)
  await expect(checkDepositMode(node.db.tables(), false)).rejects.toThrow(
    'rest.sandbox must be true: the store has sandbox deposits. For real deposits use another store: another data_dir',
  )
})
