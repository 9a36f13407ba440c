/**
 * Requests about accounts at and beyond every limit: what is accepted, which field is refused, and the order of the
 * checks.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RestCustomer, RestNode } from '../../support/rest.ts'

const PATH = '/v2/identity/accounts'
const MEBIBYTE = 1_048_576

let node: RestNode
let customer: RestCustomer
let existing: string
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  existing = (await customer.call('POST', PATH, { account: { identity_id: 'alice', ref_id: 'there' } })).body.id
})
afterAll(() => node?.close())

const member = (identity_id: string, roles: unknown = ['AUTHORIZED_USER']) => ({ identity_id, roles })
const nested = (levels: number): unknown => (levels === 1 ? {} : { a: nested(levels - 1) })
/** An object of exactly this many bytes as compact JSON. */
const sized = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
/** Followed by their names. */
const UNKNOWN: string = expect.stringMatching(/^is not a known member: known are [a-z_]+(, [a-z_]+)*$/)
const crabs = (count: number) => '🦀'.repeat(count)

/** Valid values by member: just inside each limit. */
const INSIDE: readonly (readonly [string, unknown])[] = [
  ['ref_id', 'x'],
  ['ref_id', crabs(200)],
  ['ref_id', ' '],
  ['ref_id', '\u0001\u007f\u0085\u2028\ufeff\uffff'],
  ['ref_id', '__proto__'],
  ['ref_id', "'; drop table accounts; --"],
  ['description', ''],
  ['description', crabs(1_000)],
  ['metadata', {}],
  ['metadata', nested(8)],
  ['metadata', { a: [[[[[[[]]]]]]] }],
  ['metadata', sized(16_384)],
  ['metadata', { a: crabs((16_384 - 8) / 4) }],
  ['metadata', { prototype: { constructor: 1 }, hasOwnProperty: 2, 'a/b~c': null, '🦀': [] }],
  ['members', []],
  ['members', [member('x')]],
  ['members', [member(crabs(200), [])]],
  ['members', [member('x', ['BENEFICIAL_OWNER', 'AUTHORIZED_USER', 'FINANCIAL_ADVISOR'])]],
  ['members', Array.from({ length: 100 }, (_, index) => member(`${index}`))],
]

/** Invalid values: the value, the path of the fault within the member, and the rule. */
const OUTSIDE: readonly (readonly [string, unknown, string, string])[] = [
  ['ref_id', '', '', 'must have at least 1 characters'],
  ['ref_id', crabs(201), '', 'must have at most 200 characters'],
  ['ref_id', null, '', 'must be of type string'],
  ['ref_id', 1, '', 'must be of type string'],
  ['ref_id', ['x'], '', 'must be of type string'],
  ['description', crabs(1_001), '', 'must have at most 1000 characters'],
  ['description', null, '', 'must be of type string'],
  ['description', true, '', 'must be of type string'],
  ['metadata', null, '', 'must be of type object'],
  ['metadata', [], '', 'must be of type object'],
  ['metadata', '{}', '', 'must be of type object'],
  ['metadata', nested(9), '', 'must be nested at most 8 levels deep'],
  ['metadata', { a: [[[[[[[[]]]]]]]] }, '', 'must be nested at most 8 levels deep'],
  ['metadata', sized(16_385), '', 'must have at most 16384 bytes as compact JSON'],
  ['metadata', { a: crabs((16_384 - 8) / 4 + 1) }, '', 'must have at most 16384 bytes as compact JSON'],
  ['members', null, '', 'must be of type array'],
  ['members', {}, '', 'must be of type array'],
  ['members', ['x'], '/0', 'must be of type object'],
  ['members', [member('')], '/0/identity_id', 'must have at least 1 characters'],
  ['members', [member(crabs(201))], '/0/identity_id', 'must have at most 200 characters'],
  ['members', [{ identity_id: 'x' }], '/0/roles', 'is required'],
  ['members', [{ roles: [] }], '/0/identity_id', 'is required'],
  ['members', [{ ...member('x'), id: 'y' }], '/0/id', UNKNOWN],
  ['members', [member('x', 'AUTHORIZED_USER')], '/0/roles', 'must be of type array'],
  [
    'members',
    [member('x', ['OWNER'])],
    '/0/roles/0',
    '"OWNER" is none of BENEFICIAL_OWNER, AUTHORIZED_USER, FINANCIAL_ADVISOR',
  ],
  ['members', [member('x', ['AUTHORIZED_USER', 'AUTHORIZED_USER'])], '/0/roles', 'entries 0 and 1 are equal'],
  ['members', [member('x'), member('y'), member('x', [])], '/2/identity_id', 'is a duplicate'],
  ['members', Array.from({ length: 101 }, (_, index) => member(`${index}`)), '', 'must have at most 100 entries'],
  ['profile_id', 'x', '', UNKNOWN],
  ['admin_disabled', true, '', UNKNOWN],
  ['user_disabled', true, '', UNKNOWN],
  ['summary_status', 'APPROVED', '', UNKNOWN],
  ['created_at', '2026-01-01T00:00:00Z', '', UNKNOWN],
]

