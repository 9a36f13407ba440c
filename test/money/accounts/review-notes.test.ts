/** Notes of operators about accounts and rules: who may add them, their limits, their order, and what customers see. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount, RULES, ruleBody } from '../../support/rules.ts'

const NO_ONE = '018f0000-0000-7000-8000-000000000000'
const NOTES_MAX = 200

let node: RestNode
let customer: RestCustomer
let profileId: string
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true, flags: { 'rules.approval': 'required' } })
  customer = await node.newCustomer()
  profileId = (await newAccount(customer)).profileId
})
afterAll(() => node?.close())

const ACCOUNT_PATH = '/v2/identity/accounts'

async function newSubject(kind: string): Promise<string> {
  if (kind === 'account')
    return (await customer.call('POST', ACCOUNT_PATH, { account: { identity_id: 'alice' } })).body.id
  return (await customer.call('POST', RULES, ruleBody(profileId))).body.rule.id
}

describe.each(['account', 'rule'])('notes about an %s', (kind) => {
  const pathOf = (id: string) => `/${kind}s/${id}/notes`
  const add = (id: string, text: unknown) => node.operator('POST', pathOf(id), { text })
  const list = async (id: string, query = '') => (await node.operator('GET', `${pathOf(id)}${query}`)).body
  const audit = async (id: string) => (await node.operator('GET', `/audit?subject=${id}`)).body.items

  it('a review note is kept with author and time, newest first, with an audit row without its text', async () => {
    const id = await newSubject(kind)
    expect(await list(id)).toEqual({ items: [] })
    const first = (await add(id.toUpperCase(), 'Called the customer.\nNo answer.')).body
    expect(first).toEqual({
      id: expect.any(String),
      text: 'Called the customer.\nNo answer.',
      author: 'token',
      created_at: expect.any(String),
    })
    const second = (await add(id, 'Ünïcode \u{1F600}')).body
    expect(second.created_at > first.created_at).toBe(true)
    expect(await list(id)).toEqual({ items: [second, first] })
    expect(await list(id, '?order=ASC')).toEqual({ items: [first, second] })
    const [newest, earlier] = await audit(id)
    expect(newest).toMatchObject({ actor: 'operator', action: `${kind}.note`, detail: { note_id: second.id } })
    expect(earlier.detail).toEqual({ note_id: first.id })
  })

  it('review notes are read in pages, whose cursors belong to one record', async () => {
    const [id, other] = [await newSubject(kind), await newSubject(kind)]
    for (const text of ['a', 'b', 'c']) await add(id, text)
    const page = await list(id, '?limit=2')
    expect(page.items.map(({ text }: { text: string }) => text)).toEqual(['c', 'b'])
    const next = await list(id, `?limit=2&page_cursor=${page.next_page_cursor}`)
    expect([next.items.map(({ text }: { text: string }) => text), next.next_page_cursor]).toEqual([['a'], undefined])
    expect((await list(other, `?page_cursor=${page.next_page_cursor}`)).code).toBe('invalid_cursor')
    const refused = await list(id, '?limit=0')
    expect([refused.code, refused.errors]).toEqual([
      'invalid_request',
      [{ parameter: 'limit', detail: 'must be a whole number from 1 to 1000' }],
    ])
  })

  it('a review note is added once when a request is repeated', async () => {
    const id = await newSubject(kind)
    const first = (await add(id, 'once')).body
    expect((await add(id, 'once')).body).toEqual(first)
    expect((await list(id)).items).toHaveLength(1)
    expect((await audit(id)).filter(({ action }: { action: string }) => action === `${kind}.note`)).toHaveLength(1)
    // Not the newest one any more: it is a note of its own.
    await add(id, 'twice')
    expect((await add(id, 'once')).body.id).not.toBe(first.id)
  })

  it.each<[object, string, string]>([
    [{}, '/text', 'is required'],
    [{ text: '' }, '/text', 'must have at least 1 characters'],
    [{ text: ' \n\t' }, '/text', 'must match pattern "\\S"'],
    [{ text: 'x'.repeat(2_001) }, '/text', 'must have at most 2000 characters'],
    [{ text: 7 }, '/text', 'must be of type string'],
    [{ text: 'x', author: 'ada' }, '/author', 'is not a known member: known are text'],
  ])('are refused by field and rule: %j', async (body, pointer, detail) => {
    const id = await newSubject(kind)
    const answer = await node.operator('POST', pathOf(id), body)
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request'])
    expect(answer.body.errors).toEqual([{ pointer, detail }])
    expect(await list(id)).toEqual({ items: [] })
  })

  it('a review note has up to 2000 characters, of any plane', async () => {
    const id = await newSubject(kind)
    const text = '\u{1F600}'.repeat(2_000)
    expect((await add(id, text)).body.text).toBe(text)
    expect((await add(id, 'a\0b')).body.code).toBe('invalid_request')
  })

  it('the review notes of an unknown record are 404', async () => {
    for (const id of [NO_ONE, 'x']) {
      for (const answer of [await add(id, 'x'), await node.operator('GET', pathOf(id))]) {
        expect([answer.status, answer.body.code]).toEqual([404, 'not_found'])
      }
    }
  })

  it('a record has at most 200 review notes, however many are added at once', async () => {
    const id = await newSubject(kind)
    for (let count = 1; count < NOTES_MAX; count++) await add(id, `note ${count}`)
    const answers = await Promise.all(['a', 'b', 'c'].map((text) => add(id, text)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403])
    const refused = answers.find(({ status }) => status === 403)
    expect(refused?.body).toMatchObject({ code: 'quota_exceeded', meta: { limit: NOTES_MAX, used: NOTES_MAX } })
    expect((await list(id, '?limit=1000')).items).toHaveLength(NOTES_MAX)
  })
})

it('a customer sees no note in anything it can read', async () => {
  const [account, rule] = [await newSubject('account'), await newSubject('rule')]
  await node.operator('POST', `/accounts/${account}/notes`, { text: 'suspicious-note' })
  await node.operator('POST', `/rules/${rule}/notes`, { text: 'suspicious-note' })
  for (const path of [`${ACCOUNT_PATH}/${account}`, ACCOUNT_PATH, `${RULES}?ids=${rule}`]) {
    const answer = await customer.call('GET', path)
    expect([answer.status, answer.text.includes('suspicious-note')]).toEqual([200, false])
  }
  for (const path of [`${ACCOUNT_PATH}/${account}/notes`, `${RULES}/${rule}/notes`]) {
    expect((await customer.call('GET', path)).status).toBe(404)
  }
})

it('review notes outlive decisions: they are added and read in every state', async () => {
  const id = await newSubject('account')
  await node.operator('POST', `/accounts/${id}/notes`, { text: 'before' })
  await node.operator('PATCH', `/accounts/${id}`, { summary_status: 'DENIED' })
  expect((await node.operator('POST', `/accounts/${id}/notes`, { text: 'after' })).status).toBe(200)
})
