/**
 * Paths on which one person alone could create money while a second one must confirm: each is tried against the whole API of a
 * node, by a treasurer, by an admin, and with the credentials that they can issue. None of them changes a balance.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { OPERATOR_CALLS, type OperatorCallId, recordCallOf } from '../../../src/contract/operator-calls.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { registerAddress } from '../../support/destinations.ts'
import { releaseOf } from '../../support/release.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { ETHEREUM_ADDRESS, newAccount, RULES, ruleBody } from '../../support/rules.ts'

const ALL_KINDS = ['approvals', 'settlements', 'controls', 'deposits', 'operators']
const WHY = { comment: 'all in order' }

let node: RestNode
let customer: RestCustomer
let profileId: string
let accountId: string
/** Deposits: in the state that each path starts from. */
const deposits: Record<'held' | 'unattributed' | 'completed', string> = { held: '', unattributed: '', completed: '' }
const tokens = new Map<string, string>()
let reports = 0

beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
  customer = await node.newCustomer()
  const account = await newAccount(customer)
  profileId = account.profileId
  accountId = account.accountId
  for (const [name, role] of [
    ['tom', 'treasurer'],
    ['amy', 'admin'],
    ['ann', 'admin'],
  ] as const) {
    await node.operator('POST', '/operators', { name, role })
    tokens.set(name, (await node.operator('POST', `/operators/${name}/tokens`, { name: 'own' })).body.token)
  }
  await node.operator('POST', '/operators', { name: 'custodian', role: 'deposit_reporter' })
  const bound = { name: 'adapter', sources: ['custody'], assets: ['USD'] }
  tokens.set('machine', (await node.operator('POST', '/operators/custodian/tokens', bound)).body.token)
  for (const kind of ['held', 'unattributed', 'completed'] as const) {
    deposits[kind] = (await node.operator('POST', '/deposits', wire())).body.id
  }
  for (const kind of ['held', 'completed'] as const) {
    await node.operator('POST', `/deposits/${deposits[kind]}/assign`, { profile_id: profileId })
  }
  await node.operator('POST', `/deposits/${deposits.held}/hold`, { reason: 'to be checked' })
})
afterAll(() => node?.close())
beforeEach(() => require(ALL_KINDS))

function require(kinds: readonly string[]): void {
  node.live.config = { ...node.live.config, 'operator.four_eyes': kinds }
}