describe('an account', () => {
  it.each(INSIDE.map(([name, value], index) => [name, index, value] as const))(
    'an account accepts the %s of case %i, on creation and on change',
    async (name, _index, value) => {
      const made = await customer.call('POST', PATH, { account: { identity_id: 'alice', [name]: value } })
      expect([made.status, made.body.code]).toEqual([200, undefined])
      const { body: bare } = await customer.call('POST', PATH, { account: { identity_id: 'alice' } })
      // The ref_id has been used by now.
      const changed = await customer.call('PUT', PATH, {
        id: name === 'ref_id' ? made.body.id : bare.id,
        [name]: value,
      })
      expect([changed.status, changed.body.code]).toEqual([200, undefined])
      for (const { body } of [made, changed]) {
        if (name === 'members') expect(body.members).toMatchObject(value as object)
        else expect(body[name]).toEqual(value)
      }
    },
  )

  it.each(OUTSIDE.map(([name, value, place, rule], index) => [name, index, place, rule, value] as const))(
    'an account refuses the %s of case %i: %s %s',
    async (name, _index, place, rule, value) => {
      const made = await customer.call('POST', PATH, { account: { identity_id: 'alice', [name]: value } })
      const changed = await customer.call('PUT', PATH, { id: existing, [name]: value })
      for (const [answer, prefix] of [
        [made, '/account'],
        [changed, ''],
      ] as const) {
        const pointer = `${prefix}/${name}${place}`
        expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', status: 400 } })
        expect(answer.body.errors).toContainEqual({ pointer, detail: rule })
        expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
        expect(answer.headers.get('ratelimit')).toMatch(/^"(create|update)-account";r=\d+;t=\d+$/)
      }
    },
  )

  it.each<[string, unknown, string, string]>([
    ['nothing', undefined, '/account', 'is required'],
    ['an empty object', {}, '/account', 'is required'],
    ['no identity', { account: {} }, '/account/identity_id', 'is required'],
    ['an empty identity', { account: { identity_id: '' } }, '/account/identity_id', 'must have at least 1 characters'],
    [
      'a long identity',
      { account: { identity_id: crabs(201) } },
      '/account/identity_id',
      'must have at most 200 characters',
    ],
    ['null', { account: null }, '/account', 'must be of type object'],
    ['an id', { account: { identity_id: 'x', id: 'y' } }, '/account/id', UNKNOWN],
    [
      'an unknown type',
      { account: { identity_id: 'x', type: 'IRA' } },
      '/account/type',
      '"IRA" is none of BROKERAGE, TRADITIONAL_IRA, ROTH_IRA, SEP_IRA, FINANCIAL_ADVISOR',
    ],
    [
      'text for a boolean',
      { account: { identity_id: 'x' }, create_profile: 'true' },
      '/create_profile',
      'must be of type boolean',
    ],
    [
      'null for a boolean',
      { account: { identity_id: 'x' }, create_profile: null },
      '/create_profile',
      'must be of type boolean',
    ],
    ['more beside it', { account: { identity_id: 'x' }, profile: {} }, '/profile', UNKNOWN],
    ['a flat account', { identity_id: 'x' }, '/account', 'is required'],
  ])('an account is not created from %s', async (_what, body, pointer, detail) => {
    const answer = await customer.call('POST', PATH, body, { 'content-type': 'application/json' })
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request'])
    expect(answer.body.errors).toContainEqual({ pointer, detail })
  })

  it.each<[string, object, string, string]>([
    ['an id alone', { id: 'ID' }, '', 'must have at least 2 members'],
    ['no id', { description: 'x' }, '/id', 'is required'],
    ['another identity', { id: 'ID', identity_id: 'x' }, '/identity_id', UNKNOWN],
    ['another type', { id: 'ID', type: 'BROKERAGE' }, '/type', UNKNOWN],
    ['the flag as it is shown', { id: 'ID', user_disabled: true }, '/user_disabled', UNKNOWN],
    ['text for a boolean', { id: 'ID', set_user_disabled: 'yes' }, '/set_user_disabled', 'must be of type boolean'],
    ['a number as id', { id: 1, description: 'x' }, '/id', 'must be of type string'],
    ['an id alone inside', { account: { id: 'ID' } }, '/account', 'must have at least 2 members'],
    ['no id inside', { account: { description: 'x' } }, '/account/id', 'is required'],
    ['another identity inside', { account: { id: 'ID', identity_id: 'x' } }, '/account/identity_id', UNKNOWN],
    [
      'a number as description inside',
      { account: { id: 'ID', description: 7 } },
      '/account/description',
      'must be of type string',
    ],
    ['both shapes', { account: { id: 'ID', description: 'x' }, id: 'ID' }, '/account', UNKNOWN],
    [
      'a flag beside it',
      { account: { id: 'ID', description: 'x' }, set_user_disabled: true },
      '/set_user_disabled',
      UNKNOWN,
    ],
    [
      'deep metadata inside',
      { account: { id: 'ID', metadata: nested(9) } },
      '/account/metadata',
      'must be nested at most 8 levels deep',
    ],
    [
      'a member twice inside',
      { account: { id: 'ID', members: ['a', 'a'].map((identity_id) => ({ identity_id, roles: [] })) } },
      '/account/members/1/identity_id',
      'is a duplicate',
    ],
  ])('an account is not changed by %s', async (_what, body, pointer, detail) => {
    const answer = await customer.call('PUT', PATH, JSON.stringify(body).replaceAll('ID', existing))
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request'])
    expect(answer.body.errors).toContainEqual({ pointer, detail })
  })

  it.each<[string, string | Uint8Array, string, string]>([
    ['that is no JSON', '{"account":', '', 'is not valid JSON (SyntaxError)'],
    ['that is an array', '[]', '', 'must be of type object'],
    ['that is null', 'null', '', 'must be of type object'],
    [
      'with a member twice',
      '{"account":{"identity_id":"a","identity_id":"b"}}',
      '/account/identity_id',
      'is a duplicate member',
    ],
    [
      'with metadata twice',
      '{"account":{"identity_id":"a","metadata":{},"metadat\\u0061":{}}}',
      '/account/metadata',
      'is a duplicate member',
    ],
    [
      'with a prototype',
      '{"account":{"identity_id":"a","__proto__":{"admin_disabled":true}}}',
      '/account/__proto__',
      UNKNOWN,
    ],
    [
      'with U+0000',
      '{"account":{"identity_id":"a\\u0000"}}',
      '/account/identity_id',
      'contains U+0000 or a lone surrogate',
    ],
    [
      'with half a pair in metadata',
      '{"account":{"identity_id":"a","metadata":{"x":"\\ud800"}}}',
      '/account/metadata/x',
      'contains U+0000 or a lone surrogate',
    ],
    ['with a constructor', '{"account":{"identity_id":"a","constructor":{}}}', '/account/constructor', UNKNOWN],
    ['that is not UTF-8', Uint8Array.of(0x22, 0xff, 0x22), '', 'is not UTF-8 (TypeError)'],
  ])('an account is not created from a body %s', async (_what, body, pointer, detail) => {
    const answer = await customer.call('POST', PATH, body, { 'content-type': 'application/json' })
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request'])
    expect(answer.body.errors).toContainEqual({ pointer, detail })
  })

  it('an account measures metadata as compact JSON, however it was formatted', async () => {
    const wide = `{"account":{"identity_id":"a","metadata":{${' '.repeat(100_000)}"a" :\n"${'\\u0078'.repeat(16_376)}"}}}`
    expect((await customer.call('POST', PATH, wide)).status).toBe(200)
    const digits = `{"account":{"identity_id":"a","metadata":{"a":${'1'.repeat(16_379)}}}}`
    expect((await customer.call('POST', PATH, digits)).status).toBe(400)
  })

  it('an account accepts a body of one mebibyte, and no larger one', async () => {
    const body = JSON.stringify({ account: { identity_id: 'a' } })
    expect((await customer.call('POST', PATH, body.padEnd(MEBIBYTE))).status).toBe(200)
    const larger = await customer.call('POST', PATH, body.padEnd(MEBIBYTE + 1))
    expect([larger.status, larger.body.code]).toEqual([413, 'body_too_large'])
    const deep = `{"account":{"identity_id":"a","metadata":{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}}}`
    expect((await customer.call('POST', PATH, deep)).body.errors).toEqual([
      { pointer: '', detail: 'must be nested at most 64 levels deep' },
    ])
    const unknown = JSON.stringify({
      account: Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`m${i}`, i])),
    })
    expect((await customer.call('POST', PATH, unknown)).body.errors).toEqual([
      { pointer: '/account/identity_id', detail: 'is required' },
    ])
  })

  it('an account accepts parameters of the media type', async () => {
    const body = JSON.stringify({ account: { identity_id: 'a' } })
    for (const type of [
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"; x=y',
      'APPLICATION/JSON',
    ]) {
      expect((await customer.call('POST', PATH, body, { 'content-type': type })).status).toBe(200)
    }
    for (const type of ['text/plain', 'application/json; charset=latin1', 'application/x-www-form-urlencoded', 'x']) {
      const { status, body: problem } = await customer.call('POST', PATH, body, { 'content-type': type })
      expect([type, status, problem.code]).toEqual([type, 415, 'unsupported_media_type'])
    }
  })
})

