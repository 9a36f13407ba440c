/**
 * What each role may do, call by call: an independent model in this file against the guard; and API tokens, which have the
 * highest role that theirs and their operator's include.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPERATOR_CALLS, OPERATOR_ROLES, type OperatorRole } from '../../../src/contract/operator-calls.ts'
import { type OperatorNode, openOperatorNode } from './operator-node.ts'

const REVIEWS = [
  'PATCH /accounts/:id',
  ...['approve', 'reject', 'delete'].map((action) => `POST /rules/:id/${action}`),
  ...['approve', 'reject'].map((action) => `POST /destinations/:id/${action}`),
  'POST /screening/:id/decide',
  'POST /accounts/:id/notes',
  'POST /rules/:id/notes',
]
const MONEY = [
  'POST /deposits',
  ...['assign', 'correct', 'hold', 'release', 'reject', 'reverse', 'return'].map(
    (action) => `POST /deposits/:id/${action}`,
  ),
  ...['retry', 'release', 'reject'].map((action) => `POST /orchestrations/:id/${action}`),
  'POST /deliveries/claim',
  'POST /deliveries/:id/claim',
  'POST /deliveries/:id/settle',
  'POST /deliveries/:id/fail',
  ...['POST /ledger/entries', 'POST /ledger/entries/:id/reverse'],
  ...['PATCH /controls', 'PUT /limits'],
]
/** About the own login; and decisions on requests, which need the role of the requested call besides. */
const OF_EVERY_ROLE = [
  ...['DELETE /session', 'POST /session/password', 'POST /session/authenticator'],
  ...['POST /change-requests/:id/confirm', 'POST /change-requests/:id/decline'],
]
const ADMIN_READS = ['GET /operators', 'GET /operators/:name']

const OF_MACHINES: { readonly [Role in OperatorRole]?: readonly string[] } = {
  deposit_reporter: ['GET /deposits', 'POST /deposits', 'GET /deposits/:id', 'GET /deposits/:id/trace', 'GET /session'],
  executor: [
    ...['GET /deliveries', 'GET /deliveries/:id', 'POST /deliveries/claim', 'POST /deliveries/:id/claim'],
    ...['POST /deliveries/:id/settle', 'POST /deliveries/:id/fail', 'GET /session'],
  ],
}

/** Whether a role may make a call, as the guide for operators says. */
function mayCall(role: OperatorRole, call: string): boolean {
  const ofMachine = OF_MACHINES[role]
  if (ofMachine !== undefined) return ofMachine.includes(call)
  if (role === 'admin' || OF_EVERY_ROLE.includes(call)) return true
  if (call.startsWith('GET ')) return !ADMIN_READS.includes(call)
  return (role === 'reviewer' && REVIEWS.includes(call)) || (role === 'treasurer' && MONEY.includes(call))
}

let node: OperatorNode
beforeAll(async () => {
  node = await openOperatorNode()
})
afterAll(() => node?.close())

let operators = 0

async function newOperator(role: OperatorRole): Promise<string> {
  const { status, body } = await node.ask('POST', '/operators', { name: `person-${++operators}`, role })
  expect(status).toBe(200)
  return body.name
}

async function newToken(operator: string, role?: OperatorRole) {
  const wanted = { name: `token ${++operators}`, ...(role === undefined ? {} : { role }) }
  const { status, body } = await node.ask('POST', `/operators/${operator}/tokens`, wanted)
  expect(status).toBe(200)
  return { id: body.id as string, role: body.role as string, headers: { authorization: `Bearer ${body.token}` } }
}

describe.each(OPERATOR_ROLES)('an operator with the role %s', (role) => {
  it('an operator may make exactly the calls of its role', async () => {
    const { headers } = await newToken(await newOperator(role))
    const refused = new Set<string>()
    const ask = async (call: string): Promise<void> => {
      const [method = '', path = ''] = call.split(' ')
      const { status, body } = await node.ask(method, path.replaceAll(/:\w+/g, 'x'), undefined, headers)
      if (status !== 403) return
      expect([call, body.code, body.meta.role]).toEqual([call, 'insufficient_role', role])
      refused.add(call)
    }
    await Promise.all(Object.keys(OPERATOR_CALLS).map(ask))
    const allowed = Object.keys(OPERATOR_CALLS).filter((call) => !refused.has(call))
    const expected = Object.keys(OPERATOR_CALLS).filter((call) => mayCall(role, call))
    expect(allowed).toEqual(expected)
    const { body } = await node.ask('GET', '/session', undefined, headers)
    expect([body.operator.role, body.allows]).toEqual([role, expected])
  })
})

