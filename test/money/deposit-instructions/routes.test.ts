import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CRYPTO_NETWORK_NAMES } from '../../../src/contract/crypto-networks.ts'
import { addressFault } from '../../../src/money/deposit-instructions/derivation/address-validity.ts'
import { watchedMaterial } from '../../../src/money/deposit-instructions/derivation/key-material.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { ALL_KEYS } from '../../support/address-keys.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount, type TestAccount } from '../../support/rules.ts'

const PATH = '/v2/transfer/deposit-addresses'
const NO_ONE = '018f0000-0000-7000-8000-000000000000'
const EVM = ['ETHEREUM', 'POLYGON_POS', 'BASE', 'ARBITRUM_ONE', 'AVALANCHE', 'BNB']

let node: RestNode
let customer: RestCustomer
let account: TestAccount
beforeAll(async () => {
  node = await RestNode.open({ flags: ALL_KEYS })
  customer = await node.newCustomer()
  account = await newAccount(customer)
  const addresses = ['HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk']
  await node.operator('POST', '/address-pool', { network: 'SOLANA', addresses })
  const accounts = [
    'GDRXE2BQUC3AZNPVFSCEZ76NJ3WWL25FYFK6RGZGIEKWE4SOOHSUJUJ6',
    'GBAW5XGWORWVFE2XTJYDTLDHXTY2Q2MO73HYCGB3XMFMQ562Q2W2GJQX',
  ]
  await node.operator('POST', '/address-pool', { network: 'STELLAR', addresses: accounts })
})
afterAll(() => node?.close())

function body(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { profile_id: account.profileId, crypto_network: 'BITCOIN', ...changes }
}

const create = (changes: Readonly<Record<string, unknown>> = {}) => customer.call('POST', PATH, body(changes))