it('a body with any Content-Encoding is refused', async () => {
  const body = JSON.stringify({ account: { identity_id: 'a' } })
  for (const encoding of ['gzip', 'identity', 'x', '']) {
    const { status, body: problem } = await customer.call('POST', PATH, body, { 'content-encoding': encoding })
    expect([encoding, status, problem.detail]).toEqual([encoding, 415, 'Content-Encoding: is not supported'])
  }
  const form = await fetch(`${node.url}/oauth2/token`, {
    method: 'POST',
    headers: { 'content-encoding': 'gzip' },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  expect([form.status, ((await form.json()) as { error: string }).error]).toEqual([415, 'invalid_request'])
  expect((await customer.call('GET', PATH, undefined, { 'content-encoding': 'gzip' })).status).toBe(200)
})

describe('the checks of a request', () => {
  it('the checks of a request run in the order path, method, token, client, scope, rate, media type, size, body, record', async () => {
    const limited = await RestNode.open({ db: node.db, ratePerSecond: 1 })
    try {
      const who = await limited.newCustomer(['identity:read_account', 'identity:write_account'])
      const reader = await limited.newClient(who.customerId, ['identity:read_account'])
      const bad = 'x'.repeat(MEBIBYTE + 1)
      const text = { 'content-type': 'text/plain' }
      const codeOf = async (caller: RestCustomer, path: string, method: string, headers: object = text) =>
        (await caller.call(method, path, bad, { ...headers })).body.code
      const anonymous = { ...text, authorization: 'Bearer x' }
      expect(await codeOf(who, `${PATH}/a/b`, 'POST', anonymous)).toBe('not_found')
      expect(await codeOf(who, PATH, 'DELETE', anonymous)).toBe('method_not_allowed')
      expect(await codeOf(who, PATH, 'POST', anonymous)).toBe('invalid_token')
      expect(await codeOf(reader, PATH, 'POST')).toBe('insufficient_scope')
      expect(await codeOf(who, PATH, 'POST')).toBe('unsupported_media_type')
      expect(await codeOf(who, PATH, 'POST', { 'content-type': 'application/json' })).toBe('body_too_large')
      const limitedAnswer = await who.call('POST', PATH, bad, text)
      expect([limitedAnswer.status, limitedAnswer.body.code]).toEqual([429, 'rate_limited'])
      expect(limitedAnswer.headers.get('retry-after')).toBe('1')
      const missing = await who.call('PUT', PATH, { id: 'nobody', metadata: nested(9) })
      expect(missing.body.code).toBe('invalid_request')
      await limited.operator('PATCH', `/clients/${reader.clientId}`, { enabled: false, scopes: [] })
      expect(await codeOf(reader, PATH, 'POST')).toBe('disabled')
    } finally {
      await limited.close()
    }
  })

  it('a 405 of the accounts API names the allowed methods', async () => {
    const collection = await customer.call('DELETE', PATH)
    expect([collection.status, collection.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, PUT'])
    const one = await customer.call('PUT', `${PATH}/${existing}`, {})
    expect([one.status, one.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('the checks of a request are the same for HEAD as for GET', async () => {
    for (const path of [PATH, `${PATH}/${existing}`]) {
      const [head, get] = [await customer.call('HEAD', path), await customer.call('GET', path)]
      expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
        200,
        '',
        get.headers.get('content-length'),
      ])
    }
    expect((await customer.call('HEAD', `${PATH}/x`)).status).toBe(404)
  })
})
