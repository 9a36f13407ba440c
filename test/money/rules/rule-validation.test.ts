/** The validation of requests about rules: each limit just inside and just outside, and the order of the checks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RestAnswer, type RestCustomer, RestNode } from '../../support/rest.ts'
import { ETHEREUM_ADDRESS, newAccount, RULES, ruleBody } from '../../support/rules.ts'

let node: RestNode
let customer: RestCustomer
let profileId: string
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  profileId = (await newAccount(customer)).profileId
})
afterAll(() => node?.close())

/** A rule that needs no address of ours, so that any member may be changed. */
function body(changes: Readonly<Record<string, unknown>> = {}) {
  return ruleBody(profileId, { source: { profile: { profile_id: profileId } }, ...changes })
}

function create(changes: Readonly<Record<string, unknown>>): Promise<RestAnswer> {
  return customer.call('POST', RULES, body(changes))
}

const UNKNOWN =
  'is not a known member: known are ref_id, nickname, profile_id, identity_id, account_id, source_asset, ' +
  'destination_asset, source, destination'
const CRAB = '\u{1F980}'
const onEthereum = (address: string) => ({
  destination_asset: 'USDC',
  destination: { crypto: { address, network: 'ETHEREUM' } },
})

describe('the body of a rule', () => {
  it.each<[string, () => Readonly<Record<string, unknown>>]>([
    ['a ref_id of one character', () => ({ ref_id: '.' })],
    ['a ref_id of 200 characters, counted as code points', () => ({ ref_id: CRAB.repeat(200) })],
    ['a nickname of 200 characters', () => ({ nickname: CRAB.repeat(200) })],
    ['control characters and right-to-left text', () => ({ nickname: 'a\u0001\tb\u202Eם' })],
    ['an identity of 200 characters', () => ({ identity_id: 'x'.repeat(200) })],
    ['a bank account of 200 characters', () => ({ destination: { fiat: { fiat_account_id: 'x'.repeat(200) } } })],
    ['a memo of 200 characters', () => ({ destination: { fiat: { fiat_account_id: 'x', memo: CRAB.repeat(200) } } })],
    ['an address with its checksum', () => onEthereum(ETHEREUM_ADDRESS)],
    ['an address in lower case', () => onEthereum(ETHEREUM_ADDRESS.toLowerCase())],
    ['names of prototypes as values', () => ({ ref_id: '__proto__', nickname: 'constructor' })],
  ])('the body of a rule accepts %s, which is returned unchanged', async (_what, changes) => {
    const sent = body(changes())
    const answer = await customer.call('POST', RULES, sent)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body.rule).toMatchObject(sent)
    const { items } = (await customer.call('GET', `${RULES}?limit=1`)).body
    expect(items).toEqual([answer.body.rule])
  })

  it.each<[string, Readonly<Record<string, unknown>>, string, string]>([
    ['no ref_id', { ref_id: undefined }, '/ref_id', 'is required'],
    ['an empty ref_id', { ref_id: '' }, '/ref_id', 'must have at least 1 characters'],
    ['a ref_id of 201', { ref_id: CRAB.repeat(201) }, '/ref_id', 'must have at most 200 characters'],
    ['null', { ref_id: null }, '/ref_id', 'must be of type string'],
    ['a number', { ref_id: 7 }, '/ref_id', 'must be of type string'],
    ['an empty nickname', { nickname: '' }, '/nickname', 'must have at least 1 characters'],
    ['a nickname of 201', { nickname: 'x'.repeat(201) }, '/nickname', 'must have at most 200 characters'],
    ['no profile', { profile_id: undefined }, '/profile_id', 'is required'],
    ['a profile of 201', { profile_id: 'x'.repeat(201) }, '/profile_id', 'must have at most 200 characters'],
    ['an identity of 201', { identity_id: 'x'.repeat(201) }, '/identity_id', 'must have at most 200 characters'],
    ['an empty account', { account_id: '' }, '/account_id', 'must have at least 1 characters'],
    ['no source asset', { source_asset: undefined }, '/source_asset', 'is required'],
    ['no destination asset', { destination_asset: undefined }, '/destination_asset', 'is required'],
    ['no source', { source: undefined }, '/source', 'is required'],
    ['a source that is text', { source: 'crypto' }, '/source', 'must be of type object'],
    ['an empty source', { source: {} }, '/source', 'must have at least 1 members'],
    [
      'two sources',
      { source: { crypto: { network: 'ETHEREUM' }, profile: { profile_id: 'x' } } },
      '/source',
      'must have at most 1 members',
    ],
    [
      'another source',
      { source: { cash: {} } },
      '/source/cash',
      'is not a known member: known are crypto, fiat, profile',
    ],
    ['a source without network', { source: { crypto: {} } }, '/source/crypto/network', 'is required'],
    [
      'an address as source',
      { source: { crypto: { network: 'ETHEREUM', address: 'x' } } },
      '/source/crypto/address',
      'is not a known member: known are network',
    ],
    [
      'a bank without account type',
      { source_asset: 'USD', source: { fiat: { network: 'WIRE' } } },
      '/source/fiat/account_type',
      'is required for WIRE',
    ],
    [
      'another account type',
      { source: { fiat: { network: 'WIRE', account_type: 'IBAN' } } },
      '/source/fiat/account_type',
      '"IBAN" is none of SWIFT, ABA',
    ],
    [
      'another bank network',
      { source: { fiat: { network: 'wire', account_type: 'ABA' } } },
      '/source/fiat/network',
      '"wire" is none of WIRE, CUBIX',
    ],
    ['an empty destination', { destination: {} }, '/destination', 'must have at least 1 members'],
    ['a destination that is null', { destination: null }, '/destination', 'must be of type object'],
    [
      'a destination without address',
      { destination: { crypto: { network: 'ETHEREUM' } } },
      '/destination/crypto/address',
      'is required',
    ],
    [
      'an empty memo',
      { destination: { fiat: { fiat_account_id: 'x', memo: '' } } },
      '/destination/fiat/memo',
      'must have at least 1 characters',
    ],
    [
      'a memo of 201',
      { destination: { fiat: { fiat_account_id: 'x', memo: 'x'.repeat(201) } } },
      '/destination/fiat/memo',
      'must have at most 200 characters',
    ],
    [
      'a bank account of 201',
      { destination: { fiat: { fiat_account_id: 'x'.repeat(201) } } },
      '/destination/fiat/fiat_account_id',
      'must have at most 200 characters',
    ],
    ['an id of its own', { id: 'x' }, '/id', UNKNOWN],
    ['a status', { status: 'ACTIVE' }, '/status', UNKNOWN],
  ])('the body of a rule rejects %s', async (_what, changes, pointer, detail) => {
    const answer = await create(changes)
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', detail: `${pointer}: ${detail}`, errors: [{ pointer, detail }] },
    })
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  })

  it("a rule's body with an unknown network is rejected with this error and those of its terms", async () => {
    const strange = await create({ source: { crypto: { network: 'TRON' } } })
    expect(strange.body.detail).toMatch(/^\/source\/crypto\/network: "TRON" is none of BITCOIN, /)
    const terms = await create({ source_asset: 'EUR', ...onEthereum(`${ETHEREUM_ADDRESS}0`) })
    expect(terms).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(terms.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/source_asset',
      '/destination/crypto/address',
    ])
  })

  it.each([
    ['no JSON', '{"ref_id":', ''],
    ['an array', '[]', ''],
    ['a member twice', '{"ref_id":"a","ref_id":"b"}', '/ref_id'],
    ['__proto__', `{"__proto__":{},${JSON.stringify(ruleBody('x')).slice(1)}`, '/__proto__'],
    ['U+0000', '{"ref_id":"a\\u0000"}', '/ref_id'],
    ['half a surrogate pair', '{"source":{"crypto":{"network":"\\ud83e"}}}', '/source/crypto/network'],
  ])("a rule's body rejects %s", async (_what, text, pointer) => {
    const answer = await customer.call('POST', RULES, text)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer }] } })
  })

  it("a rule's body is validated against the current markets", async () => {
    const changes = { source_asset: 'SOL', destination_asset: 'USD' }
    expect((await create(changes)).status).toBe(200)
    const { config } = node.live
    node.live.config = { ...config, markets: [] }
    expect(await create(changes)).toMatchObject({ status: 400, body: { errors: [{ pointer: '/destination_asset' }] } })
    node.live.config = config
  })
})

