/** The customer's and the operator's calls about webhook endpoints. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { configOf, type RestCustomer, RestNode } from '../../support/rest.ts'

const PATH = '/v2/webhooks/endpoints'
const URL = 'https://example.com/hook?token=abc'

let node: RestNode
let customer: RestCustomer
/** An endpoint of this customer. */
let own: { readonly id: string }

beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  own = await newEndpoint()
})
afterAll(() => node?.close())

async function newEndpoint(caller = customer, changes: object = {}) {
  const answer = await caller.call('POST', PATH, { url: URL, ...changes })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

describe('creating a webhook endpoint', () => {
  it('a new endpoint shows its secret once, and starts after the customer’s last event', async () => {
    const caller = await node.newCustomer()
    const { secret, ...endpoint } = await newEndpoint(caller, { types: ['transfer.deposit.completed'] })
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{44}$/)
    expect(endpoint).toEqual({
      id: expect.any(String),
      url: URL,
      types: ['transfer.deposit.completed'],
      status: 'ACTIVE',
      last_sequence: 1,
      secrets: [{ created_at: expect.any(String) }],
      created_at: expect.any(String),
    })
    expect((await caller.call('GET', `${PATH}/${endpoint.id.toUpperCase()}`)).body).toEqual(endpoint)
    expect((await caller.call('GET', PATH)).body).toEqual({ items: [endpoint] })
    const { rows } = await sql<{ secrets: object }>`
      select secrets from webhook_endpoints where id = ${endpoint.id}
    `.execute(node.db.tables())
    expect(JSON.stringify(rows)).not.toContain(secret)
    const audit = (await node.operator('GET', `/audit?subject=${endpoint.id}`)).body.items
    expect(audit).toMatchObject([{ actor: `client:${caller.clientId}`, detail: { url: 'https://example.com/hook' } }])
    expect(JSON.stringify(audit)).not.toMatch(/token=abc|whsec_/)
  })

  it.each([
    ['http://example.com/', 'must begin with https://'],
    ['https://user:secret@example.com/', 'must not contain a user name or password'],
    ['https://example.com/#part', 'must not contain a fragment'],
    ['https://127.0.0.1/', 'must be an address on the public internet'],
    ['https://[::1]/', 'must be an address on the public internet'],
    ['https://localhost/', 'must be an address on the public internet'],
    ['nonsense', 'must be a URL with at most 2000 ASCII characters'],
  ])('an endpoint at %s is refused: it %s', async (url, detail) => {
    const { id } = own
    for (const answer of [
      await customer.call('POST', PATH, { url }),
      await customer.call('PATCH', `${PATH}/${id}`, { url }),
    ]) {
      expect(answer.status, answer.text).toBe(400)
      expect(answer.body.errors).toEqual([{ pointer: '/url', detail }])
    }
  })

  it('plain HTTP and private addresses are accepted with webhooks.allow_private', async () => {
    const caller = await node.newCustomer()
    const before = node.live.config
    node.live.config = configOf({ 'webhooks.allow_private': 'true' })
    try {
      for (const url of ['http://10.0.0.1/', 'http://receiver:8080/', 'https://127.0.0.1/']) {
        expect((await newEndpoint(caller, { url })).url).toBe(url)
      }
    } finally {
      node.live.config = before
    }
  })

  it('a customer has at most webhooks.endpoints_max endpoints that are not deleted', async () => {
    const caller = await node.newCustomer()
    const made = await Promise.all(Array.from({ length: 14 }, () => caller.call('POST', PATH, { url: URL })))
    expect(made.filter(({ status }) => status === 200)).toHaveLength(10)
    const refused = made.find(({ status }) => status !== 200)
    expect(refused?.body).toMatchObject({ status: 403, code: 'quota_exceeded', meta: { limit: 10, used: 10 } })
    const { id } = made.find(({ status }) => status === 200)?.body ?? {}
    await caller.call('DELETE', `${PATH}/${id}`)
    await newEndpoint(caller)
  })

  it('a customer creates at most 1,000 endpoints, also deleted ones', async () => {
    const caller = await node.newCustomer()
    const { id } = await newEndpoint(caller)
    await sql`
      insert into webhook_endpoints (id, customer_id, client_id, url, types, status, secrets, passed_sequence, created_at)
      select gen_random_uuid(), customer_id, client_id, url, types, 'DELETED', '[]', 0, created_at
      from webhook_endpoints, generate_series(1, 999) where id = ${id}
    `.execute(node.db.tables())
    const answer = await caller.call('POST', PATH, { url: URL })
    expect(answer.body).toMatchObject({ code: 'quota_exceeded', meta: { limit: 1_000, used: 1_000 } })
  })

  it('unknown types and members are refused', async () => {
    for (const changes of [{ types: ['unknown'] }, { types: null }, { status: 'ACTIVE' }, { secret: 'whsec_' }]) {
      expect((await customer.call('POST', PATH, { url: URL, ...changes })).status).toBe(400)
    }
  })

  it('a client without the scope may call none of the operations', async () => {
    const other = await node.newClient(customer.customerId, ['events:read_event'])
    const { id } = own
    for (const [method, path] of [
      ['POST', PATH],
      ['GET', PATH],
      ['GET', `${PATH}/${id}`],
      ['PATCH', `${PATH}/${id}`],
      ['DELETE', `${PATH}/${id}`],
      ['POST', `${PATH}/${id}/test`],
      ['POST', `${PATH}/${id}/replay`],
      ['GET', `${PATH}/${id}/deliveries`],
    ] as const) {
      expect((await other.call(method, path)).body.code, `${method} ${path}`).toBe('insufficient_scope')
    }
  })

  it('an invalid cursor is answered before an unknown endpoint', async () => {
    const deliveries = `${PATH}/no-endpoint/deliveries`
    expect((await customer.call('GET', `${deliveries}?page_cursor=x`)).body.code).toBe('invalid_cursor')
    expect((await customer.call('GET', deliveries)).body.code).toBe('not_found')
  })

  it('a process without the store’s encryption key makes no secret', async () => {
    const without = await RestNode.open({ db: node.db, hasEncryptionKey: false })
    try {
      const caller = await without.newCustomer()
      const answer = await caller.call('POST', PATH, { url: URL })
      expect(answer.body).toMatchObject({ status: 503, code: 'encryption_key_missing' })
      expect((await caller.call('GET', PATH)).body).toEqual({ items: [] })
    } finally {
      await without.close()
    }
  })
})

