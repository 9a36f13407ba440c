/** Four eyes: what is recorded instead of carried out, who confirms it, and what a confirmation does. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { OperatorRole } from '../../../src/contract/operator-calls.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { type OperatorNode, openOperatorNode } from './operator-node.ts'

interface Answer {
  readonly status: number
  readonly body: object
}

let node: OperatorNode
let fourEyes: string[] = []
/** The calls that reached their routes: call, body, actor. */
const done: [string, unknown, string][] = []
let answerWith: Answer | Promise<Answer> = { status: 200, body: { done: true } }
/** What every call for one record answers. */
let record: object = { status: 'PENDING' }
let records = 0
const headersOf = new Map<string, Record<string, string>>()

beforeAll(async () => {
  node = await openOperatorNode({
    fourEyes: () => fourEyes,
    onCall: (call, body, actor) => {
      done.push([call, body, actor])
      return call.startsWith('GET ') ? { status: 200, body: record } : answerWith
    },
  })
  const people = { ada: 'reviewer', grace: 'reviewer', tom: 'treasurer', tim: 'treasurer', vera: 'viewer' }
  for (const [name, role] of Object.entries(people)) await addPerson(name, role as OperatorRole)
})
afterAll(() => node?.close())
beforeEach(() => {
  fourEyes = ['approvals', 'settlements', 'controls']
  done.length = 0
  answerWith = { status: 200, body: { done: true } }
})

/** @param by absent: the holder of the single token */
async function addPerson(name: string, role: OperatorRole, by?: string): Promise<void> {
  const headers = by === undefined ? undefined : headersOf.get(by)
  await node.ask('POST', '/operators', { name, role }, headers)
  const { body } = await node.ask('POST', `/operators/${name}/tokens`, { name: 'test' }, headers)
  headersOf.set(name, { authorization: `Bearer ${body.token}` })
}

/** Without the calls that read. */
const writes = () => done.filter(([call]) => !call.startsWith('GET '))
const ask = (name: string, method: string, path: string, body?: object) =>
  node.ask(method, path, body, headersOf.get(name) as Record<string, string>)
const WHY = { comment: 'payee checked by phone' }
const newId = () => `018f0000-0000-7000-8000-${String(++records).padStart(12, '0')}`
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

async function request(name: string, path = `/rules/${newId()}/approve`) {
  const { status, body } = await ask(name, 'POST', path, WHY)
  expect(status).toBe(202)
  return body.request
}

/** Confirms what the operator has just read. */
async function confirm(name: string, id: string) {
  const { body } = await ask(name, 'GET', `/change-requests/${id}`)
  return await ask(name, 'POST', `/change-requests/${id}/confirm`, { version: body.version ?? 'none' })
}