describe('a query of rules', () => {
  it.each([
    ['status=active', 'status'],
    ['status=', 'status'],
    [`status=${Array(101).fill('ACTIVE').join(',')}`, 'status'],
    ['ids=x', 'ids'],
    [`ids=${Array.from({ length: 101 }, () => crypto.randomUUID()).join(',')}`, 'ids'],
    ['profile_id=', 'profile_id'],
    [`profile_id=${'x'.repeat(201)}`, 'profile_id'],
    ['profile_id=a&profile_id=b', 'profile_id'],
    ['source_asset=USD&source_asset=USDC', 'source_asset'],
    ['destination_asset=%00', 'destination_asset'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=01000', 'limit'],
    ['limit=1e2', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['order=asc', 'order'],
    ['page_cursor=a&page_cursor=b', 'page_cursor'],
  ])('a query of rules rejects %s', async (query, parameter) => {
    const answer = await customer.call('GET', `${RULES}?${query}`)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ parameter }] } })
  })

  it('a query of rules rejects an invalid cursor as such', async () => {
    for (const cursor of ['x', '%2B%2F', 'AAAA']) {
      const answer = await customer.call('GET', `${RULES}?page_cursor=${cursor}`)
      expect(answer, cursor).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    }
  })

  it.each([
    'limit=1000',
    'limit=1',
    'limit=0001',
    `ids=${Array.from({ length: 100 }, () => crypto.randomUUID()).join(',')}`,
    `status=${Array(100).fill('ACTIVE').join(',')}`,
    `profile_id=${'x'.repeat(200)}`,
    'source_asset=%F0%9F%A6%80',
  ])('a query of rules accepts %s', async (query) => {
    expect((await customer.call('GET', `${RULES}?${query}`)).status).toBe(200)
  })
})

