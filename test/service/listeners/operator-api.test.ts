/**
 * Every call of the operator API, taken from the routes that the running service registers: each writing call leaves
 * exactly one audit row when it changes something and none when it does not, and each has a verb on the command line.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ADMIN_NOUNS } from '../../../src/cli/admin/admin-verbs.ts'
import { OPERATOR_CALLS } from '../../../src/contract/operator-calls.ts'
import { runCommand } from '../../support/command-line.ts'
import { releaseOf } from '../../support/release.ts'
import {
  market,
  newToken,
  type ServiceInside,
  STREAM_SCOPE,
  startServiceInside,
  temporaryFolder,
  tokenOf,
} from '../../support/running-service.ts'
import { fetchToken, SampleClient } from '../../support/sample-client.ts'

const PREFIX = '/admin/v1'
const NO_ONE = '018f0000-0000-7000-8000-000000000000'

/** Calls of a person about the own session, which a program does not have. */
const OF_A_SESSION = ['DELETE /session', 'POST /session/password', 'POST /session/authenticator']

/**
 * A new store is encrypted from the start, so this call has nothing to encrypt here: see
 * `test/access/clients/key-encryption.test.ts`. Calls about orchestrations, destinations,
 * limits and screening are tested in `test/money`.
 */
const TESTED_ELSEWHERE = [
  ...OF_A_SESSION,
  ...['confirm', 'decline'].map((step) => `POST /change-requests/:id/${step}`),
  'POST /signing-keys/encrypt',
  ...['reject', 'release', 'retry'].map((step) => `POST /orchestrations/:id/${step}`),
  ...['approve', 'reject'].map((step) => `POST /destinations/:id/${step}`),
  'POST /screening/:id/decide',
  'PUT /limits',
]

/** Calls that need no credentials: people make them with a browser. See `test/access/operators`. */
const OF_THE_CONSOLE = [
  ...['GET /login', 'GET /login/openid', 'GET /login/openid/callback'],
  ...['POST /session', 'POST /setup', 'POST /setup/confirm'],
]

const folder = temporaryFolder()
const routes = new Set<string>()
let service: ServiceInside

beforeAll(async () => {
  const onServer = (message: unknown): void => {
    const { fastify } = message as { readonly fastify: FastifyInstance }
    fastify.addHook('onRoute', noteRoute)
  }
  subscribe('fastify.initialization', onServer)
  service = await startServiceInside(folder.path, [market('AAA', 2, 100)], {
    'stream.drain_seconds': 0,
    'rules.approval': 'required',
    // Secrets of webhook endpoints are stored encrypted, on each engine.
    'keys.encryption_key': Buffer.alloc(32, 7).toString('base64'),
  })
  unsubscribe('fastify.initialization', onServer)
})
afterAll(async () => {
  await service?.stop()
  folder.remove()
})

