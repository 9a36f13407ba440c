/** Four eyes: what is recorded instead of carried out, who confirms it, and what a confirmation does. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { OperatorRole } from '../../src/contract/operator-calls.ts'
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
let records = 0
const headersOf = new Map<string, Record<string, string>>()

beforeAll(async () => {
  node = await openOperatorNode({
    fourEyes: () => fourEyes,
    onCall: (call, body, actor) => {
      done.push([call, body, actor])
      return answerWith
    },
  })
  const people = { ada: 'reviewer', grace: 'reviewer', tom: 'treasurer', vera: 'viewer' }
  for (const [name, role] of Object.entries(people)) await addPerson(name, role as OperatorRole)
})
afterAll(() => node?.close())
beforeEach(() => {
  fourEyes = ['approvals', 'settlements', 'controls']
  done.length = 0
  answerWith = { status: 200, body: { done: true } }
})

async function addPerson(name: string, role: OperatorRole): Promise<void> {
  await node.ask('POST', '/operators', { name, role })
  const { body } = await node.ask('POST', `/operators/${name}/tokens`, { name: 'test' })
  headersOf.set(name, { authorization: `Bearer ${body.token}` })
}

const ask = (name: string, method: string, path: string, body?: object) =>
  node.ask(method, path, body, headersOf.get(name) as Record<string, string>)
const newId = () => `018f0000-0000-7000-8000-${String(++records).padStart(12, '0')}`
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

async function request(name: string, path = `/rules/${newId()}/approve`) {
  const { status, body } = await ask(name, 'POST', path, {})
  expect(status).toBe(202)
  return body.request
}

describe('a call under four eyes', () => {
  it('is recorded, and carried out in the name of the second operator who confirms it', async () => {
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
    expect(done).toEqual([])
    const own = await ask('ada', 'POST', `/change-requests/${recorded.id}/confirm`, {})
    expect(codeOf(own)).toEqual([403, 'own_request'])
    const answer = await ask('grace', 'POST', `/change-requests/${recorded.id}/confirm`, {})
    expect([answer.status, answer.body]).toEqual([200, { done: true }])
    expect(done).toEqual([['POST /rules/:id/approve', {}, 'operator:grace']])
    const shown = await ask('vera', 'GET', `/change-requests/${recorded.id}`)
    expect(shown.body).toMatchObject({ status: 'CONFIRMED', decided_by: 'grace' })
    const rows = await node.auditOf(id)
    expect(rows.map(({ actor, action }) => [actor, action])).toEqual([
      ['operator:grace', 'change_request.confirm'],
      ['operator:ada', 'change_request.create'],
    ])
    const again = await ask('grace', 'POST', `/change-requests/${recorded.id}/confirm`, {})
    expect([...codeOf(again), again.body.meta]).toEqual([409, 'invalid_state', { current: 'CONFIRMED' }])
    expect(done).toHaveLength(1)
  })

  it('needs the role of the call, from both', async () => {
    expect(codeOf(await ask('tom', 'POST', `/rules/${newId()}/approve`, {}))).toEqual([403, 'insufficient_role'])
    const recorded = await request('ada')
    for (const step of ['confirm', 'decline']) {
      const answer = await ask('tom', 'POST', `/change-requests/${recorded.id}/${step}`, {})
      expect(codeOf(answer)).toEqual([403, 'insufficient_role'])
    }
    expect(done).toEqual([])
  })

  it('is one request however often it is repeated, and another one has to wait', async () => {
    const path = `/deliveries/${newId()}/settle`
    const first = await ask('tom', 'POST', path, { reference: 'a', attempt: 1 })
    const second = await ask('tom', 'POST', path, { reference: 'a', attempt: 1 })
    expect(second.body.request.id).toBe(first.body.request.id)
    const other = await ask('tom', 'POST', path, { reference: 'b', attempt: 1 })
    expect([...codeOf(other), other.body.meta.existing.id]).toEqual([409, 'already_exists', first.body.request.id])
    const confirmed = await node.ask('POST', `/change-requests/${first.body.request.id}/confirm`, {})
    expect(confirmed.status).toBe(200)
    expect(done).toEqual([['POST /deliveries/:id/settle', { reference: 'a', attempt: 1 }, 'operator']])
  })

  it('can be declined by a second operator, and withdrawn by the first', async () => {
    for (const name of ['ada', 'grace']) {
      const { id } = await request('ada')
      const declined = await ask(name, 'POST', `/change-requests/${id}/decline`, {})
      expect(declined.body).toMatchObject({ status: 'DECLINED', decided_by: name })
      expect((await ask(name, 'POST', `/change-requests/${id}/decline`, {})).status).toBe(200)
      expect(codeOf(await ask('grace', 'POST', `/change-requests/${id}/confirm`, {}))).toEqual([409, 'invalid_state'])
    }
    expect(done).toEqual([])
  })

  it('expires after a day, and can be requested again then', async () => {
    const path = `/rules/${newId()}/approve`
    const { id, subject } = await request('ada', path)
    const listed = async (status: string) =>
      (await ask('vera', 'GET', `/change-requests?status=${status}&subject=${subject}`)).body.items
    expect(await listed('PENDING')).toHaveLength(1)
    node.clock.advance(24 * 3_600_000)
    expect([await listed('PENDING'), await listed('EXPIRED')]).toMatchObject([[], [{ id, status: 'EXPIRED' }]])
    const late = await ask('grace', 'POST', `/change-requests/${id}/confirm`, {})
    expect([...codeOf(late), late.body.meta]).toEqual([409, 'invalid_state', { current: 'EXPIRED' }])
    expect((await request('ada', path)).id).not.toBe(id)
  })

  it('that is refused when it is carried out has failed, with the reason', async () => {
    const { id } = await request('ada')
    answerWith = { status: 409, body: { code: 'invalid_state', detail: 'the rule is DELETED' } }
    const answer = await ask('grace', 'POST', `/change-requests/${id}/confirm`, {})
    expect(codeOf(answer)).toEqual([409, 'invalid_state'])
    expect((await ask('vera', 'GET', `/change-requests/${id}`)).body).toMatchObject({
      status: 'FAILED',
      detail: 'the rule is DELETED',
    })
  })

  it('can be confirmed again when it is not known to have been carried out', async () => {
    const { id } = await request('ada')
    answerWith = { status: 503, body: { code: 'unavailable', detail: 'the store cannot be reached' } }
    expect((await ask('grace', 'POST', `/change-requests/${id}/confirm`, {})).status).toBe(503)
    answerWith = { status: 200, body: {} }
    expect((await ask('ada', 'POST', `/change-requests/${id}/confirm`, {})).status).toBe(403)
    expect((await ask('grace', 'POST', `/change-requests/${id}/confirm`, {})).status).toBe(200)
    expect(done).toHaveLength(2)
  })

  it('cannot be confirmed again after 24 hours, although it is not known to have been carried out', async () => {
    const { id } = await request('ada')
    answerWith = { status: 503, body: { code: 'unavailable', detail: 'the store cannot be reached' } }
    await ask('grace', 'POST', `/change-requests/${id}/confirm`, {})
    answerWith = { status: 200, body: {} }
    node.clock.advance(24 * 3_600_000)
    const { status, body } = await ask('grace', 'POST', `/change-requests/${id}/confirm`, {})
    expect([status, body.code, body.meta]).toEqual([409, 'invalid_state', { current: 'CONFIRMED' }])
    expect(done).toHaveLength(1)
  })

  it.each(['before', 'after'])(
    'has not failed when it was carried out %s a confirmation at the same moment was refused',
    async (order) => {
      const { id } = await request('ada')
      const answers: ((answer: Answer) => void)[] = []
      const confirmed: ReturnType<typeof ask>[] = []
      for (const each of [1, 2]) {
        answerWith = new Promise((resolve) => answers.push(resolve))
        confirmed.push(ask('grace', 'POST', `/change-requests/${id}/confirm`, {}))
        await expect.poll(() => done.length).toBe(each)
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

  it('is carried out at once when its kind is not in the setting', async () => {
    fourEyes = ['controls']
    expect((await ask('ada', 'POST', `/rules/${newId()}/approve`, {})).status).toBe(200)
    expect((await ask('tom', 'PATCH', '/controls', { paused: { deliveries: true } })).body.request).toMatchObject({
      kind: 'controls',
      subject: 'controls',
      body: { paused: { deliveries: true } },
    })
    expect((await ask('ada', 'GET', '/session')).body.four_eyes).toEqual(['controls'])
  })

  it('that creates a record waits once for each record, whatever else is being created', async () => {
    fourEyes = ['deposits', 'operators']
    const report = (external_id: string) => ask('tom', 'POST', '/deposits', { source: 'custody', external_id })
    const [first, again, other] = [await report('a'), await report('a'), await report('b')]
    expect([first.status, first.body.request.subject, first.body.request.kind]).toEqual([202, 'a', 'deposits'])
    expect(again.body.request.id).toBe(first.body.request.id)
    expect(other.body.request.id).not.toBe(first.body.request.id)
    const batches = [['a'], ['b'], ['a']].map((deposits) => ask('tom', 'POST', '/deposits', { deposits }))
    const ids = (await Promise.all(batches)).map(({ body }) => body.request.id)
    expect(new Set(ids).size).toBe(2)
    const created = await node.ask('POST', '/operators', { name: 'new', role: 'viewer' })
    expect([created.status, created.body.request.subject]).toEqual([202, 'new'])
    const token = await node.ask('POST', '/operators/ada/tokens', { name: 'another' })
    expect([token.status, token.body.request.subject]).toEqual([202, 'ada'])
    expect(done).toEqual([])
  })

  it('cannot be made to look confirmed', async () => {
    const { authorization = '' } = headersOf.get('ada') ?? {}
    const forged = { authorization, 'tidegate-confirmation': 'x'.repeat(43) }
    const answer = await node.ask('POST', `/rules/${newId()}/approve`, {}, forged)
    expect([answer.status, done]).toEqual([202, []])
    const without = await node.ask('POST', `/rules/${newId()}/approve`, {}, { 'tidegate-confirmation': 'x' })
    expect(without.status).toBe(401)
  })
})