describe('a call under four eyes', () => {
  it('a call under four eyes is recorded, and carried out in the name of the second operator who confirms it', async () => {
    const id = newId()
    const recorded = await request('ada', `/rules/${id}/approve`)
    expect(recorded).toMatchObject({
      kind: 'approvals',
      call: 'POST /rules/:id/approve',
      summary: 'Approve a rule',
      subject: id,
      status: 'PENDING',
      requested_by: 'ada',
    })
    expect(writes()).toEqual([])
    const own = await confirm('ada', recorded.id)
    expect(codeOf(own)).toEqual([403, 'own_request'])
    const answer = await confirm('grace', recorded.id)
    expect([answer.status, answer.body]).toEqual([200, { done: true }])
    expect(writes()).toEqual([['POST /rules/:id/approve', {}, 'operator:grace']])
    const shown = await ask('vera', 'GET', `/change-requests/${recorded.id}`)
    expect(shown.body).toMatchObject({ status: 'CONFIRMED', decided_by: 'grace' })
    const rows = await node.auditOf(id)
    expect(rows.map(({ actor, action }) => [actor, action])).toEqual([
      ['operator:grace', 'change_request.confirm'],
      ['operator:ada', 'change_request.create'],
    ])
    const again = await confirm('grace', recorded.id)
    expect([...codeOf(again), again.body.meta]).toEqual([409, 'invalid_state', { current: 'CONFIRMED' }])
    expect(writes()).toHaveLength(1)
  })

  it('a call under four eyes needs the role of the call, from both', async () => {
    expect(codeOf(await ask('tom', 'POST', `/rules/${newId()}/approve`, WHY))).toEqual([403, 'insufficient_role'])
    const recorded = await request('ada')
    for (const step of ['confirm', 'decline']) {
      const answer = await ask(
        'tom',
        'POST',
        `/change-requests/${recorded.id}/${step}`,
        step === 'confirm' ? { version: 'x' } : {},
      )
      expect(codeOf(answer)).toEqual([403, 'insufficient_role'])
    }
    expect(writes()).toEqual([])
  })

  it('a call under four eyes is one request however often it is repeated, and another one has to wait', async () => {
    const path = `/deliveries/${newId()}/settle`
    const first = await ask('tom', 'POST', path, { reference: 'a', attempt: 1, ...WHY })
    const second = await ask('tom', 'POST', path, { reference: 'a', attempt: 1, ...WHY })
    expect(second.body.request.id).toBe(first.body.request.id)
    const other = await ask('tom', 'POST', path, { reference: 'b', attempt: 1, ...WHY })
    expect([...codeOf(other), other.body.meta.existing.id]).toEqual([409, 'already_exists', first.body.request.id])
    expect((await confirm('tim', first.body.request.id)).status).toBe(200)
    expect(writes()).toEqual([['POST /deliveries/:id/settle', { reference: 'a', attempt: 1 }, 'operator:tim']])
  })

  it('a call under four eyes can be declined by a second operator, and withdrawn by the first', async () => {
    for (const name of ['ada', 'grace']) {
      const { id } = await request('ada')
      const declined = await ask(name, 'POST', `/change-requests/${id}/decline`, {})
      expect(declined.body).toMatchObject({ status: 'DECLINED', decided_by: name })
      expect((await ask(name, 'POST', `/change-requests/${id}/decline`, {})).status).toBe(200)
      expect(codeOf(await confirm('grace', id))).toEqual([409, 'invalid_state'])
    }
    expect(writes()).toEqual([])
  })

  it('a call under four eyes expires after a day, and can be requested again then', async () => {
    const path = `/rules/${newId()}/approve`
    const { id, subject } = await request('ada', path)
    const listed = async (status: string) =>
      (await ask('vera', 'GET', `/change-requests?status=${status}&subject=${subject}`)).body.items
    expect(await listed('PENDING')).toHaveLength(1)
    node.clock.advance(24 * 3_600_000)
    expect([await listed('PENDING'), await listed('EXPIRED')]).toMatchObject([[], [{ id, status: 'EXPIRED' }]])
    const late = await confirm('grace', id)
    expect([...codeOf(late), late.body.meta]).toEqual([409, 'invalid_state', { current: 'EXPIRED' }])
    expect((await request('ada', path)).id).not.toBe(id)
  })

  it('a call under four eyes that is refused when it is carried out has failed, with the reason', async () => {
    const { id } = await request('ada')
    answerWith = { status: 409, body: { code: 'invalid_state', detail: 'the rule is DELETED' } }
    const answer = await confirm('grace', id)
    expect(codeOf(answer)).toEqual([409, 'invalid_state'])
    expect((await ask('vera', 'GET', `/change-requests/${id}`)).body).toMatchObject({
      status: 'FAILED',
      detail: 'the rule is DELETED',
    })
  })

  it('a call under four eyes can be confirmed again when it is not known to have been carried out', async () => {
    const { id } = await request('ada')
    answerWith = { status: 503, body: { code: 'unavailable', detail: 'the store cannot be reached' } }
    expect((await confirm('grace', id)).status).toBe(503)
    answerWith = { status: 200, body: {} }
    expect((await confirm('ada', id)).status).toBe(403)
    expect((await confirm('grace', id)).status).toBe(200)
    expect(writes()).toHaveLength(2)
  })

  it('a call under four eyes cannot be confirmed again after 24 hours, although it is not known to have been carried out', async () => {
    const { id } = await request('ada')
    answerWith = { status: 503, body: { code: 'unavailable', detail: 'the store cannot be reached' } }
    await confirm('grace', id)
    answerWith = { status: 200, body: {} }
    node.clock.advance(24 * 3_600_000)
    const { status, body } = await confirm('grace', id)
    expect([status, body.code, body.meta]).toEqual([409, 'invalid_state', { current: 'CONFIRMED' }])
    expect(writes()).toHaveLength(1)
  })

  it.each(['before', 'after'])(
    'a call under four eyes has not failed when it was carried out %s a confirmation at the same moment was refused',
    async (order) => {
      const { id } = await request('ada')
      const answers: ((answer: Answer) => void)[] = []
      const confirmed: ReturnType<typeof ask>[] = []
      for (const each of [1, 2]) {
        answerWith = new Promise((resolve) => answers.push(resolve))
        confirmed.push(confirm('grace', id))
        await expect.poll(() => writes().length).toBe(each)
      }
      const results: Answer[] = [
        { status: 200, body: {} },
        { status: 409, body: { code: 'invalid_state', detail: 'the rule is APPROVED' } },
      ]
      for (const index of order === 'before' ? [0, 1] : [1, 0]) {
        answers[index]?.(results[index] as Answer)
        await confirmed[index]
      }
      const { body } = await ask('vera', 'GET', `/change-requests/${id}`)
      expect([body.status, body.detail]).toEqual(['CONFIRMED', undefined])
    },
  )

  it('a call under four eyes is carried out at once when its kind is not in the setting', async () => {
    fourEyes = ['controls']
    expect((await ask('ada', 'POST', `/rules/${newId()}/approve`, {})).status).toBe(200)
    expect(
      (await ask('tom', 'PATCH', '/controls', { paused: { deliveries: true }, ...WHY })).body.request,
    ).toMatchObject({
      kind: 'controls',
      subject: 'controls',
      body: { paused: { deliveries: true } },
    })
    expect((await ask('ada', 'GET', '/session')).body.four_eyes).toEqual(['controls'])
  })

  it('a change of a customer or client is under four eyes when it sets the plan, and only then', async () => {
    await addPerson('amy', 'admin')
    for (const path of [`/customers/${newId()}`, `/clients/${newId()}`]) {
      expect((await ask('amy', 'PATCH', path, { enabled: false })).status).toBe(200)
      const { status, body } = await ask('amy', 'PATCH', path, { plan: 'basic', enabled: true, ...WHY })
      expect([status, body.request.kind, body.request.body]).toEqual([
        202,
        'controls',
        { plan: 'basic', enabled: true },
      ])
      expect((await ask('amy', 'PATCH', path, { plan: 'basic' })).body.errors[0].pointer).toBe('/comment')
    }
    expect(writes().map(([, body]) => body)).toEqual([{ enabled: false }, { enabled: false }])
  })

  it('a call under four eyes that creates a record waits once for each record, whatever else is being created', async () => {
    fourEyes = ['deposits', 'operators']
    const report = (external_id: string) => ask('tom', 'POST', '/deposits', { source: 'custody', external_id, ...WHY })
    const [first, again, other] = [await report('a'), await report('a'), await report('b')]
    expect([first.status, first.body.request.subject, first.body.request.kind]).toEqual([202, 'a', 'deposits'])
    expect(again.body.request.id).toBe(first.body.request.id)
    expect(other.body.request.id).not.toBe(first.body.request.id)
    const batches = [['a'], ['b'], ['a']].map((deposits) => ask('tom', 'POST', '/deposits', { deposits, ...WHY }))
    const ids = (await Promise.all(batches)).map(({ body }) => body.request.id)
    expect(new Set(ids).size).toBe(2)
    const created = await node.ask('POST', '/operators', { name: 'new', role: 'viewer', ...WHY })
    expect([created.status, created.body.request.subject]).toEqual([202, 'new'])
    const token = await node.ask('POST', '/operators/ada/tokens', { name: 'another', ...WHY })
    expect([token.status, token.body.request.subject]).toEqual([202, 'ada'])
    expect(writes()).toEqual([])
  })

  it('a call under four eyes cannot be made to look confirmed', async () => {
    const { authorization = '' } = headersOf.get('ada') ?? {}
    const forged = { authorization, 'tidegate-confirmation': 'x'.repeat(43) }
    const answer = await node.ask('POST', `/rules/${newId()}/approve`, WHY, forged)
    expect([answer.status, writes()]).toEqual([202, []])
    const without = await node.ask('POST', `/rules/${newId()}/approve`, {}, { 'tidegate-confirmation': 'x' })
    expect(without.status).toBe(401)
  })
})