/** An invented payment. */
function wire(source = 'custody') {
  const fiat = { network: 'WIRE', bank_reference: `${++reports}`, sender: 'Ann Example' }
  const occurred_at = '2026-01-02T03:04:05Z'
  return { source, external_id: `invented ${reports}`, asset: 'USD', amount: '777', fiat, occurred_at }
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Answer = { readonly status: number; readonly body: any }

async function ask(who: string, method: string, path: string, body: object = {}): Promise<Answer> {
  const response = await fetch(`${node.operatorUrl}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${tokens.get(who) ?? who}`, 'content-type': 'application/json' },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}

/** Everything that is money, or can become money. */
async function state() {
  const tables = ['balances', 'postings', 'deposits', 'orchestrations', 'deliveries', 'operators', 'operator_tokens']
  const counted = tables.map(async (table) => {
    const { rows } = await sql<{ text: string }>`
      select coalesce(jsonb_agg(to_jsonb(each) - 'last_used_at' order by to_jsonb(each)::text), '[]')::text as text
      from ${sql.table(table)} as each
    `.execute(node.db.tables())
    return [table, rows[0]?.text]
  })
  return Object.fromEntries(await Promise.all(counted))
}

type Call = readonly [method: string, path: () => string, body: () => object]

const REQUESTS: Readonly<Record<string, Call>> = {
  'an invented report': ['POST', () => '/deposits', wire],
  'a batch of invented reports': ['POST', () => '/deposits', () => ({ deposits: [wire(), wire()] })],
  'an assignment that runs rules': [
    'POST',
    () => `/deposits/${deposits.unattributed}/assign`,
    () => ({ profile_id: profileId, run_rules: true }),
  ],
  'a release': ['POST', () => `/deposits/${deposits.held}/release`, () => releaseOf({})],
  'a correction to a larger amount': [
    'POST',
    () => `/deposits/${deposits.completed}/correct`,
    () => ({ amount: '777777', reason: 'a typing error' }),
  ],
  'a return': [
    'POST',
    () => `/deposits/${deposits.completed}/return`,
    () => ({ reason: 'not wanted', fiat: { fiat_account_id: 'mine' } }),
  ],
  'a ledger entry that forgives a debt': [
    'POST',
    () => '/ledger/entries',
    () => ({
      kind: 'write_off',
      legs: [{ asset: 'USD', amount: '5' }],
      profile_id: profileId,
      reference: 'w',
      reason: 'small',
    }),
  ],
  'a resumption of what is paused': ['PATCH', () => '/controls', () => ({ paused: { deliveries: false } })],
}

const OF_ADMINS: Readonly<Record<string, Call>> = {
  'a new operator': ['POST', () => '/operators', () => ({ name: 'puppet', role: 'admin' })],
  'a new machine': ['POST', () => '/operators', () => ({ name: 'robot', role: 'deposit_reporter' })],
  'a token of another operator': ['POST', () => '/operators/ann/tokens', () => ({ name: 'stealthy' })],
  'a token of a machine': ['POST', () => '/operators/custodian/tokens', () => ({ name: 'stealthy' })],
  'a reset of another password and second factor': ['POST', () => '/operators/ann/reset', () => ({})],
  'a change of role': ['PATCH', () => '/operators/tom', () => ({ role: 'admin' })],
  'a new subject at the issuer': ['PATCH', () => '/operators/ann', () => ({ subject: 'my-other-account' })],
}

describe.each([
  ['tom', REQUESTS],
  ['amy', { ...REQUESTS, ...OF_ADMINS }],
] as const)('%s alone', (name, calls) => {
  it.each(Object.keys(calls))('an operator alone changes nothing with %s, and cannot confirm it', async (path) => {
    const [method, url, body] = (calls as typeof REQUESTS)[path] as Call
    const before = await state()
    const requested = await ask(name, method, url(), { ...body(), ...WHY })
    expect([requested.status, requested.body.request?.status]).toEqual([202, 'PENDING'])
    const { id } = requested.body.request
    const { version } = (await ask(name, 'GET', `/change-requests/${id}`)).body
    const own = await ask(name, 'POST', `/change-requests/${id}/confirm`, { version })
    expect([own.status, own.body.code]).toEqual([403, 'own_request'])
    expect(await state()).toEqual(before)
    expect((await ask(name, 'POST', `/change-requests/${id}/decline`)).status).toBe(200)
  })
})

describe('one person alone', () => {
  it('one person alone changes nothing with a call that the role does not include', async () => {
    const before = await state()
    for (const [method, path, body] of Object.values(OF_ADMINS)) {
      expect((await ask('tom', method, path(), { ...body(), ...WHY })).body.code).toBe('insufficient_role')
    }
    for (const path of ['/operators/setup-link', '/customers', '/address-pool']) {
      expect((await ask('tom', 'POST', path)).body.code).toBe('insufficient_role')
    }
    const sandbox = await node.send('POST', `/v2/sandbox/profiles/${profileId}/deposit`, { asset: 'USD', amount: '7' })
    expect(sandbox.status).toBeGreaterThanOrEqual(400)
    expect(await state()).toEqual(before)
  })

  it('one person alone cannot use a second token of the own name, nor one from the time before a second person was needed', async () => {
    require([])
    tokens.set('amy too', (await ask('amy', 'POST', '/operators/amy/tokens', { name: 'second' })).body.token)
    tokens.set('ann by amy', (await ask('amy', 'POST', '/operators/ann/tokens', { name: 'second' })).body.token)
    await ask('amy', 'POST', '/operators', { name: 'puppet', role: 'admin' })
    tokens.set('puppet', (await ask('amy', 'POST', '/operators/puppet/tokens', { name: 'own' })).body.token)
    require(ALL_KINDS)
    const before = await state()
    for (const [first, second] of [
      ['amy', 'amy too'],
      ['amy', 'ann by amy'],
      ['amy', 'puppet'],
      ['puppet', 'amy'],
      ['ann by amy', 'amy'],
    ] as const) {
      const { request } = (await ask(first, 'POST', '/deposits', { ...wire(), ...WHY })).body
      const { version } = (await ask(second, 'GET', `/change-requests/${request.id}`)).body
      const answer = await ask(second, 'POST', `/change-requests/${request.id}/confirm`, { version })
      expect([first, second, answer.body.code]).toEqual([first, second, 'own_request'])
    }
    expect(await state()).toEqual(before)
  })

  it("one person alone with a machine's token reports only for the sources and assets it is bound to", async () => {
    const before = await state()
    const { fiat: _, ...payment } = wire()
    const crypto = { network: 'ETHEREUM', address: ETHEREUM_ADDRESS, tx_hash: `0x${'7'.repeat(64)}`, tx_index: 0 }
    const outside = [wire('another'), { ...payment, asset: 'USDC', crypto }]
    for (const report of outside) {
      expect((await ask('machine', 'POST', '/deposits', report)).body.code).toBe('outside_binding')
    }
    const { body } = await ask('machine', 'POST', '/deposits', { deposits: outside })
    expect(body.results.map(({ problem }: { problem?: { code: string } }) => problem?.code)).toEqual(
      outside.map(() => 'outside_binding'),
    )
    for (const path of [`/deposits/${deposits.unattributed}/assign`, `/deposits/${deposits.held}/release`]) {
      expect((await ask('machine', 'POST', path, { profile_id: profileId })).body.code).toBe('insufficient_role')
    }
    expect(await state()).toEqual(before)
    expect((await ask('machine', 'POST', '/deposits', wire())).status).toBe(200)
  })
})

describe('whoever confirms a credential', () => {
  const valid = async (secret: string) => {
    const [, link] = secret.split('#setup=')
    if (link === undefined) return (await ask(secret, 'GET', '/session')).status === 200
    return (await ask('', 'POST', '/setup', { token: link })).body.code !== 'setup_link_invalid'
  }
  const issues: Readonly<Record<string, Call>> = {
    setup_link: ['POST', () => '/operators', () => ({ name: `new ${++reports}`.replace(' ', '-'), role: 'treasurer' })],
    token: ['POST', () => '/operators/custodian/tokens', () => ({ name: `new ${++reports}` })],
    'setup_link of another': ['POST', () => '/operators/tom/reset', () => ({})],
  }

  it.each(Object.keys(issues))(
    'whoever confirms a credential never sees the %s, and its requester cannot use it before',
    async (kind) => {
      const [method, path, body] = issues[kind] as Call
      const request = async () => (await ask('amy', method, path(), { ...body(), ...WHY })).body
      const declined = await request()
      const secretOf = (answer: Record<string, string>) => answer[kind.split(' ')[0] as string] as string
      await ask('ann', 'POST', `/change-requests/${declined.request.id}/decline`)
      const requested = await request()
      const { id } = requested.request
      expect(await valid(secretOf(requested))).toBe(false)
      const shown = await ask('ann', 'GET', `/change-requests/${id}`)
      const { version } = shown.body
      const confirmed = await ask('ann', 'POST', `/change-requests/${id}/confirm`, { version })
      expect(confirmed.status).toBe(200)
      const seen = [
        shown,
        confirmed,
        await ask('ann', 'GET', `/change-requests/${id}`),
        await ask('ann', 'GET', '/audit'),
      ]
      expect(JSON.stringify(seen)).not.toMatch(/tgo_|tgl_|#setup=/)
      expect([await valid(secretOf(requested)), await valid(secretOf(declined))]).toEqual([true, false])
    },
  )

  it('whoever confirms a credential does not get it by repeating the request, and nor does the requester', async () => {
    const name = `new ${++reports}`
    const request = (who: string) => ask(who, 'POST', '/operators/custodian/tokens', { name, ...WHY })
    expect((await request('amy')).body.token).toMatch(/^tgo_/)
    expect(Object.keys((await request('amy')).body)).toEqual(['request'])
    expect((await request('ann')).body.code).toBe('already_exists')
  })
})

/** Calls under four eyes about a record: path, body, and a change to the record. */
const OF_RECORDS: { readonly [Call in OperatorCallId]?: readonly [path: string, body: object, change: string] } = {}

/** Makes records of every kind, and their calls. */
async function makeRecords(): Promise<void> {
  const made = async (path: string, body: object) => (await node.operator('POST', path, body)).body
  const rule = (await customer.call('POST', RULES, ruleBody(profileId))).body.rule
  for (const name of ['small', 'spare']) await made('/plans', { name, depth_max: 10 })
  const { fiat: _, ...payment } = wire()
  const crypto = {
    network: 'ETHEREUM',
    address: rule.source.crypto.address,
    tx_hash: `0x${'8'.repeat(64)}`,
    tx_index: 0,
  }
  const { orchestration_id } = await made('/deposits', { ...payment, asset: 'USDC', crypto })
  const { id: depositId } = await made('/deposits', { ...wire(), amount: '778' })
  await made(`/deposits/${depositId}/assign`, { profile_id: profileId })
  await made(`/deposits/${depositId}/return`, { reason: 'unwanted', fiat: { fiat_account_id: 'x' } })
  const [delivery] = (await node.operator('GET', '/deliveries')).body.items
  const leg = { asset: 'USD', amount: '5', direction: 'IN' }
  const entry = await made('/ledger/entries', { kind: 'desk_funding', legs: [leg], reference: 'f', reason: 'capital' })
  const reason = 'a reason'
  const later = (table: string, id: string) =>
    `update ${table} set updated_at = updated_at + interval '1 second' where id = '${id}'`
  const deposit = (verb: string, body: object) =>
    [`/deposits/${deposits.completed}/${verb}`, body, later('deposits', deposits.completed)] as const
  const { body: destination } = await registerAddress(customer)
  await made('/operators', { name: 'mia', role: 'treasurer' })
  const ofMia = "update operators set created_at = created_at + interval '1 second' where name = 'mia'"
  const { customer_id } = (await node.operator('GET', `/accounts/${accountId}`)).body
  const screeningId = newId()
  await sql`
    insert into screenings (id, kind, movement_id, customer_id, profile_id, asset, amount, status, question_id, asked_at, created_at)
    values (${screeningId}, 'deposit', ${deposits.completed}, ${customer_id}, ${profileId}, 'USD', 1, 'HELD', ${newId()}, now(), now())
  `.execute(node.db.tables())
  Object.assign(OF_RECORDS, {
    'PUT /customers/:id/security-contacts': [
      `/customers/${customer_id}/security-contacts`,
      { security_contacts: ['security@acme.example'] },
      `update customers set streaming = not streaming where id = '${customer_id}'`,
    ],
    'PUT /limits': [
      '/limits',
      { customer_id, limits: [] },
      `insert into limit_overrides values ('${customer_id}', 'customer', 'USD', 'day', 1)`,
    ],
    'PATCH /customers/:id': [
      `/customers/${customer.customerId}`,
      { plan: 'small' },
      `update customers set name = name || ' renamed' where id = '${customer.customerId}'`,
    ],
    'PATCH /clients/:id': [
      `/clients/${customer.clientId}`,
      { plan: 'small' },
      `update clients set name = name || ' renamed' where id = '${customer.clientId}'`,
    ],
    'PATCH /plans/:name': [
      '/plans/small',
      { depth_max: 5 },
      `update plans set subscriptions_max = 7 where name = 'small'`,
    ],
    'DELETE /plans/:name': ['/plans/spare', {}, `update plans set subscriptions_max = 7 where name = 'spare'`],
    'PATCH /accounts/:id': [`/accounts/${accountId}`, { admin_disabled: false }, later('accounts', accountId)],
    'POST /rules/:id/approve': [`/rules/${rule.id}/approve`, {}, 'update rules set nickname = clock_timestamp()::text'],
    'POST /destinations/:id/approve': [
      `/destinations/${destination.id}/approve`,
      {},
      later('destinations', destination.id),
    ],
    'POST /screening/:id/decide': [
      `/screening/${screeningId}/decide`,
      { decision: 'ALLOW', note: 'known' },
      `update screenings set revision = revision + 1 where id = '${screeningId}'`,
    ],
    'POST /ledger/entries/:id/reverse': [
      `/ledger/entries/${entry.id}/reverse`,
      { reason },
      'update ledger_entries set reason = clock_timestamp()::text',
    ],
    'POST /deposits/:id/assign': deposit('assign', { profile_id: profileId }),
    'POST /deposits/:id/correct': deposit('correct', { amount: '5', reason }),
    'POST /deposits/:id/release': deposit('release', releaseOf({})),
    'POST /deposits/:id/reverse': deposit('reverse', { reason }),
    'POST /deposits/:id/return': deposit('return', { reason, fiat: { fiat_account_id: 'mine' } }),
    'POST /orchestrations/:id/retry': [
      `/orchestrations/${orchestration_id}/retry`,
      {},
      later('orchestrations', orchestration_id),
    ],
    'POST /orchestrations/:id/release': [
      `/orchestrations/${orchestration_id}/release`,
      releaseOf({}),
      later('orchestrations', orchestration_id),
    ],
    'PATCH /controls': [
      '/controls',
      { paused: { deliveries: true } },
      'update controls set updated_at = clock_timestamp()',
    ],
    'POST /deliveries/:id/settle': [
      `/deliveries/${delivery.id}/settle`,
      { reference: 'r', attempt: 1 },
      later('deliveries', delivery.id),
    ],
    'POST /deliveries/:id/fail': [
      `/deliveries/${delivery.id}/fail`,
      { reason, attempt: 1 },
      later('deliveries', delivery.id),
    ],
    'PATCH /operators/:name': ['/operators/mia', { role: 'viewer' }, ofMia],
    'POST /operators/:name/reset': ['/operators/mia/reset', {}, ofMia],
    'POST /operators/:name/tokens': ['/operators/mia/tokens', { name: 'own' }, ofMia],
  })
}

describe('a change to the record after the comparison of its version', () => {
  const CALLS = Object.entries(OPERATOR_CALLS).flatMap(([call, row]) =>
    'fourEyes' in row && recordCallOf(call as OperatorCallId) !== undefined ? [call as OperatorCallId] : [],
  )

  beforeAll(async () => {
    require([])
    await makeRecords()
    await meanwhile('null')
    await sql`
      create trigger interfere after update on change_requests for each row
      when (new.status = 'CONFIRMED' and old.status = 'PENDING') execute function interfere()
    `.execute(node.db.tables())
  })

  /** What happens between the confirmation and its call. */
  async function meanwhile(change: string): Promise<void> {
    const body = `begin ${change}; return new; end`
    await sql`create or replace function interfere() returns trigger language plpgsql as ${sql.lit(body)}`.execute(
      node.db.tables(),
    )
  }

  it.each(CALLS)('a change to the record after the comparison of its version leaves %s undone', async (call) => {
    const [path, body, change] = OF_RECORDS[call] as NonNullable<(typeof OF_RECORDS)[typeof call]>
    const confirmed = async () => {
      const { request } = (await ask('amy', call.split(' ')[0] as string, path, { ...body, ...WHY })).body
      const { version } = (await ask('ann', 'GET', `/change-requests/${request.id}`)).body
      const answer = await ask('ann', 'POST', `/change-requests/${request.id}/confirm`, { version })
      return [answer.body.code, (await ask('ann', 'GET', `/change-requests/${request.id}`)).body.status]
    }
    await meanwhile(change)
    expect(await confirmed()).toEqual(['record_changed', 'FAILED'])
    await meanwhile('null')
    expect((await confirmed())[0]).not.toBe('record_changed')
  })
})

describe('two people', () => {
  it('two people two people create money together, once the second one has seen it', async () => {
    require([])
    await node.operator('POST', '/operators', { name: 'tim', role: 'treasurer' })
    tokens.set('tim', (await node.operator('POST', '/operators/tim/tokens', { name: 'own' })).body.token)
    require(ALL_KINDS)
    const report = wire()
    const { request } = (await ask('tom', 'POST', '/deposits', { ...report, ...WHY })).body
    const seen = (await ask('tim', 'GET', `/change-requests/${request.id}`)).body
    expect(seen).toMatchObject({ ...WHY, body: report, requested_by: 'tom' })
    const confirmed = await ask('tim', 'POST', `/change-requests/${request.id}/confirm`, { version: seen.version })
    expect([confirmed.status, confirmed.body.amount]).toEqual([200, '777'])
  })
})
