/** Plans in the operator API and in the directory. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AccessToken } from '../../../src/access/clients/access-token.ts'
import type { AffectedTokens } from '../../../src/access/clients/affected-tokens.ts'
import { type OperatorFixture, openOperatorFixture } from '../../support/auth-fixtures.ts'

let node: OperatorFixture

beforeAll(async () => {
  node = await openOperatorFixture()
})
afterAll(() => node.close())

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
async function ask(method: string, path: string, body?: object): Promise<{ status: number; body: any }> {
  const response = await fetch(`${node.url}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${node.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

let made = 0

async function newHolders() {
  const number = ++made
  const customerId: string = (await ask('POST', '/customers', { name: `customer ${number}`, streaming: true })).body.id
  const client = await ask('POST', `/customers/${customerId}/clients`, { name: 'feed', scopes: [] })
  const clientId: string = client.body.client_id
  const token = { customerId, clientId } as AccessToken
  return { customerId, clientId, token, plans: () => node.directory.plansOf(token).map(({ plan }) => plan) }
}

async function newPlan(bounds: object = {}): Promise<string> {
  const name = `plan-${++made}`
  const { status, body } = await ask('POST', '/plans', { name, ...bounds })
  expect([status, body.name]).toEqual([200, name])
  return name
}

it('a plan shows its bounds, and what is not given is unlimited', async () => {
  const bounds = {
    markets: ['ETHUSD', 'BTCUSD'],
    channels: ['market_data'],
    depth_max: 10,
    interval_ms_min: 250,
    connections_max: 2,
    subscriptions_max: 20,
    rest_rate_per_second: 5,
  }
  const { body } = await ask('POST', '/plans', { name: 'basic', ...bounds })
  expect(body).toEqual({ name: 'basic', ...bounds, markets: ['BTCUSD', 'ETHUSD'], created_at: expect.any(String) })
  expect((await ask('GET', '/plans/basic')).body).toEqual(body)
  const open = await ask('POST', '/plans', { name: 'open', markets: ['*'] })
  expect(open.body).toEqual({ name: 'open', markets: ['*'], created_at: expect.any(String) })
  const { items } = (await ask('GET', '/plans')).body
  expect(items.map(({ name }: { name: string }) => name)).toEqual(['basic', 'open', 'unlimited'])
})

it.each([
  [{ name: 'Upper' }, '/name'],
  [{ name: 'x', depth_max: 7 }, '/depth_max'],
  [{ name: 'x', interval_ms_min: 60 }, '/interval_ms_min'],
  [{ name: 'x', channels: ['heartbeat'] }, '/channels/0'],
  [{ name: 'x', markets: [] }, '/markets'],
  [{ name: 'x', connections_max: 0 }, '/connections_max'],
])('a plan with %j is refused', async (body, pointer) => {
  const { status, body: answer } = await ask('POST', '/plans', body)
  expect([status, answer.errors?.[0].pointer]).toEqual([400, pointer])
})

it('a change of a plan removes a bound with null, and keeps the bounds that it does not name', async () => {
  const name = await newPlan({ depth_max: 10, connections_max: 2, markets: ['BTCUSD'] })
  const { body } = await ask('PATCH', `/plans/${name}`, { depth_max: null, markets: null, interval_ms_min: 100 })
  expect(body).toEqual({
    name,
    markets: ['*'],
    interval_ms_min: 100,
    connections_max: 2,
    created_at: expect.any(String),
  })
  expect((await ask('GET', `/plans/${name}`)).body).toEqual(body)
})

it('the plan unlimited is the default, and is neither changed nor deleted', async () => {
  const { customerId, plans } = await newHolders()
  expect((await ask('GET', `/customers/${customerId}`)).body.plan).toBe('unlimited')
  expect(plans()).toEqual([])
  expect((await ask('PATCH', '/plans/unlimited', { depth_max: 10 })).status).toBe(409)
  expect((await ask('DELETE', '/plans/unlimited')).status).toBe(409)
})

it('a plan in use by a customer or a client is not deleted', async () => {
  const { customerId, clientId } = await newHolders()
  const name = await newPlan()
  for (const path of [`/customers/${customerId}`, `/clients/${clientId}`]) {
    expect((await ask('PATCH', path, { plan: name })).body.plan).toBe(name)
    expect((await ask('DELETE', `/plans/${name}`)).body.code).toBe('invalid_state')
    await ask('PATCH', path, { plan: 'unlimited' })
  }
  expect((await ask('DELETE', `/plans/${name}`)).status).toBe(200)
  expect((await ask('PATCH', `/customers/${customerId}`, { plan: name })).body.errors).toEqual([
    { pointer: '/plan', detail: 'names no plan' },
  ])
})

it('the directory has the customer’s plan and the client’s own, and follows their changes', async () => {
  const { customerId, clientId, token, plans } = await newHolders()
  const [wide, narrow] = [await newPlan({ depth_max: 100 }), await newPlan({ depth_max: 5 })]
  await ask('PATCH', `/customers/${customerId}`, { plan: wide })
  await ask('PATCH', `/clients/${clientId}`, { plan: narrow })
  expect(node.directory.plansOf(token)).toEqual([
    { plan: { name: wide, depthMax: 100 }, holder: 'customer', holderId: customerId },
    { plan: { name: narrow, depthMax: 5 }, holder: 'client', holderId: clientId },
  ])
  await ask('PATCH', `/clients/${clientId}`, { plan: null })
  expect((await ask('GET', `/clients/${clientId}`)).body).not.toHaveProperty('plan')
  expect(plans()).toEqual([{ name: wide, depthMax: 100 }])
})

it('a changed plan affects the tokens of its customers and clients alone', async () => {
  const [first, second, other] = [await newHolders(), await newHolders(), await newHolders()]
  const name = await newPlan()
  await ask('PATCH', `/customers/${first.customerId}`, { plan: name })
  await ask('PATCH', `/clients/${second.clientId}`, { plan: name })
  const seen: AffectedTokens[] = []
  const end = node.directory.onChange((affected) => seen.push(affected))
  await ask('PATCH', `/plans/${name}`, { markets: ['BTCUSD'] })
  end()
  expect(seen).toHaveLength(1)
  expect([...(seen[0]?.customerIds ?? [])]).toEqual([first.customerId])
  expect(seen[0]?.clientIds.has(second.clientId)).toBe(true)
  expect(seen[0]?.clientIds.has(other.clientId)).toBe(false)
  expect(first.plans()).toEqual([{ name, markets: new Set(['BTCUSD']) }])
})
