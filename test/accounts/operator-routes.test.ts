/** What the operator does with accounts and profiles. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ReviewedAccount } from '../../src/accounts/schemas.ts'
import { type RestCustomer, RestNode } from '../support/rest.ts'

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
  it('goes along the steps, each later than the one before, and customers see it', async () => {
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

  it('refuses every other step, and changes nothing then', async () => {
    const { id } = await newAccount()
    await review(id, { summary_status: 'DENIED' })
    const before = await shown(id)
    for (const summary_status of ['PENDING', 'APPROVED', 'ERROR', 'DISABLED']) {
      const { status, body } = await review(id, { summary_status, admin_disabled: true })
      expect([status, body.code, body.meta]).toEqual([409, 'invalid_state', { current: 'DENIED' }])
      expect(body.detail).toBe(`summary_status: an account that is DENIED cannot become ${summary_status}`)
    }
    expect(await shown(id)).toEqual(before)
    expect(await actions(id)).toHaveLength(2)
  })

  it('asked for what is so already is 200, without a second row', async () => {
    const account = await newAccount()
    const same = await review(account.id, { summary_status: 'PENDING', admin_disabled: false })
    expect([same.status, same.body]).toEqual([200, { ...account, customer_id: customer.customerId }])
    const disabled = (await review(account.id, { admin_disabled: true })).body
    expect((await review(account.id, { admin_disabled: true })).body).toEqual(disabled)
    expect((await review(account.id, { summary_status: 'DISABLED' })).body).toEqual(disabled)
    expect(await actions(account.id)).toHaveLength(2)
  })

  it('is covered by DISABLED while either flag is set', async () => {
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
  ])('refuses %j', async (body, pointer) => {
    const { id } = await newAccount()
    const answer = await review(id, body)
    expect([answer.status, answer.body.code, answer.body.errors[0].pointer]).toEqual([400, 'invalid_request', pointer])
  })

  it('knows no account that is not there', async () => {
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

it('the operator’s list has the accounts of all customers, in pages', async () => {
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

describe('profiles', () => {
  const make = (id: string, body: object) => node.operator('POST', `/customers/${id}/profiles`, body)

  it('have a name that is unique within the customer', async () => {
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

  it('are made once of many equal requests at once', async () => {
    const who = await node.newCustomer()
    const answers = await Promise.all(Array.from({ length: 20 }, () => make(who.customerId, { nickname: 'one' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)])
    const { body } = await node.operator('GET', `/customers/${who.customerId}/profiles`)
    expect(body).toEqual({ items: [answers.find(({ status }) => status === 200)?.body] })
  })

  it('are refused without a name, or for a customer that is not there', async () => {
    for (const body of [{}, { nickname: '' }, { nickname: 'x'.repeat(201) }, { nickname: 'x', type: 'NORMAL' }]) {
      expect((await make(customer.customerId, body)).body.code).toBe('invalid_request')
    }
    for (const id of [NO_ONE, 'x']) {
      expect((await make(id, { nickname: 'x' })).body.code).toBe('not_found')
      expect((await node.operator('GET', `/customers/${id}/profiles`)).body.code).toBe('not_found')
    }
  })
})