describe('a request', () => {
  beforeEach(() => {
    fourEyes = ['approvals', 'operators']
    record = { status: 'PENDING', destination: { crypto: { address: 'A', network: 'ETHEREUM' } } }
  })

  it('a request needs a comment of 1 to 1,000 characters, and a call at once takes none', async () => {
    const path = `/rules/${newId()}/approve`
    for (const comment of [undefined, '', '  ', 7, 'x'.repeat(1_001)]) {
      const { status, body } = await ask('ada', 'POST', path, { comment })
      expect([status, body.errors?.[0].pointer]).toEqual([400, '/comment'])
    }
    const longest = '\u{1F30A}'.repeat(1_000)
    expect((await ask('ada', 'POST', path, { comment: longest })).body.request.comment).toBe(longest)
  })

  it('a request shows the record as the first operator saw it, what has changed since, and the comment', async () => {
    const { id } = await request('ada')
    record = { status: 'PENDING', destination: { crypto: { address: 'B', network: 'ETHEREUM' } }, ref_id: 'r' }
    const { body } = await ask('grace', 'GET', `/change-requests/${id}`)
    expect(body).toMatchObject({
      ...WHY,
      record: { destination: { crypto: { address: 'A' } } },
      changes: [
        { field: 'destination.crypto.address', before: 'A', now: 'B' },
        { field: 'ref_id', now: 'r' },
      ],
    })
  })

  it('a request is confirmed only with the version of the record that was seen', async () => {
    const { id } = await request('ada')
    const { version } = (await ask('grace', 'GET', `/change-requests/${id}`)).body
    record = { status: 'PENDING', destination: { crypto: { address: 'B', network: 'ETHEREUM' } } }
    const late = await ask('grace', 'POST', `/change-requests/${id}/confirm`, { version })
    expect([...codeOf(late), writes()]).toEqual([409, 'record_changed', []])
    expect((await ask('grace', 'POST', `/change-requests/${id}/confirm`, {})).status).toBe(400)
    expect((await confirm('grace', id)).status).toBe(200)
  })

  it('a request shows its record to the roles that may confirm it, and to no other', async () => {
    const { id } = await request('ada')
    for (const [name, isShown] of [
      ['grace', true],
      ['vera', false],
      ['tom', false],
    ] as const) {
      const { body } = await ask(name, 'GET', `/change-requests/${id}`)
      expect([name, 'record' in body, 'version' in body]).toEqual([name, isShown, isShown])
    }
  })

  it('a request is not recorded for a record that does not exist', async () => {
    const answer = await node.ask('POST', '/operators/nobody/reset', WHY)
    expect(codeOf(answer)).toEqual([404, 'not_found'])
  })

  it('a request is shown by the record that it is about, while it waits', async () => {
    const { id, subject } = await request('ada')
    const shown = async () => (await ask('vera', 'GET', `/rules/${subject}`)).body.pending_requests
    expect(await shown()).toMatchObject([{ id, requested_by: 'ada', summary: 'Approve a rule', ...WHY }])
    await ask('grace', 'POST', `/change-requests/${id}/decline`, {})
    expect(await shown()).toBeUndefined()
  })

  it('a request for a call that only another release has is listed and shown, and is decided on there alone', async () => {
    const { id, subject } = await request('ada')
    const call = 'POST /rules/:id/postpone'
    await sql`update change_requests set call = ${call} where id = ${id}`.execute(node.db.tables())
    const shown = { id, call, summary: call, status: 'PENDING' }
    const listed = await ask('grace', 'GET', `/change-requests?subject=${subject}`)
    expect([listed.status, listed.body.items]).toEqual([200, [expect.objectContaining(shown)]])
    const one = await ask('grace', 'GET', `/change-requests/${id}`)
    expect([one.status, one.body]).toEqual([200, expect.objectContaining(shown)])
    const { body } = await ask('vera', 'GET', `/rules/${subject}`)
    expect(body.pending_requests).toMatchObject([{ id, summary: call }])
    for (const [step, sent] of [
      ['confirm', { version: 'none' }],
      ['decline', {}],
    ] as const) {
      const answer = await ask('grace', 'POST', `/change-requests/${id}/${step}`, sent)
      expect([...codeOf(answer), answer.body.meta]).toEqual([409, 'invalid_state', { current: 'unknown_call' }])
    }
    expect(writes()).toEqual([])
  })

  it.each([
    ['disabled', { enabled: false }, /disabled/],
    ['given another role', { role: 'treasurer' }, /role/],
  ])('a request is not confirmed after its operator was %s, and can be declined', async (_change, change, reason) => {
    fourEyes = []
    await node.ask('PATCH', '/operators/ada', { enabled: true, role: 'reviewer' })
    fourEyes = ['approvals']
    const { id } = await request('ada')
    await node.ask('PATCH', '/operators/ada', change)
    const answer = await confirm('grace', id)
    expect([...codeOf(answer), answer.body.meta]).toEqual([
      ...[409, 'invalid_state', { current: 'requester_without_access' }],
    ])
    expect(answer.body.detail).toMatch(reason)
    expect(writes()).toEqual([])
    expect((await ask('grace', 'POST', `/change-requests/${id}/decline`, {})).body.status).toBe('DECLINED')
    await node.ask('PATCH', '/operators/ada', { enabled: true, role: 'reviewer' })
  })

  it('a request is not confirmed after the API token that made it was revoked, unlike one by another token', async () => {
    fourEyes = []
    const { body: token } = await node.ask('POST', '/operators/ada/tokens', { name: 'stolen' })
    headersOf.set('thief', { authorization: `Bearer ${token.token}` })
    fourEyes = ['approvals']
    const [stolen, own] = [await request('thief'), await request('ada')]
    await node.ask('DELETE', `/operators/ada/tokens/${token.id}`)
    const answer = await confirm('grace', stolen.id)
    expect([...codeOf(answer), answer.body.meta]).toEqual([
      ...[409, 'invalid_state', { current: 'requester_without_access' }],
    ])
    expect(answer.body.detail).toMatch(/token/)
    expect(writes()).toEqual([])
    expect((await confirm('grace', own.id)).status).toBe(200)
  })

  it('a request to disable an operator needs no second person: whoever finds a stolen login ends it alone', async () => {
    fourEyes = []
    await addPerson('stolen', 'viewer')
    fourEyes = ['operators']
    expect((await node.ask('PATCH', '/operators/stolen', { enabled: false })).body.enabled).toBe(false)
    expect((await node.ask('PATCH', '/operators/stolen', { enabled: true, ...WHY })).status).toBe(202)
    expect((await node.ask('PATCH', '/operators/stolen', { enabled: false, role: 'admin', ...WHY })).status).not.toBe(
      200,
    )
  })
})