describe('a new deposit address', () => {
  it.each(CRYPTO_NETWORK_NAMES)(
    'a new deposit address of %s is valid on its network, and has every member',
    async (network) => {
      const { status, headers, body: made } = await create({ crypto_network: network })
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(addressFault(network, made.address)).toBeUndefined()
      expect(made).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        profile_id: account.profileId,
        customer_id: customer.customerId,
        account_id: account.accountId,
        identity_id: 'alice',
        crypto_network: network,
        address: expect.any(String),
        conversion_target_asset: 'NO_CONVERSION',
        compatible_crypto_networks: EVM.includes(network) ? EVM : [network],
        metadata: {},
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      })
      expect((await customer.call('GET', `${PATH}?ids=${made.id}`)).body).toEqual({ items: [made] })
    },
  )

  it('a new deposit address has the next index of its key; EVM networks share a key', async () => {
    const { firstAddress, addressAt } = watchedMaterial('evm', ALL_KEYS['custody.evm.xpub'] as string)
    const one = (await create({ crypto_network: 'BASE' })).body.address
    const other = (await create({ crypto_network: 'BNB' })).body.address
    const indexes = Array.from({ length: 20 }, (_, index) => addressAt(index))
    expect(indexes[0]).toBe(firstAddress)
    expect(indexes.indexOf(one)).toBeGreaterThanOrEqual(0)
    expect(indexes.indexOf(other)).toBe(indexes.indexOf(one) + 1)
  })

  it('a new deposit address keeps the given members, and leaves one audit row', async () => {
    const said = {
      ref_id: 'ünïque 🪙',
      identity_id: 'bob',
      account_id: account.accountId,
      conversion_target_asset: 'USD',
      metadata: { purpose: 'savings', 'a\nb': '', constructor: 'x', '🔑': '\u0007', ['__proto__']: 'y' },
    }
    const { body: made } = await create(said)
    expect(made).toMatchObject(said)
    const { items } = (await node.operator('GET', `/audit?subject=${made.id}`)).body
    expect(items).toEqual([
      {
        id: expect.any(String),
        created_at: expect.any(String),
        actor: `client:${customer.clientId}`,
        action: 'deposit_address.create',
        subject: made.id,
        detail: {
          customer_id: customer.customerId,
          profile_id: account.profileId,
          crypto_network: 'BITCOIN',
          address: made.address,
        },
      },
    ])
  })

  it('a new deposit address of POLYGON is one of POLYGON_POS, and is found by either name', async () => {
    const who = await node.newCustomer()
    const { profileId: profile_id } = await newAccount(who)
    const made = []
    for (const crypto_network of ['POLYGON', 'BITCOIN', 'BASE']) {
      made.push((await who.call('POST', PATH, { profile_id, crypto_network })).body)
    }
    const [polygon, bitcoin, base] = made
    expect(polygon.crypto_network).toBe('POLYGON_POS')
    for (const [query, expected] of [
      ['networks=POLYGON', [polygon]],
      ['crypto_networks=POLYGON_POS&order=ASC', [polygon]],
      ['networks=BASE&networks[]=BITCOIN', [base, bitcoin]],
      ['crypto_networks=BASE&networks=POLYGON_POS,POLYGON', [base, polygon]],
      [`networks=BITCOIN&profile_ids=${profile_id}&account_ids=${bitcoin.account_id}`, [bitcoin]],
      [`networks=BITCOIN&ids=${base.id}`, []],
    ]) {
      expect([query, (await who.call('GET', `${PATH}?${query}`)).body.items]).toEqual([query, expected])
    }
    const page = (await who.call('GET', `${PATH}?networks=BASE,POLYGON&limit=1`)).body
    const next = await who.call('GET', `${PATH}?networks=BASE,POLYGON&page_cursor=${page.next_page_cursor}`)
    expect([page.items, next.body]).toEqual([[base], { items: [polygon] }])
    expect((await who.call('GET', `${PATH}?networks=POLYGONS`)).body.errors).toMatchObject([{ parameter: 'networks' }])
  })

  it('a new deposit address is returned identically by every endpoint, member by member', async () => {
    const said = { ref_id: 'alike', identity_id: 'bob', metadata: { '10': 'a', b: '', '9': 'c', aa: 'd' } }
    const { text, body: made } = await create(said)
    expect(made.metadata).toEqual(said.metadata)
    expect((await customer.call('GET', `${PATH}?ids=${made.id}`)).text).toBe(`{"items":[${text}]}`)
    expect((await customer.call('GET', `${PATH}/${made.id.toUpperCase()}`)).text).toBe(text)
    expect((await create(said)).text).toContain(`"meta":{"existing":${text}}`)
    expect((await node.operator('GET', `/deposit-addresses?address=${made.address}`)).text).toBe(`{"items":[${text}]}`)
  })

  it('a new deposit address is read alone by its customer, and not found by another or with another id', async () => {
    const { body: made } = await create({ ref_id: 'alone' })
    const foreign = await (await node.newCustomer()).call('GET', `${PATH}/${made.id}`)
    const unknown = await customer.call('GET', `${PATH}/${newId()}`)
    for (const answer of [foreign, unknown, await customer.call('GET', `${PATH}/x`)]) {
      expect([answer.status, answer.body.detail]).toEqual([404, 'there is no deposit address with this id'])
    }
  })

  it('a new deposit address of a profile without an account has no account', async () => {
    const { customerId } = customer
    const { body: profile } = await node.operator('POST', `/customers/${customerId}/profiles`, { nickname: 'treasury' })
    const { body: made } = await create({ profile_id: profile.id })
    expect(made.profile_id).toBe(profile.id)
    expect('account_id' in made || 'identity_id' in made).toBe(false)
    expect((await create({ profile_id: profile.id, identity_id: 'carol' })).body.identity_id).toBe('carol')
    const refused = await create({ profile_id: profile.id, account_id: account.accountId })
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [{ pointer: '/account_id', detail: 'must be the profile’s account' }],
    ])
  })
})

const characters = (count: number) => '𝄞'.repeat(count)
const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 'v']))

