/** The public API of accounts, over HTTP, on each engine. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Account, AccountPage } from '../../../src/money/accounts/schemas.ts'
import { type RestAnswer, type RestCustomer, RestNode, untilServed } from '../../support/rest.ts'

const PATH = '/v2/identity/accounts'
const NO_ONE = '018f0000-0000-7000-8000-000000000000'
const ELEVEN = Object.keys(AccountPage.properties.items.items.properties)
const REQUIRED = [
  'id',
  'identity_id',
  'admin_disabled',
  'user_disabled',
  'metadata',
  'members',
  'created_at',
  'updated_at',
]

let node: RestNode
let customer: RestCustomer
let stranger: RestCustomer
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  stranger = await node.newCustomer()
})
afterAll(() => node?.close())

let names = 0
const newRef = () => `ref ${++names}`

async function create(account: object = {}, more: object = {}, who = customer): Promise<RestAnswer> {
  return await who.call('POST', PATH, { account: { identity_id: 'alice', ...account }, ...more })
}

/** The rows of the audit trail about one record, oldest first. */
async function trail(subject: string) {
  const { body } = await node.operator('GET', `/audit?subject=${subject}&order=ASC`)
  return body.items as { actor: string; action: string; detail: Record<string, unknown> }[]
}

describe('creating an account', () => {
  it('creating an account needs no more than an identity', async () => {
    const { status, headers, body } = await create()
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(Object.keys(body)).toEqual([...REQUIRED, 'summary_status', 'type'])
    expect(body).toMatchObject({
      identity_id: 'alice',
      admin_disabled: false,
      user_disabled: false,
      metadata: {},
      members: [],
      summary_status: 'PENDING',
      type: 'BROKERAGE',
    })
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(body.updated_at).toBe(body.created_at)
    expect(await trail(body.id)).toMatchObject([{ actor: `client:${customer.clientId}`, action: 'account.create' }])
  })

  it('creating an account accepts every field, and returns the same record from every endpoint', async () => {
    const account = {
      ref_id: newRef(),
      description: 'first\n\t"account" \u0001\u001f 🦀 e\u0301',
      metadata: { nested: { list: [1, 'two', null, true, {}] }, constructor: { prototype: 1 }, toString: '', '': 0 },
      members: [
        { identity_id: 'bob', roles: ['AUTHORIZED_USER', 'BENEFICIAL_OWNER'] },
        { identity_id: 'carol', roles: ['FINANCIAL_ADVISOR'] },
      ],
      type: 'SEP_IRA',
    }
    const { body } = await create(account, { create_profile: true })
    expect(Object.keys(body).sort()).toEqual(Object.keys(Account.properties).sort())
    expect(body).toMatchObject({ ...account, identity_id: 'alice', members: account.members })
    expect(body.members.map(Object.keys)).toEqual(Array(2).fill(['identity_id', 'roles', 'id']))
    const got = await customer.call('GET', `${PATH}/${body.id.toUpperCase()}`)
    expect([got.status, got.body]).toEqual([200, body])
    const { summary_status, type, ...item } = body
    const listed = await customer.call('GET', `${PATH}?created_at.eq=${body.created_at}&limit=1`)
    expect(listed.body.items).toEqual([item])
    expect(Object.keys(listed.body.items[0]).sort()).toEqual([...ELEVEN].sort())
    const { body: operated } = await node.operator('GET', `/accounts/${body.id}`)
    expect(operated).toEqual({ ...body, customer_id: customer.customerId })
  })

  it('creating an account creates a profile of type NORMAL only on request', async () => {
    const { body } = await create({}, { create_profile: true })
    const { body: profiles } = await node.operator('GET', `/customers/${customer.customerId}/profiles?limit=1`)
    expect(profiles.items).toEqual([
      { id: body.profile_id, customer_id: customer.customerId, type: 'NORMAL', created_at: body.created_at },
    ])
    expect((await create({}, { create_profile: false })).body.profile_id).toBeUndefined()
  })

  it('creating an account returns metadata unchanged, digit by digit', async () => {
    const metadata =
      '{ "big": 12345678901234567890, "one" :1.0,"huge":1e400, "tiny": -1E-400, "minus":-0 , "\\u00e9":"\\u00e9\\/"}'
    const sent = `{"account": {"identity_id":"alice", "metadata":${metadata} }}`
    const answer = await customer.call('POST', PATH, sent)
    const compact = '"metadata":{"big":12345678901234567890,"one":1.0,"huge":1e400,"tiny":-1E-400,"minus":-0,"é":"é/"}'
    expect(answer.text).toContain(compact)
    expect((await customer.call('GET', `${PATH}/${answer.body.id}`)).text).toContain(compact)
    expect((await customer.call('GET', `${PATH}?limit=1`)).text).toContain(compact)
    expect((await node.operator('GET', '/accounts?limit=1')).text).toContain(compact)
    const change = `{"id":"${answer.body.id}","ref_id":"digits","metadata":{"n":0.10}}`
    expect((await customer.call('PUT', PATH, change)).text).toContain('"metadata":{"n":0.10}')
    const again = await customer.call('POST', PATH, '{"account":{"identity_id":"x","ref_id":"digits"}}')
    expect(again.text).toContain('"metadata":{"n":0.10}')
  })

  it('creating an account returns metadata with a member named __proto__ unchanged, from every endpoint', async () => {
    const metadata = '"metadata":{"__proto__":{"admin_disabled":true},"a":{"__proto__":"x","constructor":[]}}'
    const made = await customer.call('POST', PATH, `{"account":{"identity_id":"alice","ref_id":"proto",${metadata}}}`)
    expect([made.status, made.body.admin_disabled]).toEqual([200, false])
    const { id } = made.body
    const again = metadata.replace('"x"', '"y"')
    for (const [text, expected] of [
      [made.text, metadata],
      [(await customer.call('PUT', PATH, `{"id":"${id}",${again}}`)).text, again],
      [(await customer.call('PUT', PATH, `{"account":{"id":"${id}",${metadata}}}`)).text, metadata],
      [(await customer.call('GET', `${PATH}/${id}`)).text, metadata],
      [(await customer.call('GET', `${PATH}?limit=1`)).text, metadata],
      [(await customer.call('POST', PATH, '{"account":{"identity_id":"x","ref_id":"proto"}}')).text, metadata],
    ] as const) {
      expect(text).toContain(expected)
    }
  })

  it('creating an account answers 409 with the existing record for a used ref_id, also to another client of the customer', async () => {
    const ref_id = newRef()
    const { body: existing } = await create({ ref_id, metadata: { a: 1 } }, { create_profile: true })
    const colleague = await node.newClient(customer.customerId)
    for (const who of [customer, colleague]) {
      const { status, body } = await create({ ref_id, identity_id: 'another' }, { create_profile: true }, who)
      expect(status).toBe(409)
      expect(body).toMatchObject({ code: 'already_exists', meta: { existing } })
    }
    expect((await create({ ref_id }, {}, stranger)).status).toBe(200)
    const { body: listed } = await customer.call('GET', `${PATH}?identity_id=another`)
    expect(listed.items).toEqual([])
  })

  it('creating an account compares ref_ids byte by byte', async () => {
    for (const ref_id of ['É', 'E\u0301', 'é', 'É ', ' É']) expect((await create({ ref_id })).status).toBe(200)
    expect((await create({ ref_id: 'É' })).status).toBe(409)
  })

  it('creating an account creates one account for fifty equal concurrent requests', async () => {
    const ref_id = newRef()
    const ask = () => untilServed(() => create({ ref_id }, { create_profile: true }))
    const answers = await Promise.all(Array.from({ length: 50 }, ask))
    const made = answers.filter(({ status }) => status === 200)
    expect(made).toHaveLength(1)
    const refused = answers.filter(({ status }) => status === 409)
    expect(refused).toHaveLength(49)
    for (const { body } of refused) expect(body.meta.existing).toEqual(made[0]?.body)
    expect(await trail(made[0]?.body.id)).toHaveLength(1)
  })
})

