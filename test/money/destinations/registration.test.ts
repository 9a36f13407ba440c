/** Registering destinations over REST: addresses in canonical form, fiat accounts per network, repeats, lists, deletion. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { FIAT_ACCOUNTS, fiatBody, newRef, registerAddress, TO_ADDRESSES } from '../../support/destinations.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { ETHEREUM_ADDRESS, newAccount } from '../../support/rules.ts'

const STELLAR = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'
const MUXED = 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ'

let node: RestNode
let customer: RestCustomer
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

const post = (body: object, path = TO_ADDRESSES) => customer.call('POST', path, body)

describe('a crypto destination address', () => {
  it('a new address is ACTIVE at once by default, with its ref_id as nickname, and is shown with its checksum', async () => {
    const ref_id = newRef()
    const body = { ref_id, crypto_network: 'POLYGON', address: ETHEREUM_ADDRESS.toLowerCase() }
    const answer = await post(body)
    expect(answer.status, answer.text).toBe(200)
    const { id, created_at, ...document } = answer.body
    expect(document).toEqual({
      customer_id: customer.customerId,
      ref_id,
      nickname: ref_id,
      crypto_network: 'POLYGON_POS',
      address: ETHEREUM_ADDRESS,
      status: 'ACTIVE',
      usable_at: created_at,
      updated_at: created_at,
    })
    expect((await customer.call('GET', `${TO_ADDRESSES}/${id.toUpperCase()}`)).body).toEqual(answer.body)
    const stranger = await node.newCustomer()
    expect((await stranger.call('GET', `${TO_ADDRESSES}/${id}`)).status).toBe(404)
    expect((await customer.call('GET', `${FIAT_ACCOUNTS}/${id}`)).status).toBe(404)
  })

  it('an address in another notation is the registered one on its network, and another one on other networks', async () => {
    const owner = await node.newCustomer()
    for (const [network, address, same] of [
      ['ETHEREUM', ETHEREUM_ADDRESS, `0x${ETHEREUM_ADDRESS.slice(2).toUpperCase()}`],
      ['BITCOIN', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4'],
      [
        'BITCOIN_CASH',
        'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a',
        'QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A',
      ],
    ] as const) {
      const first = await registerAddress(owner, { crypto_network: network, address })
      expect(first.body.address).toBe(address)
      const second = await registerAddress(owner, { crypto_network: network, address: same })
      expect(second).toMatchObject({ status: 409, body: { code: 'already_exists', meta: { existing: first.body } } })
    }
    expect((await registerAddress(owner, { crypto_network: 'BASE' })).status).toBe(200)
    expect((await registerAddress(await node.newCustomer())).status).toBe(200)
  })

  it('a ref_id is unique per customer and kind, also after the destination was deleted', async () => {
    const ref_id = newRef()
    const { body } = await registerAddress(customer, { ref_id, crypto_network: 'ARBITRUM_ONE' })
    await customer.call('DELETE', `${TO_ADDRESSES}/${body.id}`)
    const second = await registerAddress(customer, { ref_id, crypto_network: 'AVALANCHE' })
    expect(second).toMatchObject({ status: 409, body: { meta: { existing: { id: body.id, status: 'DELETED' } } } })
    expect((await customer.call('POST', FIAT_ACCOUNTS, fiatBody({ ref_id }))).status).toBe(200)
  })

  it('only Stellar accounts have memos, and a muxed address contains its own', async () => {
    const stellar = { crypto_network: 'STELLAR', address: STELLAR }
    expect((await registerAddress(customer, { ...stellar, memo: '4711' })).body).toMatchObject({ memo: '4711' })
    expect((await registerAddress(customer, { ...stellar, memo: '4712' })).status).toBe(409)
    const faulty = await registerAddress(customer, { memo: '4711', crypto_network: 'BNB' })
    expect(faulty).toMatchObject({ status: 400, body: { errors: [{ pointer: '/memo' }] } })
    const muxed = await registerAddress(customer, { crypto_network: 'STELLAR', address: MUXED, memo: '1' })
    expect(muxed).toMatchObject({ status: 400, body: { errors: [{ pointer: '/memo' }] } })
    expect((await registerAddress(customer, { crypto_network: 'STELLAR', address: MUXED })).status).toBe(200)
  })

  it('a customer registers at most 10,000 destinations, deleted ones included', async () => {
    const owner = await node.newCustomer()
    await sql`
      insert into destinations (id, kind, customer_id, ref_id, nickname, network, memos, status, usable_at, created_at,
        updated_at)
      select gen_random_uuid(), 'FIAT', ${owner.customerId}, 'old ' || number, '', 'WIRE', '{""}', 'DELETED', now(), now(), now()
      from generate_series(1, 9999) as numbers (number)
    `.execute(node.db.tables())
    expect((await registerAddress(owner)).status).toBe(200)
    const refused = await registerAddress(owner, { crypto_network: 'BASE' })
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'quota_exceeded', meta: { limit: 10_000, used: 10_000 } },
    })
    expect((await registerAddress(owner)).body.code).toBe('already_exists')
  })

  it('a wrong address, an address of this service and a foreign profile are refused', async () => {
    const wrong = await registerAddress(customer, { address: `${ETHEREUM_ADDRESS.slice(0, -1)}c` })
    expect(wrong).toMatchObject({ status: 400, body: { errors: [{ pointer: '/address' }] } })
    const { profileId } = await newAccount(customer)
    const own = await customer.call('POST', '/v2/transfer/deposit-addresses', {
      profile_id: profileId,
      crypto_network: 'ETHEREUM',
    })
    const refused = await registerAddress(customer, { address: own.body.address })
    expect(refused).toMatchObject({ status: 400, body: { code: 'own_address', errors: [{ pointer: '/address' }] } })
    const profile = await registerAddress(await node.newCustomer(), { profile_id: profileId })
    expect(profile).toMatchObject({ status: 404, body: { errors: [{ pointer: '/profile_id' }] } })
  })
})

describe('a deleted destination', () => {
  it('deleting is idempotent, and registering the address again is another destination with a new wait', async () => {
    const owner = await node.newCustomer()
    const first = await registerAddress(owner)
    const deleted = await owner.call('DELETE', `${TO_ADDRESSES}/${first.body.id}`)
    expect(deleted.body).toMatchObject({ id: first.body.id, status: 'DELETED' })
    expect((await owner.call('DELETE', `${TO_ADDRESSES}/${first.body.id}`)).body).toEqual(deleted.body)
    await expect((await node.newCustomer()).call('DELETE', `${TO_ADDRESSES}/${first.body.id}`)).resolves.toMatchObject({
      status: 404,
    })
    const again = await registerAddress(owner)
    expect(again.status).toBe(200)
    expect(again.body.id).not.toBe(first.body.id)
    const { items } = (await node.operator('GET', `/audit?subject=${first.body.id}`)).body
    expect(items.map(({ action }: { action: string }) => action)).toEqual(['destination.delete', 'destination.create'])
  })
})

describe('a fiat account', () => {
  it('the details are shown with their last four characters, and are encrypted in the store', async () => {
    const answer = await customer.call('POST', FIAT_ACCOUNTS, fiatBody({ memo: 'invoice 17' }))
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toMatchObject({
      owner: { name: 'Ada Lovelace', type: 'INDIVIDUAL', address: '1 Example Street' },
      account: { account_type: 'ABA', routing_number: '****0021', account_number: '****3210', bank_name: 'A Bank' },
      memo: 'invoice 17',
      unverified: false,
      status: 'ACTIVE',
    })
    const { rows } = await sql<{ text: string }>`
      select (to_json(destinations)::text || (select string_agg(detail::text, '') from audit where subject = destinations.id::text))
        as text from destinations where id = ${answer.body.id}
    `.execute(node.db.tables())
    expect(rows[0]?.text).toContain('tg1.')
    for (const secret of ['9876543210', '021000021', 'Lovelace', 'A Bank']) expect(rows[0]?.text).not.toContain(secret)
    expect((await customer.call('GET', `${FIAT_ACCOUNTS}/${answer.body.id}`)).body).toEqual(answer.body)
  })

  it('each network names every member that it lacks or does not allow', async () => {
    const faultsOf = async (fiat_network: string, account: object) => {
      const answer = await customer.call('POST', FIAT_ACCOUNTS, fiatBody({ fiat_network, account }))
      expect(answer.status, answer.text).toBe(400)
      return answer.body.errors.map(({ pointer }: { pointer: string }) => pointer.replace('/account/', ''))
    }
    expect(await faultsOf('WIRE', {})).toEqual(['account_type'])
    expect(await faultsOf('WIRE', { account_type: 'ABA' })).toEqual(['routing_number', 'account_number', 'bank_name'])
    expect(await faultsOf('WIRE', { account_type: 'SWIFT' })).toEqual(['swift', 'bank_name', 'iban'])
    const aba = { account_type: 'ABA', routing_number: '021000022', account_number: '1', bank_name: 'A', iban: 'X' }
    expect(await faultsOf('WIRE', aba)).toEqual(['routing_number', 'account_number', 'iban', 'iban'])
    const both = { account_type: 'SWIFT', swift: 'COBADEFFXXX', bank_name: 'A', account_number: '1234' }
    expect(await faultsOf('WIRE', { ...both, iban: 'DE89370400440532013000' })).toEqual(['iban'])
    const { account_number, ...swift } = both
    expect(await faultsOf('WIRE', { ...swift, iban: 'DE89370400440532013001' })).toEqual(['iban'])
    expect(await faultsOf('CUBIX', { routing_number: '021000021' })).toEqual(['account_number', 'routing_number'])
    const spaced = fiatBody({ account: { ...swift, swift: 'cobadeff', iban: 'de89 3704 0044 0532 0130 00' } })
    expect((await customer.call('POST', FIAT_ACCOUNTS, spaced)).body.account).toMatchObject({
      swift: 'COBADEFF',
      iban: '****3000',
    })
    const cubix = fiatBody({ fiat_network: 'CUBIX', account: { account_number: '12345' } })
    expect((await customer.call('POST', FIAT_ACCOUNTS, cubix)).status).toBe(200)
  })

  it('without an encryption key, fiat accounts are neither registered nor approved, and can be listed and deleted', async () => {
    const keyless = await RestNode.open({ db: node.db, hasEncryptionKey: false })
    try {
      const owner = await keyless.newCustomer()
      const answer = await owner.call('POST', FIAT_ACCOUNTS, fiatBody())
      expect(answer).toMatchObject({ status: 503, body: { code: 'encryption_key_missing' } })
      expect((await registerAddress(owner)).status).toBe(200)
      const { body: fiat } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody())
      const { owner: _, account, ...rest } = fiat
      const headers = { authorization: `Bearer ${customer.token}` }
      expect((await keyless.send('GET', `${FIAT_ACCOUNTS}/${fiat.id}`, undefined, headers)).body).toEqual(rest)
      expect((await keyless.operator('GET', `/destinations/${fiat.id}`)).body.code).toBe('encryption_key_missing')
      const approved = await keyless.operator('POST', `/destinations/${fiat.id}/approve`, {})
      expect(approved.body.code).toBe('encryption_key_missing')
      const deleted = await keyless.send('DELETE', `${FIAT_ACCOUNTS}/${fiat.id}`, undefined, headers)
      expect(deleted.body).toMatchObject({ status: 'DELETED' })
    } finally {
      await keyless.close()
    }
  })
})

describe('lists of destinations', () => {
  it('pages and filters return each of the own destinations once', async () => {
    const owner = await node.newCustomer()
    const made: string[] = []
    for (const crypto_network of ['ETHEREUM', 'BASE', 'BNB', 'AVALANCHE']) {
      made.push((await registerAddress(owner, { crypto_network })).body.id)
    }
    await owner.call('POST', FIAT_ACCOUNTS, fiatBody())
    await owner.call('DELETE', `${TO_ADDRESSES}/${made[0]}`)
    const list = async (query: string) => (await owner.call('GET', `${TO_ADDRESSES}?${query}`)).body
    const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id)
    const first = await list('limit=3&order=ASC')
    const second = await list(`limit=3&order=ASC&page_cursor=${first.next_page_cursor}`)
    expect([...idsOf(first), ...idsOf(second)]).toEqual(made)
    expect(second.next_page_cursor).toBeUndefined()
    expect(idsOf(await list('status=DELETED'))).toEqual([made[0]])
    expect(idsOf(await list('crypto_networks=BASE&crypto_networks=BNB&order=ASC'))).toEqual([made[1], made[2]])
    expect(idsOf(await list(`ids=${made[3]}`))).toEqual([made[3]])
    expect(idsOf(await list(`ref_ids=${(await list(`ids=${made[2]}`)).items[0].ref_id}`))).toEqual([made[2]])
    expect((await owner.call('GET', `${FIAT_ACCOUNTS}?fiat_networks=WIRE`)).body.items).toHaveLength(1)
    expect((await owner.call('GET', `${FIAT_ACCOUNTS}?fiat_networks=CUBIX`)).body.items).toEqual([])
    const wrong = await owner.call('GET', `${FIAT_ACCOUNTS}?page_cursor=${first.next_page_cursor}`)
    expect(wrong).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })
})