describe('the checks of a request', () => {
  const reads = ['orchestration:read_orchestration_rule']

  it('the checks of a rule request begin with path, method, token, in this order', async () => {
    expect((await node.send('POST', '/v2/orchestration/rulez', '{')).status).toBe(404)
    const wrongMethod = await node.send('PATCH', RULES, '{')
    expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
    const single = await node.send('PUT', `${RULES}/x`)
    expect([single.status, single.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD'])
    const anonymous = await node.send('POST', RULES, '{')
    expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
  })

  it('the checks of a rule request include the scope before the body', async () => {
    const reader = await node.newCustomer(reads)
    for (const [method, path] of [
      ['POST', RULES],
      ['DELETE', `${RULES}/x`],
    ] as const) {
      const answer = await reader.call(method, path, method === 'POST' ? '{' : undefined)
      expect(answer).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } })
      expect(answer.body.detail).toBe(
        `insufficient scopes: found '${reads[0]}', required one of '[orchestration:write_orchestration_rule]'`,
      )
    }
    const writer = await node.newCustomer(['orchestration:write_orchestration_rule'])
    expect((await writer.call('GET', `${RULES}?limit=x`)).status).toBe(403)
  })

  it('the checks of a rule request include the rate before the body, per operation', async () => {
    const slow = await RestNode.open({ ratePerSecond: 1 })
    const caller = await slow.newCustomer()
    const answers: RestAnswer[] = []
    for (let count = 0; count < 4; count++) answers.push(await caller.call('POST', RULES, '{'))
    expect(answers.map(({ status }) => status)).toContain(429)
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(refused?.headers.get('ratelimit-policy')).toBe('"create-rule";q=2;w=2')
    expect((await caller.call('GET', RULES)).status).toBe(200)
    await slow.close()
  })

  it('the checks of a rule request include type, then length, then content of the body', async () => {
    const large = 'x'.repeat(1_048_577)
    const text = await customer.call('POST', RULES, large, { 'content-type': 'text/plain' })
    expect(text).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
    expect(await customer.call('POST', RULES, large)).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
    const full = JSON.stringify(body({ nickname: '' })).padEnd(1_048_576)
    expect((await customer.call('POST', RULES, full)).body.code).toBe('invalid_request')
  })

  it('the checks of a rule request include content before records: 400, then 404, then 409', async () => {
    const taken = body()
    await customer.call('POST', RULES, taken)
    const unknownId = '018f0000-0000-7000-8000-000000000000'
    const three = await create({ ref_id: taken.ref_id, profile_id: unknownId, destination_asset: 'EUR' })
    expect(three.status).toBe(400)
    expect((await create({ ref_id: taken.ref_id, profile_id: unknownId })).status).toBe(404)
    expect((await create({ ref_id: taken.ref_id })).status).toBe(409)
  })
})

describe('every response', () => {
  it('every response of the rules API has its content type, rate headers and request id', async () => {
    for (const answer of [await create({}), await customer.call('GET', RULES), await create({ nickname: '' })]) {
      const type = answer.status === 200 ? 'application/json; charset=utf-8' : 'application/problem+json; charset=utf-8'
      expect(answer.headers.get('content-type')).toBe(type)
      expect(answer.headers.get('ratelimit')).toMatch(/^"(create|list)-rules?";r=\d+;t=\d+$/)
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  it('every response of the rules API is sent without a body to HEAD', async () => {
    const answer = await customer.call('HEAD', RULES)
    expect([answer.status, answer.text]).toEqual([200, ''])
  })
})