describe('changing an account', () => {
  it('changing an account replaces the given members, keeps the others, and increases the time of change', async () => {
    const { body: made } = await create({ ref_id: newRef(), metadata: { a: 1 }, description: 'one' })
    const steps = [
      { description: 'two' },
      { description: '' },
      { metadata: { b: 2 } },
      { members: [{ identity_id: 'bob', roles: ['AUTHORIZED_USER'] }] },
      { ref_id: newRef() },
      { set_user_disabled: true },
      { set_user_disabled: false, metadata: {} },
    ]
    let before = made
    for (const step of steps) {
      const { status, body } = await customer.call('PUT', PATH, { id: made.id, ...step })
      expect(status).toBe(200)
      const { set_user_disabled: user_disabled = before.user_disabled, ...rest } = step as Record<string, unknown>
      const { updated_at, summary_status, ...others } = body
      expect(others).toMatchObject(rest)
      expect(summary_status).toBe(user_disabled ? 'DISABLED' : 'PENDING')
      expect(updated_at > before.updated_at).toBe(true)
      before = body
    }
    expect(before.created_at).toBe(made.created_at)
    expect(before.members).toMatchObject([{ identity_id: 'bob' }])
    expect((await customer.call('GET', `${PATH}/${made.id}`)).body).toEqual(before)
    expect((await trail(made.id)).map(({ action }) => action)).toEqual([
      'account.create',
      ...steps.map(() => 'account.update'),
    ])
  })

  it('changing an account accepts the same members inside account, as the reference documents', async () => {
    const { body: made } = await create({ description: 'before', metadata: { a: 1 } })
    const change = { id: made.id.toUpperCase(), description: 'after', metadata: { b: 2 }, set_user_disabled: true }
    const { status, body } = await customer.call('PUT', PATH, { account: change })
    expect([status, body.description, body.metadata, body.user_disabled]).toEqual([200, 'after', { b: 2 }, true])
    const missing = await customer.call('PUT', PATH, { account: { ...change, id: 'x' } })
    expect(missing).toMatchObject({ status: 404, body: { errors: [{ pointer: '/account/id' }] } })
  })

  it('changing an account changes nothing when the values are the same', async () => {
    const given = {
      ref_id: newRef(),
      description: 'x',
      metadata: { b: 1.5, a: [] },
      members: [{ identity_id: 'bob', roles: ['AUTHORIZED_USER'] }],
    }
    const { body: made } = await create(given)
    const { status, body } = await customer.call('PUT', PATH, { id: made.id, ...given, set_user_disabled: false })
    expect([status, body]).toEqual([200, made])
    expect(await trail(made.id)).toHaveLength(1)
  })

  it('changing an account replaces members, and those that remain keep their ids', async () => {
    const roles = ['AUTHORIZED_USER']
    const { body: made } = await create({ members: ['a', 'b'].map((identity_id) => ({ identity_id, roles })) })
    const members = [
      { identity_id: 'b', roles: ['BENEFICIAL_OWNER'] },
      { identity_id: 'c', roles },
    ]
    const { body } = await customer.call('PUT', PATH, { id: made.id, members })
    expect(body.members).toMatchObject(members)
    expect(body.members[0].id).toBe(made.members[1].id)
    expect(made.members.map(({ id }: { id: string }) => id)).not.toContain(body.members[1].id)
    expect((await customer.call('PUT', PATH, { id: made.id, members: [] })).body.members).toEqual([])
  })

  it('changing an account never frees a ref_id', async () => {
    const [first, second] = [newRef(), newRef()]
    const { body: one } = await create({ ref_id: first })
    const { body: two } = await create()
    const moved = await customer.call('PUT', PATH, { id: one.id, ref_id: second })
    expect(moved.body.ref_id).toBe(second)
    const taken = await create({ ref_id: first })
    expect([taken.status, taken.body.meta.existing]).toEqual([409, moved.body])
    const clash = await customer.call('PUT', PATH, { id: two.id, ref_id: first })
    expect([clash.status, clash.body.meta.existing.id]).toEqual([409, one.id])
    expect((await customer.call('GET', `${PATH}/${two.id}`)).body).toEqual(two)
    expect((await customer.call('PUT', PATH, { id: one.id, ref_id: first })).body.ref_id).toBe(first)
  })

  it('changing an account is serialised with other changes', async () => {
    const { body: made } = await create()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => customer.call('PUT', PATH, { id: made.id, description: `${index}` })),
    )
    const times = answers.map(({ body }) => body.updated_at)
    expect(new Set(times).size).toBe(20)
    const last = answers.find(({ body }) => body.updated_at === [...times].sort().at(-1))
    expect((await customer.call('GET', `${PATH}/${made.id}`)).body).toEqual(last?.body)
  })
})

describe('an account of another customer', () => {
  it('an account of another customer does not exist for this one', async () => {
    const { body: foreign } = await create({ ref_id: newRef() }, {}, stranger)
    const { body: unknown } = await customer.call('GET', `${PATH}/${NO_ONE}`)
    for (const id of [foreign.id, NO_ONE, 'x', '%00', `${NO_ONE}0`, '%F0%9F%A6%80']) {
      const { status, body } = await customer.call('GET', `${PATH}/${id}`)
      expect([status, { ...body, request_id: '' }]).toEqual([404, { ...unknown, request_id: '' }])
    }
    for (const id of [foreign.id, NO_ONE, 'x', '']) {
      const { status, body } = await customer.call('PUT', PATH, { id, description: 'mine' })
      expect([status, body.code]).toEqual([404, 'not_found'])
      expect(body.errors).toEqual([{ pointer: '/id', detail: 'there is no account with this id' }])
    }
    expect((await stranger.call('GET', `${PATH}/${foreign.id}`)).body).toEqual(foreign)
    const { body: listed } = await customer.call('GET', `${PATH}?limit=1000`)
    expect(listed.items.some(({ id }: { id: string }) => id === foreign.id)).toBe(false)
  })
})