describe('an API token', () => {
  it('an API token has the highest role that its own and its operator’s include, also when that changes later', async () => {
    const operator = await newOperator('admin')
    const own = await newToken(operator)
    const lower = await newToken(operator, 'reviewer')
    const roleOf = async ({ headers }: { headers: Record<string, string> }) =>
      (await node.ask('GET', '/session', undefined, headers)).body.operator?.role
    expect([own.role, lower.role]).toEqual(['admin', 'reviewer'])
    expect([await roleOf(own), await roleOf(lower)]).toEqual(['admin', 'reviewer'])
    await node.ask('PATCH', `/operators/${operator}`, { role: 'treasurer' })
    // Neither of treasurer and reviewer includes the other: the role of both is viewer.
    expect([await roleOf(own), await roleOf(lower)]).toEqual(['treasurer', 'viewer'])
    await node.ask('PATCH', `/operators/${operator}`, { role: 'viewer' })
    expect([await roleOf(own), await roleOf(lower)]).toEqual(['viewer', 'viewer'])
  })

  it('an API token issued for reviews moves no money after its operator became a treasurer', async () => {
    const operator = await newOperator('reviewer')
    const { headers } = await newToken(operator, 'reviewer')
    await node.ask('PATCH', `/operators/${operator}`, { role: 'treasurer' })
    const id = '018f0000-0000-7000-8000-000000000001'
    for (const [path, needed] of [
      [`/deliveries/${id}/settle`, 'treasurer'],
      [`/rules/${id}/approve`, 'reviewer'],
    ] as const) {
      const { status, body } = await node.ask('POST', path, {}, headers)
      expect([path, status, body.meta]).toEqual([path, 403, { role: 'viewer', needed }])
    }
    expect((await node.ask('GET', '/desk', undefined, headers)).status).toBe(200)
  })

  it('an API token cannot have a role that its operator has not', async () => {
    const operator = await newOperator('reviewer')
    const { status, body } = await node.ask('POST', `/operators/${operator}/tokens`, { name: 'x', role: 'treasurer' })
    expect([status, body.code, body.meta]).toEqual([409, 'invalid_state', { current: 'reviewer' }])
  })

  it('an API token ends when it is revoked, and while its operator is disabled', async () => {
    const operator = await newOperator('viewer')
    const { id, headers } = await newToken(operator)
    const statusNow = async () => (await node.ask('GET', '/desk', undefined, headers)).status
    expect(await statusNow()).toBe(200)
    await node.ask('PATCH', `/operators/${operator}`, { enabled: false })
    expect(await statusNow()).toBe(401)
    await node.ask('PATCH', `/operators/${operator}`, { enabled: true })
    expect(await statusNow()).toBe(200)
    await node.ask('DELETE', `/operators/${operator}/tokens/${id}`)
    expect(await statusNow()).toBe(401)
    expect(node.guesses.length).toBeGreaterThan(0)
  })

  it('an API token is shown once, with the time of its last use afterwards', async () => {
    const operator = await newOperator('viewer')
    const { headers, id } = await newToken(operator)
    const tokens = async () => (await node.ask('GET', `/operators/${operator}`)).body.tokens
    expect(await tokens()).toEqual([{ id, name: expect.any(String), role: 'viewer', created_at: expect.any(String) }])
    await node.ask('GET', '/desk', undefined, headers)
    const [used] = await tokens()
    expect(Date.parse(used.last_used_at)).toBe(node.clock.wallInstant().milliseconds)
    expect(JSON.stringify(await node.ask('GET', '/operators'))).not.toContain(headers.authorization.slice(7))
  })

  it('an API token has a name of its own, and each operator may have a limited number', async () => {
    const operator = await newOperator('viewer')
    const create = (name: string) => node.ask('POST', `/operators/${operator}/tokens`, { name })
    for (let count = 0; count < 10; count++) expect((await create(`${count}`)).status).toBe(200)
    const taken = await create('3')
    expect([taken.body.code, taken.body.meta.existing.name]).toEqual(['already_exists', '3'])
    expect((await create('one more')).body.code).toBe('invalid_state')
  })
})

