/** `GET /v2/client`, and the times at which secrets were last used. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SecretUses } from '../../../src/access/clients/secret-uses.ts'
import { hashSecret } from '../../../src/access/clients/secrets.ts'
import { captureLog } from '../../support/captured-log.ts'
import { RestNode } from '../../support/rest.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const SCOPES = ['identity:read_account', 'funding:read_profile']

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open()
})
afterAll(() => node?.close())

async function newClient() {
  const { body: customer } = await node.operator('POST', '/customers', { name: crypto.randomUUID() })
  const { body: client } = await node.operator('POST', `/customers/${customer.id}/clients`, {
    name: 'reports',
    scopes: SCOPES,
  })
  return { customer, client }
}

async function tokenOf(client: { client_id: string; client_secret: string }, scope: string): Promise<string> {
  const { client_id, client_secret } = client
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const answer = await fetch(`${node.url}/oauth2/token`, { method: 'POST', body })
  return ((await answer.json()) as { access_token: string }).access_token
}

const ask = (token: string) => node.send('GET', '/v2/client', undefined, { authorization: `Bearer ${token}` })

it('a client sees its scopes, plan, limits and secrets with a token of one scope, and no other client', async () => {
  const { customer, client } = await newClient()
  await node.operator('POST', `/customers/${customer.id}/clients`, { name: 'other', scopes: SCOPES.slice(1) })
  const answer = await ask(await tokenOf(client, 'funding:read_profile'))
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    client_id: client.client_id,
    customer_id: customer.id,
    name: 'reports',
    scopes: SCOPES,
    streaming: false,
    plan: { name: 'unlimited' },
    limits: { connections_max: 2_000, subscriptions_max: 1_000, inbound_per_second: 50, rest_rate_per_second: 100_000 },
    secrets: client.secrets,
  })
  expect(answer.text).not.toContain(client.client_secret)
})

it('a client sees the narrower bounds of its customer’s plan and its own', async () => {
  const { customer, client } = await newClient()
  const token = await tokenOf(client, 'funding:read_profile')
  const own = { name: 'own', markets: ['BTCUSD', 'SOLUSD'], depth_max: 25, interval_ms_min: 250 }
  for (const plan of [{ name: 'sold', markets: ['BTCUSD', 'ETHUSD'], depth_max: 10, connections_max: 3 }, own]) {
    await node.operator('POST', '/plans', plan)
  }
  await node.operator('PATCH', `/customers/${customer.id}`, { plan: 'sold' })
  expect((await ask(token)).body.plan).toEqual({
    name: 'sold',
    markets: ['BTCUSD', 'ETHUSD'],
    depth_max: 10,
    connections_max: 3,
  })
  await node.operator('PATCH', `/clients/${client.client_id}`, { plan: 'own' })
  expect((await ask(token)).body.plan).toEqual({
    name: 'own',
    markets: ['BTCUSD'],
    depth_max: 10,
    interval_ms_min: 250,
    connections_max: 3,
  })
})

it('a client that has lost a scope no longer sees it, and one without a token is refused', async () => {
  const { customer, client } = await newClient()
  const token = await tokenOf(client, SCOPES.join(' '))
  await node.operator('PATCH', `/clients/${client.client_id}`, { scopes: SCOPES.slice(1) })
  expect((await ask(token)).body.scopes).toEqual(SCOPES.slice(1))
  await node.operator('PATCH', `/customers/${customer.id}`, { streaming: true })
  expect((await ask(token)).body.streaming).toBe(true)
  expect((await node.send('GET', '/v2/client')).status).toBe(401)
})

async function uses() {
  const clock = new VirtualClock()
  const captured = captureLog()
  const { client } = await newClient()
  const pepper = node.directory.authority?.pepper as Uint8Array
  const hash = hashSecret(pepper, client.client_secret)
  const secretOf = async () => (await node.operator('GET', `/clients/${client.client_id}`)).body.secrets[0]
  return { clock, captured, hash, client, secretOf }
}

it("a secret's uses are stored once a minute, with the time of the last one", async () => {
  const { clock, captured, hash, client, secretOf } = await uses()
  let statements = 0
  const counted = {
    tables() {
      statements++
      return node.db.tables()
    },
  } as unknown as typeof node.db
  const noted = new SecretUses({ db: counted, clock, log: captured.log })
  for (let count = 0; count < 1_000; count++) noted.note(client.client_id, hash)
  clock.advance(59_000)
  expect(statements).toBe(0)
  noted.note(client.client_id, hash)
  const last = new Date(clock.wallInstant().milliseconds).toISOString()
  clock.advance(1_000)
  await noted.stop()
  expect(statements).toBe(1)
  expect(await secretOf()).toEqual({ ...client.secrets[0], last_used_at: last })
})

it('the use of a secret is kept while the store is unavailable, and never replaced by an earlier one', async () => {
  const { clock, captured, hash, client, secretOf } = await uses()
  let isAvailable = false
  const unreliable = {
    tables() {
      if (!isAvailable) throw new Error('the store is away')
      return node.db.tables()
    },
  } as unknown as typeof node.db
  const noted = new SecretUses({ db: unreliable, clock, log: captured.log })
  noted.note(client.client_id, hash)
  const used = new Date(clock.wallInstant().milliseconds).toISOString()
  clock.advance(60_000)
  await expect.poll(() => captured.lines.join()).toContain('could not be stored')
  isAvailable = true
  clock.advance(60_000)
  await noted.stop()
  expect((await secretOf()).last_used_at).toBe(used)
  const other = new SecretUses({ db: node.db, clock: new VirtualClock(Date.UTC(2025, 0, 1)), log: captured.log })
  other.note(client.client_id, hash)
  await other.stop()
  expect((await secretOf()).last_used_at).toBe(used)
})

it('a token request notes the use of the secret that it was made with', async () => {
  const own = await RestNode.open({ db: node.db })
  const { client } = await newClient()
  await own.operator('POST', `/clients/${client.client_id}/secrets`)
  await fetch(`${own.url}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.client_id,
      client_secret: client.client_secret,
      scope: SCOPES.join(' '),
    }),
  })
  // The listener stores what is noted before it has closed.
  await own.close()
  const { secrets } = (await node.operator('GET', `/clients/${client.client_id}`)).body
  expect(secrets).toEqual([
    { ...client.secrets[0], last_used_at: expect.any(String) },
    expect.not.objectContaining({ last_used_at: expect.any(String) }),
  ])
})
