import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OperatorFixture, openOperatorFixture } from '../../support/auth-fixtures.ts'

const STREAM = 'exchange:read_aggregated_marketdata_stream'
const NO_ONE = '0190a000-0000-7000-8000-000000000000'

let side: OperatorFixture
beforeAll(async () => {
  side = await openOperatorFixture()
})
afterAll(() => side?.close())

async function ask(method: string, path: string, body?: unknown) {
  const response = await fetch(`${side.url}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${side.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
  return { status: response.status, body: (await response.json()) as any }
}

let number = 0
async function newCustomer(contacts: readonly string[] = []): Promise<string> {
  const { id } = (await ask('POST', '/customers', { name: `customer ${++number}` })).body
  if (contacts.length > 0) await ask('PUT', `/customers/${id}/security-contacts`, { security_contacts: contacts })
  return id
}

it('the operator replaces a customer’s security contacts, and the record and the audit trail show them', async () => {
  const id = await newCustomer()
  const contacts = ['security@acme.example', 'treasury+alerts@acme.example']
  const changed = await ask('PUT', `/customers/${id}/security-contacts`, { security_contacts: contacts })
  expect(changed).toMatchObject({ status: 200, body: { id, security_contacts: contacts } })
  expect((await ask('GET', `/customers/${id}`)).body).toEqual(changed.body)
  await ask('PUT', `/customers/${id}/security-contacts`, { security_contacts: contacts })
  expect((await ask('GET', `/audit?subject=${id}&limit=1`)).body.items).toMatchObject([
    { actor: 'operator', action: 'customer.set_contacts', detail: { security_contacts: contacts } },
  ])
  const removed = await ask('PUT', `/customers/${id}/security-contacts`, { security_contacts: [] })
  expect(removed.body.security_contacts).toEqual([])
  expect((await ask('GET', `/audit?subject=${id}`)).body.items).toHaveLength(3)
})

it.each([
  ['a name', 'Acme <security@acme.example>'],
  ['two addresses', 'a@acme.example,b@acme.example'],
  ['a line break', 'a@acme.example\nBcc: b@elsewhere.example'],
  ['no domain', 'security'],
])('a security contact with %s is refused', async (_what, contact) => {
  const id = await newCustomer()
  const answer = await ask('PUT', `/customers/${id}/security-contacts`, { security_contacts: [contact] })
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/security_contacts/0' }] } })
})

it('security contacts of an unknown customer are not found', async () => {
  const path = `/customers/${NO_ONE}/security-contacts`
  expect((await ask('PUT', path, { security_contacts: [] })).status).toBe(404)
  expect((await ask('POST', `${path}/test`, {})).status).toBe(404)
})

it('a test notice has one send for each contact and one for the webhook', async () => {
  const id = await newCustomer(['b@acme.example', 'a@acme.example'])
  const { status, body } = await ask('POST', `/customers/${id}/security-contacts/test`, {})
  expect(status).toBe(200)
  expect(body).toMatchObject({ customer_id: id, type: 'test', subject: id, facts: { requested_by: 'token' } })
  const waiting = { status: 'WAITING', attempts: 0, next_attempt_at: expect.any(String) }
  expect(body.sends).toEqual([
    { channel: 'mail', recipient: 'a@acme.example', ...waiting },
    { channel: 'mail', recipient: 'b@acme.example', ...waiting },
    { channel: 'webhook', ...waiting },
  ])
  expect((await ask('GET', `/notices/${body.id}`)).body).toEqual(body)
  expect((await ask('GET', `/notices/${NO_ONE}`)).status).toBe(404)
})

it('a new secret is reported without its value, for a new client and for a further secret', async () => {
  const id = await newCustomer(['security@acme.example'])
  const client = (await ask('POST', `/customers/${id}/clients`, { name: 'feed', scopes: [STREAM] })).body
  const secret = (await ask('POST', `/clients/${client.client_id}/secrets`, {})).body
  const { items } = (await ask('GET', `/notices?customer_id=${id}&order=ASC`)).body
  expect(items).toMatchObject([
    { type: 'secret.created', subject: client.secrets[0].id, facts: { client: 'feed', client_id: client.client_id } },
    { type: 'secret.created', subject: secret.secret_id, facts: { client: 'feed', secret_id: secret.secret_id } },
  ])
  const text = JSON.stringify(items)
  expect([text.includes(client.client_secret), text.includes(secret.client_secret)]).toEqual([false, false])
})

it('the list of notices is filtered by customer and by the state of their sends, and has pages', async () => {
  const id = await newCustomer()
  for (let count = 0; count < 3; count++) await ask('POST', `/customers/${id}/security-contacts/test`, {})
  const query = `/notices?customer_id=${id}`
  expect((await ask('GET', `${query}&status=WAITING`)).body.items).toHaveLength(3)
  expect((await ask('GET', `${query}&status=SENT`)).body.items).toEqual([])
  expect((await ask('GET', `${query}&status=OTHER`)).status).toBe(400)
  const first = (await ask('GET', `${query}&limit=2`)).body
  const second = (await ask('GET', `${query}&limit=2&page_cursor=${first.next_page_cursor}`)).body
  expect([first.items.length, second.items.length, second.next_page_cursor]).toEqual([2, 1, undefined])
})