describe('the body of a new deposit address', () => {
  it.each<[string, Record<string, unknown>]>([
    ['ref_id of 200 characters', { ref_id: characters(200) }],
    ['identity_id of 200 characters', { identity_id: characters(200) }],
    ['6 pairs of metadata', { metadata: pairs(6) }],
    ['metadata of 100 characters a side', { metadata: { [characters(100)]: characters(100) } }],
    ['no conversion, said so', { conversion_target_asset: 'NO_CONVERSION' }],
    ['the asset that arrives', { conversion_target_asset: 'BTC' }],
    ['an asset of a market to convert to', { conversion_target_asset: 'USD' }],
    ['an asset at par to convert to', { crypto_network: 'ETHEREUM', conversion_target_asset: 'PYUSD' }],
  ])('the body of a new deposit address accepts %s', async (_what, changes) => {
    expect(await create(changes)).toMatchObject({ status: 200, body: changes })
  })

  it('the body of a new deposit address accepts profile and account ids in any case', async () => {
    const { status } = await create({
      profile_id: account.profileId.toUpperCase(),
      account_id: account.accountId.toUpperCase(),
    })
    expect(status).toBe(200)
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['no profile', { profile_id: undefined }, '/profile_id'],
    ['a profile of nothing', { profile_id: '' }, '/profile_id'],
    ['a profile that is a number', { profile_id: 1 }, '/profile_id'],
    ['no network', { crypto_network: undefined }, '/crypto_network'],
    ['an unknown network', { crypto_network: 'bitcoin' }, '/crypto_network'],
    ['null for a network', { crypto_network: null }, '/crypto_network'],
    ['an empty ref_id', { ref_id: '' }, '/ref_id'],
    ['null for a ref_id', { ref_id: null }, '/ref_id'],
    ['ref_id of 201 characters', { ref_id: characters(201) }, '/ref_id'],
    ['identity_id of 201 characters', { identity_id: characters(201) }, '/identity_id'],
    ['an empty identity_id', { identity_id: '' }, '/identity_id'],
    ['an unknown asset', { conversion_target_asset: 'btc' }, '/conversion_target_asset'],
    ['an asset that nothing on the network becomes', { conversion_target_asset: 'LTC' }, '/conversion_target_asset'],
    ['an asset behind two markets', { conversion_target_asset: 'SOL' }, '/conversion_target_asset'],
    ['no name for an asset', { conversion_target_asset: '' }, '/conversion_target_asset'],
    ['7 pairs of metadata', { metadata: pairs(7) }, '/metadata'],
    ['a key of 101 characters', { metadata: { [characters(101)]: '' } }, '/metadata'],
    ['a value of 101 characters', { metadata: { a: characters(101) } }, '/metadata/a'],
    ['a value that is a number', { metadata: { a: 1 } }, '/metadata/a'],
    ['a list for metadata', { metadata: [] }, '/metadata'],
    ['an id', { id: NO_ONE }, '/id'],
    ['an address', { address: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa' }, '/address'],
  ])('the body of a new deposit address rejects %s', async (_what, changes, pointer) => {
    const { status, body: problem } = await create(changes)
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer)
  })

  it.each([
    ['a member twice', '{"profile_id":"a","profile_id":"b","crypto_network":"BITCOIN"}', '/profile_id'],
    ['__proto__', '{"profile_id":"a","crypto_network":"BITCOIN","__proto__":{"ref_id":"x"}}', '/__proto__'],
    ['U+0000', '{"metadata":{"a":"\\u0000"}}', '/metadata/a'],
    ['half a character', '{"ref_id":"\\ud800"}', '/ref_id'],
    ['no object', '[]', ''],
  ])('the body of a new deposit address rejects %s', async (_what, text, pointer) => {
    const { status, body: problem } = await customer.call('POST', PATH, text)
    expect(status).toBe(400)
    expect(problem.errors[0].pointer).toBe(pointer)
  })
})

describe('the owner of an address', () => {
  const owners = (address: string) => node.operator('GET', `/deposit-addresses?address=${encodeURIComponent(address)}`)

  it("an address's owner is found by any spelling of it, and not by an unknown address", async () => {
    const { body: evm } = await create({ crypto_network: 'BASE', ref_id: 'found' })
    const { body: bitcoin } = await create()
    const { body: cash } = await create({ crypto_network: 'BITCOIN_CASH' })
    for (const [address, owner] of [
      [evm.address, evm],
      [evm.address.toLowerCase(), evm],
      [bitcoin.address.toUpperCase(), bitcoin],
      [cash.address.replace('bitcoincash:', ''), cash],
    ]) {
      expect(await owners(address)).toMatchObject({ status: 200, body: { items: [owner] } })
    }
    for (const address of ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'no address', `${bitcoin.address} `]) {
      expect((await owners(address)).body, address).toEqual({ items: [] })
    }
    for (const query of ['', '?address=', '?address=a&address=b']) {
      expect((await node.operator('GET', `/deposit-addresses${query}`)).status, query).toBe(400)
    }
  })
})

