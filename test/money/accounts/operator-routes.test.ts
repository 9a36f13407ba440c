/** The operator API of accounts and profiles. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ReviewedAccount } from '../../../src/money/accounts/schemas.ts'
import { readStoreTime } from '../../../src/platform/store/store-clock.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'

const PATH = '/v2/identity/accounts'
const NO_ONE = '018f0000-0000-7000-8000-000000000000'

let node: RestNode
let customer: RestCustomer
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

const newAccount = async (who = customer) => (await who.call('POST', PATH, { account: { identity_id: 'alice' } })).body
const review = (id: string, body: object) => node.operator('PATCH', `/accounts/${id}`, body)
const shown = async (id: string) => (await customer.call('GET', `${PATH}/${id}`)).body
const actions = async (subject: string) =>
  (await node.operator('GET', `/audit?subject=${subject}&order=ASC`)).body.items.map(
    ({ actor, action, detail }: { actor: string; action: string; detail: object }) => [actor, action, detail],
  )

describe('the review of accounts', () => {
  it('the review of accounts takes the documented steps, each later than the one before, and customers see them', async () => {
    const { id, updated_at } = await newAccount()
    let before = updated_at
    for (const summary_status of ['APPROVED', 'ERROR', 'APPROVED', 'ERROR', 'DENIED']) {
      const { status, body } = await review(id, { summary_status })
      expect([status, body.summary_status]).toEqual([200, summary_status])
      expect(Object.keys(body).sort()).toEqual(
        Object.keys(ReviewedAccount.properties)
          .filter((name) => name in body)
          .sort(),
      )
      expect(body.updated_at > before).toBe(true)
      before = body.updated_at
      const { customer_id, ...own } = body
      expect([await shown(id), customer_id]).toEqual([own, customer.customerId])
    }
    expect((await actions(id)).slice(1)).toEqual(
      ['APPROVED', 'ERROR', 'APPROVED', 'ERROR', 'DENIED'].map((summary_status) => [
        'operator',
        'account.review',
        { summary_status },
      ]),
    )
  })

  it('the review of accounts refuses every other step, and changes nothing', async () => {
    const { id } = await newAccount()
    await review(id, { summary_status: 'DENIED' })
    const before = await shown(id)
    for (const summary_status of ['PENDING', 'APPROVED', 'ERROR', 'DISABLED']) {
      const { status, body } = await review(id, { summary_status, admin_disabled: true })
      expect([status, body.code, body.meta]).toEqual([409, 'invalid_state', { current: 'DENIED' }])
      expect(body.detail).toBe(`summary_status: the account is DENIED and cannot become ${summary_status}`)
    }
    expect(await shown(id)).toEqual(before)
    expect(await actions(id)).toHaveLength(2)
  })

  it('the review of accounts to the current status is 200, without a second audit row', async () => {
    const account = await newAccount()
    const same = await review(account.id, { summary_status: 'PENDING', admin_disabled: false })
    expect([same.status, same.body]).toEqual([200, { ...account, customer_id: customer.customerId }])
    const disabled = (await review(account.id, { admin_disabled: true })).body
    expect((await review(account.id, { admin_disabled: true })).body).toEqual(disabled)
    expect((await review(account.id, { summary_status: 'DISABLED' })).body).toEqual(disabled)
    expect(await actions(account.id)).toHaveLength(2)
  })

  it('the review of accounts is hidden by DISABLED while either flag is set', async () => {
    const { id } = await newAccount()
    const status = async () => {
      const { summary_status, admin_disabled, user_disabled } = await shown(id)
      return [summary_status, admin_disabled, user_disabled]
    }
    await review(id, { summary_status: 'APPROVED', admin_disabled: true })
    expect(await status()).toEqual(['DISABLED', true, false])
    await customer.call('PUT', PATH, { id, set_user_disabled: true })
    expect(await status()).toEqual(['DISABLED', true, true])
    expect((await review(id, { summary_status: 'ERROR' })).body.summary_status).toBe('DISABLED')
    await review(id, { admin_disabled: false })
    expect(await status()).toEqual(['DISABLED', false, true])
    await customer.call('PUT', PATH, { id, set_user_disabled: false })
    expect(await status()).toEqual(['ERROR', false, false])
  })

  it.each<[object, string]>([
    [{}, ''],
    [{ summary_status: 'approved' }, '/summary_status'],
    [{ summary_status: null }, '/summary_status'],
    [{ admin_disabled: 'true' }, '/admin_disabled'],
    [{ user_disabled: true }, '/user_disabled'],
  ])('the review of accounts refuses %j', async (body, pointer) => {
    const { id } = await newAccount()
    const answer = await review(id, body)
    expect([answer.status, answer.body.code, answer.body.errors[0].pointer]).toEqual([400, 'invalid_request', pointer])
  })

  it('the review of accounts of an unknown account is 404', async () => {
    for (const id of [NO_ONE, 'x', '%00']) {
      for (const answer of [
        await review(id, { admin_disabled: true }),
        await node.operator('GET', `/accounts/${id}`),
      ]) {
        expect([answer.status, answer.body.code]).toEqual([404, 'not_found'])
      }
    }
  })
})

it('the operator’s list contains the accounts of all customers, in pages', async () => {
  const stranger = await node.newCustomer()
  const made = [await newAccount(), await newAccount(stranger), await newAccount(), await newAccount(stranger)]
  const found: { id: string; customer_id: string }[] = []
  let cursor = ''
  do {
    const { body } = await node.operator('GET', `/accounts?limit=3${cursor}`)
    found.push(...body.items)
    cursor = body.next_page_cursor === undefined ? '' : `&page_cursor=${body.next_page_cursor}`
  } while (cursor !== '')
  expect(found.slice(0, 4).map(({ id }) => id)).toEqual(made.map(({ id }) => id).reverse())
  expect(found.slice(0, 2).map(({ customer_id }) => customer_id)).toEqual([stranger.customerId, customer.customerId])
  expect(new Set(found.map(({ id }) => id)).size).toBe(found.length)
})

it('the operator’s list accepts the public filters, and the customer and summary status', async () => {
  const owner = await node.newCustomer()
  const identity = `identity of ${owner.customerId}`
  const made = []
  for (const identity_id of [identity, 'another', identity, identity]) {
    made.push((await owner.call('POST', PATH, { account: { identity_id } })).body.id)
  }
  const [first, second, third, fourth] = made
  await review(first, { summary_status: 'APPROVED' })
  await review(third, { summary_status: 'APPROVED', admin_disabled: true })
  const { updated_at } = (await review(second, { summary_status: 'ERROR' })).body
  const own = `customer_id=${owner.customerId}`
  const ofIdentity = `identity_id=${encodeURIComponent(identity)}`
  for (const [query, expected] of [
    [own, [fourth, third, second, first]],
    [`${own}&order=ASC&order_by=CREATED_AT`, [first, second, third, fourth]],
    [ofIdentity, [fourth, third, first]],
    [`${ofIdentity}&summary_status=DISABLED&summary_status=PENDING`, [fourth, third]],
    [`${own}&summary_status=APPROVED,ERROR`, [second, first]],
    [`${own}&summary_status=ERROR&updated_at.eq=${updated_at}`, [second]],
    [`${own}&updated_at.gte=${updated_at}`, [second]],
    [`${ofIdentity}&updated_at.lt=${updated_at}&summary_status=DISABLED`, [third]],
    [`customer_id=${owner.customerId.toUpperCase()}`, []],
    ['customer_id=x', []],
  ] as const) {
    const { status, body } = await node.operator('GET', `/accounts?${query}`)
    expect([query, status, body.items.map(({ id }: { id: string }) => id)]).toEqual([query, 200, expected])
  }
  const errors = await node.operator('GET', '/accounts?summary_status=ERROR&limit=1')
  expect(errors.body.items).toMatchObject([{ id: second, customer_id: owner.customerId, summary_status: 'ERROR' }])
  const page = (await node.operator('GET', `/accounts?${own}&limit=1`)).body
  const next = await node.operator('GET', `/accounts?${own}&limit=2&page_cursor=${page.next_page_cursor}`)
  expect(next.body.items.map(({ id }: { id: string }) => id)).toEqual([third, second])
  const elsewhere = await node.operator('GET', `/accounts?page_cursor=${page.next_page_cursor}`)
  expect(elsewhere.body.code).toBe('invalid_cursor')
  for (const query of ['summary_status=approved', 'created_at.lt=yesterday', 'order_by=ID']) {
    expect((await node.operator('GET', `/accounts?${query}`)).body.code, query).toBe('invalid_request')
  }
})

describe('profiles', () => {
  const make = (id: string, body: object) => node.operator('POST', `/customers/${id}/profiles`, body)

  it('profiles have a name that is unique within the customer', async () => {
    const stranger = await node.newCustomer()
    const { status, body } = await make(customer.customerId, { nickname: '🦀'.repeat(200) })
    expect([status, Object.keys(body).sort()]).toEqual([200, ['created_at', 'customer_id', 'id', 'nickname', 'type']])
    expect(body).toMatchObject({ customer_id: customer.customerId, type: 'NORMAL' })
    const again = await make(customer.customerId, { nickname: body.nickname })
    expect(again).toMatchObject({ status: 409, body: { code: 'already_exists', meta: { existing: body } } })
    expect((await make(stranger.customerId, { nickname: body.nickname })).status).toBe(200)
    expect(await actions(body.id)).toEqual([
      ['operator', 'profile.create', { customer_id: customer.customerId, nickname: body.nickname }],
    ])
  })

  it('profiles are created once by many equal concurrent requests', async () => {
    const who = await node.newCustomer()
    const answers = await Promise.all(Array.from({ length: 20 }, () => make(who.customerId, { nickname: 'one' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)])
    const { body } = await node.operator('GET', `/customers/${who.customerId}/profiles`)
    expect(body).toEqual({ items: [answers.find(({ status }) => status === 200)?.body] })
  })

  it('profiles are refused without a name, or for an unknown customer', async () => {
    for (const body of [{}, { nickname: '' }, { nickname: 'x'.repeat(201) }, { nickname: 'x', type: 'NORMAL' }]) {
      expect((await make(customer.customerId, body)).body.code).toBe('invalid_request')
    }
    for (const id of [NO_ONE, 'x']) {
      expect((await make(id, { nickname: 'x' })).body.code).toBe('not_found')
      expect((await node.operator('GET', `/customers/${id}/profiles`)).body.code).toBe('not_found')
    }
  })
})

describe('the profiles that a customer sees', () => {
  const PROFILES = '/v2/profiles'

  it('a customer sees its own profiles: one with its account, one that the operator created, in pages and one by one', async () => {
    const owner = await node.newCustomer()
    const account = { account: { identity_id: 'alice' }, create_profile: true }
    const { id: account_id, profile_id, created_at } = (await owner.call('POST', PATH, account)).body
    // Times of creation have whole milliseconds: the next one is to have a later one.
    await expect.poll(() => readStoreTime(node.db.tables())).toBeGreaterThan(Date.parse(created_at))
    const nickname = 'treasury "north"'
    const made = await node.operator('POST', `/customers/${owner.customerId}/profiles`, { nickname })
    const first = `{"id":"${profile_id}","type":"NORMAL","account_id":"${account_id}","created_at":"${created_at}"}`
    const { id, created_at: later } = made.body
    const second = `{"id":"${id}","nickname":${JSON.stringify(nickname)},"type":"NORMAL","created_at":"${later}"}`
    const text = async (query: string) => (await owner.call('GET', `${PROFILES}${query}`)).text
    expect(await text('')).toBe(`{"items":[${second},${first}]}`)
    expect(await text('?order=ASC&order_by=CREATED_AT')).toBe(`{"items":[${first},${second}]}`)
    expect(await text(`?created_at.lte=${created_at}`)).toBe(`{"items":[${first}]}`)
    expect([await text(`/${profile_id.toUpperCase()}`), await text(`/${id}`)]).toEqual([first, second])
    const page = (await owner.call('GET', `${PROFILES}?limit=1`)).body
    expect(await text(`?page_cursor=${page.next_page_cursor}`)).toBe(`{"items":[${first}]}`)
    for (const [who, path] of [
      [customer, `${PROFILES}/${id}`],
      [owner, `${PROFILES}/${NO_ONE}`],
      [owner, `${PROFILES}/x`],
    ] as const) {
      expect((await who.call('GET', path)).body.code, path).toBe('not_found')
    }
    const { body: stolen } = await customer.call('GET', `${PROFILES}?page_cursor=${page.next_page_cursor}`)
    expect(stolen.code).toBe('invalid_cursor')
  })

  it('reading profiles requires the scope funding:read_profile', async () => {
    const reader = await node.newClient(customer.customerId, ['identity:read_account'])
    for (const path of [PROFILES, `${PROFILES}/x`]) {
      expect((await reader.call('GET', path)).body).toMatchObject({
        code: 'insufficient_scope',
        detail: expect.stringContaining("required one of '[funding:read_profile]'"),
      })
    }
  })
})