describe('changing a webhook endpoint', () => {
  it('address, types and status change, and a repeated change writes no audit row', async () => {
    const { id, secret: _, ...endpoint } = await newEndpoint(await node.newCustomer())
    const changes = { url: 'https://example.com/other', types: ['auth.secret.created'], status: 'PAUSED' }
    for (let repeat = 0; repeat < 2; repeat++) {
      const changed = await node.operator('PATCH', `/webhook-endpoints/${id}`, changes)
      expect(changed.body).toMatchObject({ id, ...endpoint, ...changes })
    }
    const audit = (await node.operator('GET', `/audit?subject=${id}`)).body.items
    expect(audit.map(({ action }: { action: string }) => action)).toEqual([
      'webhook_endpoint.update',
      'webhook_endpoint.create',
    ])
    expect((await node.operator('PATCH', `/webhook-endpoints/${id}`, {})).status).toBe(400)
    expect((await node.operator('PATCH', `/webhook-endpoints/${id}`, { status: 'DISABLED' })).status).toBe(400)
  })

  it('a client sets another address only where it may read what the endpoint receives', async () => {
    const scopes = ['events:write_webhook', 'transfer:read_transfer']
    const owner = await node.newCustomer(scopes)
    const { id } = await newEndpoint(owner)
    const url = 'https://elsewhere.example.com/'
    const lesser = await node.newClient(owner.customerId, ['events:write_webhook'])
    const refused = await lesser.call('PATCH', `${PATH}/${id}`, { url })
    expect([refused.status, refused.body.code]).toEqual([403, 'insufficient_scope'])
    expect(refused.body.detail).toContain('transfer:read_transfer')
    expect((await owner.call('GET', `${PATH}/${id}`)).body.url).toBe(URL)
    expect((await lesser.call('PATCH', `${PATH}/${id}`, { url: URL, status: 'PAUSED' })).body.status).toBe('PAUSED')
    const equal = await node.newClient(owner.customerId, scopes)
    expect((await equal.call('PATCH', `${PATH}/${id}`, { url })).body.url).toBe(url)
  })

  it('a rotation adds a second secret, and ends with the newer one', async () => {
    const caller = await node.newCustomer()
    const { id, secret } = await newEndpoint(caller)
    const begun = await caller.call('PATCH', `${PATH}/${id}`, { rotate_secret: true })
    expect(begun.body.secret).not.toBe(secret)
    const again = await caller.call('PATCH', `${PATH}/${id}`, { rotate_secret: true })
    expect(again.body).toMatchObject({ status: 409, code: 'invalid_state', meta: { current: 'two_secrets' } })
    for (let repeat = 0; repeat < 2; repeat++) {
      const ended = (await caller.call('PATCH', `${PATH}/${id}`, { end_rotation: true })).body
      expect(ended.secrets).toEqual([begun.body.secrets[1]])
      expect(ended).not.toHaveProperty('secret')
    }
    const both = await caller.call('PATCH', `${PATH}/${id}`, { rotate_secret: true, end_rotation: true })
    expect(both.status).toBe(400)
  })

  it('a deleted endpoint is deleted again without effect, is not listed, and takes no other change', async () => {
    const caller = await node.newCustomer()
    const { id } = await newEndpoint(caller)
    for (let repeat = 0; repeat < 2; repeat++) {
      const deleted = await caller.call('DELETE', `${PATH}/${id}`)
      expect([deleted.status, deleted.body]).toMatchObject([200, { id, status: 'DELETED', secrets: [] }])
    }
    expect((await caller.call('GET', PATH)).body).toEqual({ items: [] })
    for (const [method, path, body] of [
      ['PATCH', '', { status: 'ACTIVE' }],
      ['POST', '/test', undefined],
      ['POST', '/replay', { after: 0 }],
    ] as const) {
      expect((await caller.call(method, `${PATH}/${id}${path}`, body)).body.code).toBe('invalid_state')
    }
    expect((await node.operator('GET', `/audit?subject=${id}`)).body.items).toHaveLength(2)
  })

  it('an unknown endpoint, and one of another customer, are equally not found', async () => {
    const { id } = await newEndpoint(await node.newCustomer())
    for (const unknown of [id, newId(), 'nonsense']) {
      for (const [method, path, body] of [
        ['GET', '', undefined],
        ['PATCH', '', { status: 'PAUSED' }],
        ['DELETE', '', undefined],
        ['POST', '/test', undefined],
        ['POST', '/replay', { after: 0 }],
        ['GET', '/deliveries', undefined],
      ] as const) {
        const answer = await customer.call(method, `${PATH}/${unknown}${path}`, body)
        expect([answer.status, answer.body.detail]).toEqual([404, 'there is no webhook endpoint with this id'])
      }
    }
    expect((await node.operator('GET', '/webhook-endpoints/nonsense')).status).toBe(404)
  })
})