describe('a refusal', () => {
  it('a refused address follows the order token, scope, body type, body, profile, account state, account id, ref_id', async () => {
    const reader = await node.newClient(customer.customerId, ['transfer:read_deposit_address'])
    const owner = await newAccount(customer, 'owner')
    const disabled = await newAccount(customer, 'disabled')
    await node.operator('PATCH', `/accounts/${disabled.accountId}`, { admin_disabled: true })
    await create({ ref_id: 'taken' })
    const wrong = { 'content-type': 'text/plain' }
    const requests = [
      node.send('POST', PATH, '{'),
      reader.call('POST', PATH, '{', wrong),
      customer.call('POST', PATH, '{', wrong),
      customer.call('POST', PATH, '{'),
      create({ profile_id: NO_ONE, account_id: NO_ONE, ref_id: 'taken' }),
      create({ profile_id: disabled.profileId, account_id: NO_ONE, ref_id: 'taken' }),
      create({ profile_id: owner.profileId, account_id: account.accountId, ref_id: 'taken' }),
      create({ profile_id: owner.profileId, account_id: owner.accountId, ref_id: 'taken' }),
    ]
    const answers = (await Promise.all(requests)).map((answer) => [answer.status, answer.body.code])
    expect(answers).toEqual([
      [401, 'unauthorized'],
      [403, 'insufficient_scope'],
      [415, 'unsupported_media_type'],
      [400, 'invalid_request'],
      [404, 'not_found'],
      [403, 'account_blocked'],
      [400, 'invalid_request'],
      [409, 'already_exists'],
    ])
  })

  it('a refused address is equal for an unknown profile and one of another customer, with its pointer', async () => {
    const stranger = await newAccount(await node.newCustomer())
    const problems = []
    for (const profile_id of [stranger.profileId, NO_ONE, 'no id at all', 'x'.repeat(200)]) {
      const { status, body: problem } = await create({ profile_id })
      expect([status, problem.errors[0].pointer]).toEqual([404, '/profile_id'])
      problems.push({ ...problem, request_id: '' })
    }
    expect(new Set(problems.map((problem) => JSON.stringify(problem))).size).toBe(1)
  })

  it("a refused address is 404 for an unknown account or another customer's, and 400 for the customer's other account", async () => {
    const stranger = await newAccount(await node.newCustomer())
    const other = await newAccount(customer)
    for (const [account_id, status, code] of [
      [stranger.accountId, 404, 'not_found'],
      [NO_ONE, 404, 'not_found'],
      ['no id at all', 404, 'not_found'],
      [other.accountId.toUpperCase(), 400, 'invalid_request'],
    ] as const) {
      const refused = await create({ account_id })
      expect(refused, account_id).toMatchObject({ status, body: { code, errors: [{ pointer: '/account_id' }] } })
    }
  })

  it.each(['DENIED', 'ERROR', 'DISABLED'])(
    'a refused address names the status of an account that is %s',
    async (summary_status) => {
      const blocked = await newAccount(customer)
      const change = summary_status === 'DISABLED' ? { admin_disabled: true } : { summary_status }
      await node.operator('PATCH', `/accounts/${blocked.accountId}`, change)
      const refused = await create({ profile_id: blocked.profileId })
      expect(refused).toMatchObject({ status: 403, body: { code: 'account_blocked', meta: { summary_status } } })
      expect(refused.body.errors[0].pointer).toBe('/profile_id')
    },
  )

  it('an address request is 409 for a ref_id used by any client of the customer, and only of this customer', async () => {
    const { body: existing } = await create({ ref_id: 'mine', metadata: { a: 'b' } })
    const colleague = await node.newClient(customer.customerId)
    const refused = await colleague.call('POST', PATH, body({ ref_id: 'mine', crypto_network: 'SOLANA' }))
    expect(refused).toMatchObject({ status: 409, body: { code: 'already_exists', meta: { existing } } })
    const other = await node.newCustomer()
    const theirs = await newAccount(other)
    const request = { profile_id: theirs.profileId, crypto_network: 'BITCOIN', ref_id: 'mine' }
    expect((await other.call('POST', PATH, request)).status).toBe(200)
    // Accounts have ref_ids of their own.
    const sameRef = { account: { identity_id: 'x', ref_id: 'mine' } }
    expect((await customer.call('POST', '/v2/identity/accounts', sameRef)).status).toBe(200)
  })

  it('an address request is 503 for a network without addresses, and nothing is stored', async () => {
    const bare = await RestNode.open({ db: node.db })
    const before = (await customer.call('GET', `${PATH}?limit=1000`)).body.items.length
    for (const [network, code] of [
      ['BITCOIN', 'address_unavailable'],
      ['BASE', 'address_unavailable'],
      ['SOLANA', 'pool_empty'],
    ]) {
      const {
        status,
        headers,
        body: problem,
      } = await bare.send('POST', PATH, body({ crypto_network: network }), {
        authorization: `Bearer ${customer.token}`,
      })
      expect([status, problem.code, headers.get('retry-after')]).toEqual([503, code, '60'])
      expect(problem.detail).toContain(network)
    }
    await bare.close()
    expect((await customer.call('GET', `${PATH}?limit=1000`)).body.items).toHaveLength(before)
  })

  it.each(['PUT', 'PATCH', 'DELETE'])(
    'an address request is 405 for %s: an address is never changed or deleted',
    async (method) => {
      const { status, headers } = await customer.call(method, PATH)
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
    },
  )
})