describe('whoever issued credentials', () => {
  const refused = async (requester: string, confirmer: string, path?: string) => {
    fourEyes = ['approvals', 'settlements']
    const { id } = await request(requester, path)
    expect([requester, confirmer, ...codeOf(await confirm(confirmer, id))]).toEqual([
      ...[requester, confirmer, 403, 'own_request'],
    ])
    await ask(requester, 'POST', `/change-requests/${id}/decline`, {})
  }

  it('an operator cannot confirm through credentials that the operator issued, nor through ones issued with those', async () => {
    fourEyes = []
    await addPerson('root', 'admin')
    await addPerson('made', 'admin', 'root')
    await addPerson('last', 'admin', 'made')
    for (const [first, second] of [
      ['root', 'made'],
      ['root', 'last'],
      ['made', 'last'],
    ] as const) {
      await refused(first, second)
      await refused(second, first)
    }
    fourEyes = ['approvals']
    expect((await confirm('grace', (await request('last')).id)).status).toBe(200)
  })

  it('an operator cannot confirm with a token that the operator made for another operator', async () => {
    fourEyes = []
    await addPerson('maker', 'admin')
    const { body } = await ask('maker', 'POST', '/operators/grace/tokens', { name: 'stealthy' })
    headersOf.set('grace by maker', { authorization: `Bearer ${body.token}` })
    await refused('maker', 'grace by maker')
    await refused('grace by maker', 'maker')
    fourEyes = ['approvals']
    expect((await confirm('grace', (await request('maker')).id)).status).toBe(200)
  })

  it('credentials are bound to both operators: the one who requested them and the one who confirmed', async () => {
    fourEyes = []
    await addPerson('chief', 'admin')
    await addPerson('deputy', 'admin')
    fourEyes = ['operators']
    const wanted = await ask('chief', 'POST', '/operators/tim/tokens', { name: 'four hands', ...WHY })
    const made = await confirm('deputy', wanted.body.request.id)
    expect(made.status).toBe(200)
    headersOf.set('tim by two', { authorization: `Bearer ${wanted.body.token}` })
    for (const name of ['chief', 'deputy']) await refused(name, 'tim by two', `/deliveries/${newId()}/settle`)
  })

  it('the holder of the single token counts as its issuer and confirms nothing', async () => {
    fourEyes = ['approvals']
    const own = (await node.ask('POST', `/rules/${newId()}/approve`, WHY)).body.request
    expect(codeOf(await confirm('grace', own.id))).toEqual([403, 'own_request'])
    const { id } = await request('ada')
    const { version } = (await ask('grace', 'GET', `/change-requests/${id}`)).body
    const answer = await node.ask('POST', `/change-requests/${id}/confirm`, { version })
    expect(codeOf(answer)).toEqual([403, 'own_request'])
  })
})