it('the operator creates endpoints for a customer’s client, and lists them page by page', async () => {
  const owner = await node.newCustomer()
  const path = `/customers/${owner.customerId}/webhook-endpoints`
  const foreign = await node.operator('POST', path, { client_id: customer.clientId, url: URL })
  expect(foreign.body).toMatchObject({ status: 404, errors: [{ pointer: '/client_id' }] })
  const ids: string[] = []
  for (let each = 0; each < 3; each++) {
    const made = await node.operator('POST', path, { client_id: owner.clientId, url: URL })
    expect(made.body).toMatchObject({
      customer_id: owner.customerId,
      client_id: owner.clientId,
      secret: expect.stringMatching(/^whsec_/),
    })
    ids.unshift(made.body.id)
  }
  const first = (await node.operator('GET', `${path}?limit=2`)).body
  const second = (await node.operator('GET', `${path}?limit=2&page_cursor=${first.next_page_cursor}`)).body
  expect([...first.items, ...second.items].map(({ id }: { id: string }) => id)).toEqual(ids)
  expect(JSON.stringify([first, second])).not.toContain('whsec_')
  const listed = (await owner.call('GET', `${PATH}?status=ACTIVE`)).body.items
  expect(listed.map(({ id }: { id: string }) => id)).toEqual(ids)
  expect((await owner.call('GET', `${PATH}?status=PAUSED`)).body.items).toEqual([])
  expect((await node.operator('GET', `/customers/${newId()}/webhook-endpoints`)).status).toBe(404)
})
