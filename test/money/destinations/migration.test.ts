/** What the migration registers for the rules that exist before it, and how those rules find it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { destinations } from '../../../src/platform/store/migrations/202611281640-destinations.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { addDeliveries } from '../../support/deliveries.ts'
import { FIAT_ACCOUNTS, TO_ADDRESSES } from '../../support/destinations.ts'
import { credit } from '../../support/ledger.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { ETHEREUM_ADDRESS, newAccount, RULES, ruleBody, type TestAccount } from '../../support/rules.ts'

const CASH = 'QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A'

let node: RestNode
let customer: RestCustomer
let account: TestAccount
let first: { id: string }
let onBase: { ref_id: string }
let inCash: { ref_id: string }

const rule = async (changes: object) => {
  const source = { profile: { profile_id: account.profileId } }
  const answer = await customer.call('POST', RULES, ruleBody(account.profileId, { source, ...changes }))
  expect(answer.status, answer.text).toBe(200)
  return answer.body.rule
}
const toAddress = (address: string, network: string, asset = 'USDC', changes: object = {}) =>
  rule({ source_asset: asset, destination_asset: asset, destination: { crypto: { address, network } }, ...changes })
const toAccount = (fiat_account_id: string, memo?: string) =>
  rule({ destination: { fiat: { fiat_account_id, ...(memo === undefined ? {} : { memo }) } } })

beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
  customer = await node.newCustomer()
  account = await newAccount(customer)
  first = await toAddress(ETHEREUM_ADDRESS, 'ETHEREUM', 'USDC', { nickname: 'Cold wallet' })
  await toAddress(ETHEREUM_ADDRESS.toLowerCase(), 'ETHEREUM')
  onBase = await toAddress(ETHEREUM_ADDRESS, 'BASE')
  inCash = await toAddress(CASH, 'BITCOIN_CASH', 'BCH')
  const { id } = await toAddress(`0x${'1'.repeat(40)}`, 'ETHEREUM')
  await customer.call('DELETE', `${RULES}/${id}`)
  await toAccount('house bank', 'invoice 17')
  await toAccount('house bank')
  await toAccount('other bank', 'invoice 18')
  await sql`drop table destinations`.execute(node.db.tables())
  const parties = 'alter table destinations add column parties text'
  for (const statement of [...destinations.text.split(/;\n/).filter((text) => text.trim() !== ''), parties]) {
    await sql.raw(statement).execute(node.db.tables())
  }
  node.live.config = { ...node.live.config, 'destinations.required': true }
})
afterAll(() => node?.close())

it('the migration registers each rule’s destination once, as ACTIVE, usable and unverified', async () => {
  const { items } = (await node.operator('GET', '/destinations?unverified=true&limit=1000')).body
  const shown = items.map(({ nickname, address, status, unverified, memos, customer_id }: Record<string, unknown>) => {
    expect([status, unverified, customer_id]).toEqual(['ACTIVE', true, customer.customerId])
    return [nickname, address, memos]
  })
  expect(new Set(shown.map((each: unknown) => JSON.stringify(each)))).toEqual(
    new Set(
      [
        ['Cold wallet', ETHEREUM_ADDRESS, ['']],
        [onBase.ref_id, ETHEREUM_ADDRESS, ['']],
        [inCash.ref_id, CASH, ['']],
        ['house bank', null, ['', 'invoice 17']],
        ['other bank', null, ['invoice 18']],
      ].map((each) => JSON.stringify(each)),
    ),
  )
  const [cold] = (await customer.call('GET', `${TO_ADDRESSES}?ref_ids=rule ${first.id}`)).body.items
  expect(cold).toMatchObject({ nickname: 'Cold wallet', profile_id: account.profileId, usable_at: cold.created_at })
})

it('a migrated fiat account is found by the rule’s text, has no details, and allows the rules’ memos', async () => {
  const { items } = (await customer.call('GET', FIAT_ACCOUNTS)).body
  expect(items).toHaveLength(2)
  for (const item of items) expect(item).toMatchObject({ unverified: true, fiat_network: 'WIRE' })
  expect(items.some((item: object) => 'account' in item)).toBe(false)
  await toAccount('house bank', 'invoice 17')
  expect((await toAccount('other bank')).destination).toEqual({
    fiat: { fiat_account_id: 'other bank', memo: 'invoice 18' },
  })
  const other = ruleBody(account.profileId, { destination: { fiat: { fiat_account_id: 'other bank', memo: 'x' } } })
  expect((await customer.call('POST', RULES, other)).status).toBe(400)
  const fiat = { fiat_account_id: 'house bank', memo: 'invoice 17' }
  const ids = await addDeliveries(node.db, { ...account, customerId: customer.customerId }, 1, {
    asset: 'USD',
    destination: { fiat },
  })
  const request = { executor: 'treasury', limit: 10, lease_seconds: 60 }
  const claimed = (await node.operator('POST', '/deliveries/claim', request)).body.items
  expect(claimed.map(({ id }: { id: string }) => id)).toEqual(ids)
})

it('a migrated fiat account named once by its text and once by its id is one destination for the limits', async () => {
  const { items } = (await customer.call('GET', `${FIAT_ACCOUNTS}?ref_ids=house bank`)).body
  const limits = [{ scope: 'destination', asset: 'USD', window: 'day', amount: '10' }]
  const set = await node.operator('PUT', '/limits', { customer_id: customer.customerId, limits })
  expect(set.status, set.text).toBe(200)
  await credit(node.db, account.profileId, 'USD', 1_000_000n)
  const pay = (fiat_account_id: string, source_amount: string) =>
    customer.call('POST', '/v2/orchestration/orchestrations', {
      ref_id: crypto.randomUUID(),
      source: { profile: { profile_id: account.profileId } },
      source_asset: 'USD',
      source_amount,
      destination_asset: 'USD',
      destination: { fiat: { fiat_account_id, memo: 'invoice 17' } },
    })
  expect((await pay('house bank', '6')).status).toBe(200)
  const second = await pay(items[0].id.toUpperCase(), '6')
  expect(second).toMatchObject({ status: 403, body: { code: 'limit_exceeded', meta: { used: '6', available: '4' } } })
  expect((await pay(items[0].id, '4')).status).toBe(200)
  expect(await pay('house bank', '1')).toMatchObject({ status: 403, body: { meta: { used: '10' } } })
  const { items: uses } = (await customer.call('GET', '/v2/transfer/limits')).body
  expect(uses.filter((use: object) => 'destination_id' in use)).toMatchObject([
    { destination_id: items[0].id, used: '10', available: '0' },
  ])
})

it('an address in every notation is found by the migrated key, and approving a destination ends its review', async () => {
  await toAddress(CASH, 'BITCOIN_CASH', 'BCH')
  await toAddress(`bitcoincash:${CASH.toLowerCase()}`, 'BITCOIN_CASH', 'BCH')
  await toAddress(ETHEREUM_ADDRESS.toLowerCase(), 'BASE')
  const { items } = (await node.operator('GET', '/destinations?unverified=true&kind=FIAT')).body
  const approved = await node.operator('POST', `/destinations/${items[0].id}/approve`, {})
  expect(approved.body).toMatchObject({ status: 'ACTIVE', unverified: false, usable_at: items[0].usable_at })
  expect((await node.operator('GET', '/destinations?unverified=true&kind=FIAT')).body.items).toHaveLength(1)
})