describe('a machine', () => {
  it('a machine has no setup link, no reset and no subject, and its role never changes', async () => {
    const { status, body } = await node.ask('POST', '/operators', { name: 'payer', role: 'executor' })
    expect([status, body.setup_link]).toEqual([200, undefined])
    expect((await node.ask('POST', '/operators/payer/reset', {})).body.meta).toEqual({ current: 'executor' })
    for (const role of ['admin', 'deposit_reporter']) {
      expect((await node.ask('PATCH', '/operators/payer', { role })).body.meta).toEqual({ current: 'executor' })
    }
    const person = await newOperator('viewer')
    expect((await node.ask('PATCH', `/operators/${person}`, { role: 'executor' })).status).toBe(409)
  })

  it("the machine roles cannot be given to a person's token", async () => {
    const admin = await newOperator('admin')
    const asked = await node.ask('POST', `/operators/${admin}/tokens`, { name: 'x', role: 'deposit_reporter' })
    expect([asked.status, asked.body.meta]).toEqual([409, { current: 'admin' }])
  })

  it('a machine that executes payments has a token name that no other executor has', async () => {
    const [one, two] = [await newOperator('executor'), await newOperator('executor')]
    expect((await node.ask('POST', `/operators/${one}/tokens`, { name: 'bank-a' })).status).toBe(200)
    const taken = await node.ask('POST', `/operators/${two}/tokens`, { name: 'bank-a' })
    expect([taken.status, taken.body.code]).toEqual([409, 'already_exists'])
  })

  it('a machine may be bound to sources and assets, and a person may not', async () => {
    const [reporter, executor] = [await newOperator('deposit_reporter'), await newOperator('executor')]
    const bounds = { sources: ['custody'], assets: ['BTC', 'ETH'] }
    const made = await node.ask('POST', `/operators/${reporter}/tokens`, { name: 'bound', ...bounds })
    expect(made.body).toMatchObject(bounds)
    expect((await node.ask('GET', `/operators/${reporter}`)).body.tokens).toMatchObject([bounds])
    const person = await newOperator('treasurer')
    for (const [name, wanted] of [
      [executor, { sources: ['custody'] }],
      [person, { assets: ['BTC'] }],
      [reporter, { sources: [] }],
    ] as const) {
      expect((await node.ask('POST', `/operators/${name}/tokens`, { name: 'wrong', ...wanted })).status).toBe(400)
    }
  })
})

describe('a change by an operator', () => {
  it('a change by an operator has the name of the operator in the audit trail', async () => {
    const { headers } = await newToken(await newOperator('admin'))
    await node.ask('POST', '/operators', { name: 'made-by-another', role: 'viewer' }, headers)
    await node.ask('PATCH', '/operators/made-by-another', { role: 'reviewer' })
    const rows = await node.auditOf('made-by-another')
    expect(rows.map(({ actor, action }) => [actor, action])).toEqual([
      ['operator', 'operator.update'],
      [`operator:person-${operators - 1}`, 'operator.create'],
    ])
  })

  it('a change by an operator is refused for the operator itself, and for the built-in one', async () => {
    const operator = await newOperator('admin')
    const { headers } = await newToken(operator)
    const own = await node.ask('PATCH', `/operators/${operator}`, { role: 'viewer' }, headers)
    expect([own.status, own.body.code]).toEqual([409, 'invalid_state'])
    const builtIn = await node.ask('PATCH', '/operators/token', { enabled: false }, headers)
    expect([builtIn.status, builtIn.body.meta]).toEqual([409, { current: 'built_in' }])
    expect((await node.ask('POST', '/operators/token/tokens', { name: 'x' })).status).toBe(409)
    expect((await node.ask('GET', '/operators/token')).body).toMatchObject({ kind: 'built_in', role: 'admin' })
  })

  it('a change by an operator is refused for names that could be mistaken', async () => {
    for (const name of ['', 'Ada', 'a b', '-a', 'a:b', 'a'.repeat(65), 'ä']) {
      expect([name, (await node.ask('POST', '/operators', { name, role: 'viewer' })).status]).toEqual([name, 400])
    }
    expect((await node.ask('GET', '/operators/nobody')).status).toBe(404)
  })
})