function noteRoute({ method, url }: RouteOptions): void {
  if (!url.startsWith(`${PREFIX}/`)) return
  for (const name of [method].flat()) {
    const route = `${name} ${url.slice(PREFIX.length)}`
    if (name !== 'HEAD' && !OF_THE_CONSOLE.includes(route)) routes.add(route)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Answer = { readonly status: number; readonly body: any }

async function ask(method: string, path: string, body?: object): Promise<Answer> {
  const { url, token } = service.operator
  const response = await fetch(`${url}${PREFIX}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

/** All rows of the audit trail, newest first. */
async function trail(
  query = '',
  limit = 1_000,
): Promise<{ id: string; actor: string; action: string; subject: string }[]> {
  const rows = []
  let cursor = ''
  do {
    const { body } = await ask('GET', `/audit?limit=${limit}${query}${cursor}`)
    rows.push(...body.items)
    cursor = body.next_page_cursor === undefined ? '' : `&page_cursor=${body.next_page_cursor}`
  } while (cursor !== '')
  return rows
}

/** The audit rows that `work` added, oldest first. */
async function rowsOf(work: () => Promise<unknown>) {
  const before = new Set((await trail()).map(({ id }) => id))
  await work()
  return (await trail()).filter(({ id }) => !before.has(id)).toReversed()
}

let names = 0

async function newCustomer(): Promise<string> {
  return (await ask('POST', '/customers', { name: `customer ${++names}` })).body.id
}

async function newOperator(): Promise<string> {
  return (await ask('POST', '/operators', { name: `person-${++names}`, role: 'viewer' })).body.name
}

async function newClient(): Promise<{ readonly id: string; readonly secretId: string }> {
  const made = await ask('POST', `/customers/${await newCustomer()}/clients`, { name: 'feed', scopes: [] })
  return { id: made.body.client_id, secretId: made.body.secrets[0].id }
}

/** A new customer's path, and the body that creates its webhook endpoint. */
async function endpointOfNewCustomer() {
  const customerId = await newCustomer()
  const client = await ask('POST', `/customers/${customerId}/clients`, { name: 'feed', scopes: [] })
  const body = { client_id: client.body.client_id, url: 'https://example.com/tidegate' }
  return { path: `/customers/${customerId}/webhook-endpoints`, body }
}

async function newEndpoint(): Promise<string> {
  const { path, body } = await endpointOfNewCustomer()
  return `/webhook-endpoints/${(await ask('POST', path, body)).body.id}`
}

/** Creates a record for a new customer through the public API. */
async function newMaker(...scopes: readonly string[]) {
  const { id } = await newClient()
  await ask('PATCH', `/clients/${id}`, { scopes })
  const { client_secret: clientSecret } = (await ask('POST', `/clients/${id}/secrets`)).body
  const token = await fetchToken({ authUrl: service.http, clientId: id, clientSecret, scope: scopes.join(' ') })
  return async (path: string, body: object): Promise<Answer['body']> => {
    const response = await fetch(service.http + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return await response.json()
  }
}

async function newAccount(): Promise<string> {
  const make = await newMaker('identity:write_account')
  return (await make('/v2/identity/accounts', { account: { identity_id: 'somebody' } })).id
}

/** Creates a rule that waits for approval. */
async function newRule(): Promise<string> {
  const make = await newMaker('identity:write_account', 'orchestration:write_orchestration_rule')
  const account = { account: { identity_id: 'somebody' }, create_profile: true }
  const { profile_id } = await make('/v2/identity/accounts', account)
  const rule = await make('/v2/orchestration/rules', {
    ref_id: 'sweep',
    profile_id,
    source_asset: 'USDC',
    destination_asset: 'USD',
    source: { profile: { profile_id } },
  })
  return rule.rule.id
}

/** Creates a credited deposit without a profile, and a profile to assign it to. */
async function newDeposit(): Promise<{ readonly id: string; readonly profileId: string }> {
  const make = await newMaker('identity:write_account')
  const account = { account: { identity_id: 'somebody' }, create_profile: true }
  const { profile_id: profileId } = await make('/v2/identity/accounts', account)
  const { id } = (await ask('POST', '/deposits', depositReport())).body
  return { id, profileId }
}

/** Creates a deposit that belongs to a profile. */
async function assignedDeposit(): Promise<string> {
  const { id, profileId } = await newDeposit()
  const assigned = await ask('POST', `/deposits/${id}/assign`, { profile_id: profileId })
  expect(assigned.status, JSON.stringify(assigned.body)).toBe(200)
  return id
}

async function heldDeposit(): Promise<string> {
  const id = await assignedDeposit()
  await ask('POST', `/deposits/${id}/hold`, { reason: 'to be checked' })
  return id
}

function funding() {
  return {
    kind: 'desk_funding',
    legs: [{ asset: 'USD', amount: '1' }],
    reference: `funding ${++names}`,
    reason: 'a test',
  }
}

function depositReport() {
  return {
    source: 'bank',
    external_id: `payment ${++names}`,
    asset: 'USD',
    amount: '2.5',
    fiat: { network: 'WIRE' },
    status: 'COMPLETED',
    occurred_at: new Date().toISOString(),
  }
}

/** Creates a pending delivery: the return of a deposit that was assigned to a new profile. */
async function newDelivery(): Promise<string> {
  const id = await assignedDeposit()
  const fiat = { fiat_account_id: 'sender' }
  const returned = await ask('POST', `/deposits/${id}/return`, { reason: 'sent by mistake', fiat })
  expect(returned.status, JSON.stringify(returned.body)).toBe(200)
  return (await ask('GET', '/deliveries?limit=1')).body.items[0].id
}

async function newPlan(): Promise<string> {
  return `/plans/${(await ask('POST', '/plans', { name: `plan-${++names}` })).body.name}`
}

async function claimAll(): Promise<void> {
  await ask('POST', '/deliveries/claim', { executor: 'treasury', limit: 100, lease_seconds: 60 })
}

/** How to test each writing call: the preparation, then the call, which can be repeated. */
interface Write {
  readonly action: string
  /** Resolves to the call. */
  readonly prepare: () => Promise<{ readonly path: string; readonly body?: object }>
  /** The result of repeating the call: no change, a refusal, or a change of its own. */
  readonly again: 'unchanged' | 'refused' | 'not found' | 'another change'
}

const AGAIN_STATUSES = { unchanged: 200, refused: 409, 'not found': 404, 'another change': 200 }

const WRITES: Readonly<Record<string, Write>> = {
  'POST /customers': {
    action: 'customer.create',
    prepare: async () => ({ path: '/customers', body: { name: `customer ${++names}`, streaming: true } }),
    again: 'refused',
  },
  'PATCH /customers/:id': {
    action: 'customer.update',
    prepare: async () => ({ path: `/customers/${await newCustomer()}`, body: { streaming: true } }),
    again: 'unchanged',
  },
  'PUT /customers/:id/security-contacts': {
    action: 'customer.set_contacts',
    prepare: async () => ({
      path: `/customers/${await newCustomer()}/security-contacts`,
      body: { security_contacts: ['security@acme.example'] },
    }),
    again: 'unchanged',
  },
  'POST /customers/:id/security-contacts/test': {
    action: 'notice.test',
    prepare: async () => ({ path: `/customers/${await newCustomer()}/security-contacts/test` }),
    again: 'another change',
  },
  'POST /customers/:id/webhook-endpoints': {
    action: 'webhook_endpoint.create',
    prepare: endpointOfNewCustomer,
    again: 'another change',
  },
  'PATCH /webhook-endpoints/:id': {
    action: 'webhook_endpoint.update',
    prepare: async () => ({ path: await newEndpoint(), body: { status: 'PAUSED' } }),
    again: 'unchanged',
  },
  'DELETE /webhook-endpoints/:id': {
    action: 'webhook_endpoint.delete',
    prepare: async () => ({ path: await newEndpoint() }),
    again: 'unchanged',
  },
  'POST /webhook-endpoints/:id/test': {
    action: 'webhook_endpoint.test',
    prepare: async () => ({ path: `${await newEndpoint()}/test` }),
    again: 'another change',
  },
  'POST /webhook-endpoints/:id/replay': {
    action: 'webhook_endpoint.replay',
    prepare: async () => ({ path: `${await newEndpoint()}/replay`, body: { after: 0 } }),
    again: 'another change',
  },
  'POST /customers/:id/clients': {
    action: 'client.create',
    prepare: async () => ({ path: `/customers/${await newCustomer()}/clients`, body: { name: 'feed', scopes: [] } }),
    again: 'refused',
  },
  'PATCH /clients/:id': {
    action: 'client.update',
    prepare: async () => ({ path: `/clients/${(await newClient()).id}`, body: { scopes: [STREAM_SCOPE] } }),
    again: 'unchanged',
  },
  'POST /clients/:id/revoke-tokens': {
    action: 'client.revoke_tokens',
    prepare: async () => ({ path: `/clients/${(await newClient()).id}/revoke-tokens` }),
    again: 'another change',
  },
  'POST /clients/:id/secrets': {
    action: 'secret.create',
    prepare: async () => ({ path: `/clients/${(await newClient()).id}/secrets` }),
    again: 'refused',
  },
  'DELETE /clients/:id/secrets/:secret': {
    action: 'secret.delete',
    prepare: async () => {
      const { id, secretId } = await newClient()
      return { path: `/clients/${id}/secrets/${secretId}` }
    },
    again: 'unchanged',
  },
  'POST /plans': {
    action: 'plan.create',
    prepare: async () => ({ path: '/plans', body: { name: `plan-${++names}`, depth_max: 10 } }),
    again: 'refused',
  },
  'PATCH /plans/:name': {
    action: 'plan.update',
    prepare: async () => ({ path: await newPlan(), body: { depth_max: 25 } }),
    again: 'unchanged',
  },
  'DELETE /plans/:name': {
    action: 'plan.delete',
    prepare: async () => ({ path: await newPlan() }),
    again: 'not found',
  },
  'POST /signing-keys': {
    action: 'signing_key.create',
    prepare: async () => ({ path: '/signing-keys' }),
    again: 'unchanged',
  },
  'DELETE /signing-keys/:id': {
    action: 'signing_key.revoke',
    prepare: async () => {
      const { id } = (await ask('POST', '/signing-keys')).body
      return { path: `/signing-keys/${id}` }
    },
    again: 'unchanged',
  },
  'POST /receipt-keys': {
    action: 'receipt_key.create',
    prepare: async () => ({ path: '/receipt-keys' }),
    again: 'another change',
  },
  'PATCH /accounts/:id': {
    action: 'account.review',
    prepare: async () => ({ path: `/accounts/${await newAccount()}`, body: { summary_status: 'APPROVED' } }),
    again: 'unchanged',
  },
  'POST /customers/:id/profiles': {
    action: 'profile.create',
    prepare: async () => ({ path: `/customers/${await newCustomer()}/profiles`, body: { nickname: 'treasury' } }),
    again: 'refused',
  },
  'POST /address-pool': {
    action: 'address_pool.import',
    prepare: async () => ({
      path: '/address-pool',
      body: { network: 'SOLANA', addresses: ['HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk'] },
    }),
    again: 'unchanged',
  },
  'POST /accounts/:id/notes': {
    action: 'account.note',
    prepare: async () => ({ path: `/accounts/${await newAccount()}/notes`, body: { text: 'asked for an extract' } }),
    again: 'unchanged',
  },
  'POST /rules/:id/notes': {
    action: 'rule.note',
    prepare: async () => ({ path: `/rules/${await newRule()}/notes`, body: { text: 'payee checked' } }),
    again: 'unchanged',
  },
  'POST /rules/:id/approve': {
    action: 'rule.approve',
    prepare: async () => ({ path: `/rules/${await newRule()}/approve` }),
    again: 'unchanged',
  },
  'POST /rules/:id/reject': {
    action: 'rule.reject',
    prepare: async () => ({ path: `/rules/${await newRule()}/reject`, body: { reason: 'unknown payee' } }),
    again: 'unchanged',
  },
  'POST /rules/:id/delete': {
    action: 'rule.delete',
    prepare: async () => ({ path: `/rules/${await newRule()}/delete` }),
    again: 'unchanged',
  },
  'PATCH /controls': {
    action: 'controls.change',
    prepare: async () => ({ path: '/controls', body: { paused: { networks: ['SOLANA'] } } }),
    again: 'unchanged',
  },
  'POST /deposits': {
    action: 'deposit.create',
    prepare: async () => ({ path: '/deposits', body: depositReport() }),
    again: 'unchanged',
  },
  'POST /deposits/:id/assign': {
    action: 'deposit.assign',
    prepare: async () => {
      const { id, profileId } = await newDeposit()
      return { path: `/deposits/${id}/assign`, body: { profile_id: profileId } }
    },
    again: 'unchanged',
  },
  'POST /deposits/:id/correct': {
    action: 'deposit.correct',
    prepare: async () => {
      const body = { amount: '101', reason: 'the bank was wrong' }
      return { path: `/deposits/${await assignedDeposit()}/correct`, body }
    },
    again: 'unchanged',
  },
  'POST /deposits/:id/hold': {
    action: 'deposit.hold',
    prepare: async () => ({ path: `/deposits/${await assignedDeposit()}/hold`, body: { reason: 'to be checked' } }),
    again: 'unchanged',
  },
  'POST /deposits/:id/release': {
    action: 'deposit.release',
    prepare: async () => {
      const path = `/deposits/${await heldDeposit()}`
      return { path: `${path}/release`, body: releaseOf((await ask('GET', path)).body) }
    },
    again: 'unchanged',
  },
  'POST /deposits/:id/reject': {
    action: 'deposit.reject',
    prepare: async () => ({ path: `/deposits/${await heldDeposit()}/reject`, body: { reason: 'sanctioned' } }),
    again: 'unchanged',
  },
  'POST /ledger/entries': {
    action: 'ledger_entry.create',
    prepare: async () => ({ path: '/ledger/entries', body: funding() }),
    again: 'unchanged',
  },
  'POST /ledger/entries/:id/reverse': {
    action: 'ledger_entry.reverse',
    prepare: async () => {
      const { id } = (await ask('POST', '/ledger/entries', funding())).body
      return { path: `/ledger/entries/${id}/reverse`, body: { reason: 'booked twice' } }
    },
    again: 'unchanged',
  },
  'POST /deposits/:id/reverse': {
    action: 'deposit.reverse',
    prepare: async () => ({ path: `/deposits/${await assignedDeposit()}/reverse`, body: { reason: 'recalled' } }),
    again: 'unchanged',
  },
  'POST /deposits/:id/return': {
    action: 'deposit.return',
    prepare: async () => ({
      path: `/deposits/${await assignedDeposit()}/return`,
      body: { reason: 'sent by mistake', fiat: { fiat_account_id: 'sender' } },
    }),
    again: 'unchanged',
  },
  'POST /deliveries/claim': {
    action: 'delivery.claim',
    prepare: async () => {
      await newDelivery()
      return { path: '/deliveries/claim', body: { executor: 'treasury', limit: 100, lease_seconds: 60 } }
    },
    again: 'unchanged',
  },
  'POST /deliveries/:id/claim': {
    action: 'delivery.claim',
    prepare: async () => ({ path: `/deliveries/${await newDelivery()}/claim`, body: { lease_seconds: 60 } }),
    again: 'unchanged',
  },
  'POST /deliveries/:id/settle': {
    action: 'delivery.settle',
    prepare: async () => {
      const id = await newDelivery()
      await claimAll()
      return { path: `/deliveries/${id}/settle`, body: { reference: id, attempt: 1 } }
    },
    again: 'unchanged',
  },
  'POST /deliveries/:id/fail': {
    action: 'delivery.fail',
    prepare: async () => ({
      path: `/deliveries/${await newDelivery()}/fail`,
      body: { reason: 'not wanted', attempt: 0 },
    }),
    again: 'unchanged',
  },
  'POST /operators': {
    action: 'operator.create',
    prepare: async () => ({ path: '/operators', body: { name: `person-${++names}`, role: 'viewer' } }),
    again: 'refused',
  },
  'PATCH /operators/:name': {
    action: 'operator.update',
    prepare: async () => ({ path: `/operators/${await newOperator()}`, body: { role: 'treasurer' } }),
    again: 'unchanged',
  },
  'POST /operators/setup-link': {
    action: 'operator.setup_link',
    prepare: async () => ({ path: '/operators/setup-link' }),
    again: 'another change',
  },
  'POST /operators/:name/reset': {
    action: 'operator.reset',
    prepare: async () => ({ path: `/operators/${await newOperator()}/reset` }),
    again: 'another change',
  },
  'POST /operators/:name/tokens': {
    action: 'operator_token.create',
    prepare: async () => ({ path: `/operators/${await newOperator()}/tokens`, body: { name: 'script' } }),
    again: 'refused',
  },
  'DELETE /operators/:name/tokens/:id': {
    action: 'operator_token.delete',
    prepare: async () => {
      const name = await newOperator()
      const { id } = (await ask('POST', `/operators/${name}/tokens`, { name: 'script' })).body
      return { path: `/operators/${name}/tokens/${id}` }
    },
    again: 'unchanged',
  },
  'DELETE /connections/:id': {
    action: 'connection.close',
    prepare: async () => {
      const client = await SampleClient.connect({ wsUrl: service.ws, token: await newToken(service) })
      // The connection stays in the closing state because its peer does not read.
      client.pause()
      const { items } = (await ask('GET', '/connections?limit=1')).body
      return { path: `/connections/${items[0].id}` }
    },
    again: 'unchanged',
  },
}

describe('the operator API', () => {
  it('the operator API has a case in this file for every writing call', () => {
    const writing = [...routes].filter((route) => !route.startsWith('GET '))
    expect(writing.sort()).toEqual([...Object.keys(WRITES), ...TESTED_ELSEWHERE].sort())
  })

  it('the operator API has a row with its role in the table of calls, and no row without a call', () => {
    expect([...routes].sort()).toEqual(Object.keys(OPERATOR_CALLS).sort())
  })

  it('the operator API has a verb on the command line for every call', () => {
    const listed = [...routes].filter((route) => !OF_A_SESSION.includes(route))
    const verbs = ADMIN_NOUNS.flatMap((noun) => noun.verbs).map(({ method, path }) => `${method} ${path}`)
    expect([...new Set(verbs)].sort()).toEqual(listed.sort())
    expect(verbs).toHaveLength(new Set(verbs).size)
  })

  it.each(Object.entries(WRITES))(
    'the operator API leaves exactly one audit row for one change by %s',
    async (route, write) => {
      const method = route.split(' ', 1)[0] as string
      const { path, body } = await write.prepare()
      // Immediately one after the other: a closing connection exists for a few seconds only.
      const rows = await rowsOf(async () => {
        const statuses = [(await ask(method, path, body)).status, (await ask(method, path, body)).status]
        expect(statuses).toEqual([200, AGAIN_STATUSES[write.again]])
      })
      const row = { actor: 'operator', action: write.action }
      // Consequences of the change have audit rows of their own.
      expect(rows.filter(({ actor }) => actor !== 'worker')).toMatchObject(
        write.again === 'another change' ? [row, row] : [row],
      )
    },
  )

  it('the operator API leaves no audit row for a refused call', async () => {
    const rows = await rowsOf(async () => {
      expect((await ask('PATCH', `/customers/${NO_ONE}`, { enabled: false })).status).toBe(404)
      expect((await ask('POST', '/customers', { name: '' })).status).toBe(400)
      expect((await ask('DELETE', `/connections/${NO_ONE}`)).status).toBe(404)
    })
    expect(rows).toEqual([])
  })
})

describe('the audit trail', () => {
  it('the audit trail is found by subject and by actor, in consistent pages', async () => {
    const id = await newCustomer()
    for (const enabled of [false, true, false, true, false, true]) await ask('PATCH', `/customers/${id}`, { enabled })
    const rows = await trail(`&subject=${id}`, 3)
    expect(rows.map(({ action }) => action)).toEqual([...Array(6).fill('customer.update'), 'customer.create'])
    expect(await trail(`&subject=${id}&actor=operator`)).toEqual(rows)
    expect(await trail(`&subject=${id}&actor=nobody`)).toEqual([])
    expect(await trail('&subject=nothing')).toEqual([])
    const { next_page_cursor: cursor } = (await ask('GET', `/audit?limit=1&subject=${id}`)).body
    expect((await ask('GET', `/audit?limit=1&page_cursor=${cursor}`)).body.code).toBe('invalid_cursor')
  })

  it.each(['subject=a&subject=b', 'actor=%00', `subject=${'x'.repeat(201)}`])(
    'the audit trail refuses the query %s',
    async (query) => {
      expect((await ask('GET', `/audit?${query}`)).body.code).toBe('invalid_request')
    },
  )
})

describe('the command line', () => {
  const admin = async (...words: string[]) => {
    const where = ['--operator-url', service.operator.url, '--data_dir', folder.path]
    const { code, stdout, stderr } = await runCommand(['admin', ...words, ...where])
    return { code, stderr, answer: code === 0 ? JSON.parse(stdout) : undefined }
  }

  it('the command line lists connections, closes one, and reports one that no longer exists', async () => {
    const { clientId, ...credentials } = await service.operator.createClient()
    const client = await SampleClient.connect({
      wsUrl: service.ws,
      token: await tokenOf(service, { clientId, ...credentials }),
    })
    await client.subscribeAll('AAAUSD')
    const { answer } = await admin('connection', 'list', '--client', clientId)
    expect(answer.items).toMatchObject([{ client_id: clientId, subscriptions: 4, client_address: '127.0.0.1' }])
    expect((await admin('connection', 'close', answer.items[0].id)).answer.id).toBe(answer.items[0].id)
    await client.untilClosed()
    expect(client.closed).toEqual({ code: 1001, reason: 'closed by the operator' })
    const gone = await admin('connection', 'close', answer.items[0].id)
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringMatching(/^tidegate: not_found \(404\): .*\n$/) })
  })

  it('the command line finds rules that wait for approval, and decides them', async () => {
    const [first, second] = [await newRule(), await newRule()]
    const { answer } = await admin('rule', 'list', '--status', 'PENDING', '--limit', '2')
    expect(answer.items.map(({ id }: { id: string }) => id)).toEqual([second, first])
    expect((await admin('rule', 'approve', first)).answer).toMatchObject({ id: first, status: 'ACTIVE' })
    const rejected = (await admin('rule', 'reject', second, '--reason', 'unknown payee')).answer
    expect(rejected).toMatchObject({ status: 'REJECTED', reject_reason: 'unknown payee' })
  })

  it('the command line shows markets and a book', async () => {
    expect((await admin('market', 'list')).answer.items).toMatchObject([
      { symbol: 'AAAUSD', live: true, sources: ['simulator'], depth: 100 },
    ])
    const { answer } = await admin('market', 'book', 'AAAUSD', '--depth', '2')
    expect([answer.bids.length, answer.asks.length]).toEqual([2, 2])
    expect(answer.bids[0].price).toMatch(/^\d+\.\d\d$/)
    expect((await admin('market', 'book', 'XXXUSD')).stderr).toMatch(/^tidegate: not_found \(404\)/)
  })
})
