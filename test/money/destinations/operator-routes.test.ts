/** The operator's calls for destinations: lists, full numbers, approvals and the second person for an earlier time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { FIAT_ACCOUNTS, fiatBody, registerAddress } from '../../support/destinations.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'

let node: RestNode
let customer: RestCustomer
const tokens = new Map<string, string>()
beforeAll(async () => {
  node = await RestNode.open({ flags: { 'destinations.cooling_hours': '24' } })
  customer = await node.newCustomer()
  const people = { vera: 'viewer', ada: 'reviewer', grace: 'reviewer', tom: 'treasurer', ann: 'admin' }
  for (const [name, role] of Object.entries(people)) {
    await node.operator('POST', '/operators', { name, role })
    tokens.set(name, (await node.operator('POST', `/operators/${name}/tokens`, { name: 'test' })).body.token)
  }
})
afterAll(() => node?.close())

async function ask(name: string, method: string, path: string, body?: object) {
  const response = await fetch(`${node.operatorUrl}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${tokens.get(name)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
  return { status: response.status, body: (await response.json()) as any }
}

const audited = async (id: string) =>
  (await node.operator('GET', `/audit?subject=${id}&order=ASC`)).body.items.map(
    ({ action, actor }: { action: string; actor: string }) => [action, actor],
  )

describe('destinations for the operator', () => {
  it('the list has all customers’ destinations of both kinds, with masked numbers, and is filtered', async () => {
    const { body: address } = await registerAddress(customer)
    const { body: fiat } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody())
    const { items } = (await node.operator('GET', `/destinations?customer_id=${customer.customerId}`)).body
    expect(items).toEqual([
      { ...fiat, kind: 'FIAT' },
      { ...address, kind: 'CRYPTO', unverified: false },
    ])
    expect((await node.operator('GET', '/destinations?kind=FIAT&limit=1')).body.items).toEqual([items[0]])
    expect((await node.operator('GET', '/destinations?unverified=true')).body.items).toEqual([])
    expect((await node.operator('GET', '/destinations?status=REJECTED')).body.items).toEqual([])
    expect((await node.operator('GET', '/destinations?status=OTHER')).status).toBe(400)
  })

  it('an account’s numbers are shown in full to roles that approve or pay, and each such reading is audited', async () => {
    const { body: fiat } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody())
    const numberFor = async (name: string) =>
      (await ask(name, 'GET', `/destinations/${fiat.id}`)).body.account.account_number
    expect(await numberFor('vera')).toBe('****3210')
    for (const name of ['ada', 'tom', 'ann']) expect(await numberFor(name)).toBe('9876543210')
    expect((await audited(fiat.id)).slice(1)).toEqual(
      ['ada', 'tom', 'ann'].map((name) => ['destination.read_numbers', `operator:${name}`]),
    )
    const { body: address } = await registerAddress(customer, { crypto_network: 'BNB' })
    await ask('ada', 'GET', `/destinations/${address.id}`)
    expect(await audited(address.id)).toHaveLength(1)
  })

  it('an earlier usable_at needs a reason and a second person, whatever operator.four_eyes is', async () => {
    const { body: fiat } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody())
    const path = `/destinations/${fiat.id}/approve`
    const usable_at = '2026-01-01T00:00:00Z'
    expect((await ask('ada', 'POST', path, { usable_at })).status).toBe(400)
    const recorded = await ask('ada', 'POST', path, { usable_at, reason: 'called back' })
    expect(recorded).toMatchObject({
      status: 202,
      body: { request: { kind: 'approvals', requested_by: 'ada', comment: 'called back' } },
    })
    const { id } = recorded.body.request
    const { body: request } = await ask('grace', 'GET', `/change-requests/${id}`)
    expect(request.record.account.account_number).toBe('****3210')
    const { version } = request
    expect((await ask('ada', 'POST', `/change-requests/${id}/confirm`, { version })).status).toBe(403)
    expect((await ask('tom', 'POST', `/change-requests/${id}/confirm`, { version })).status).toBe(403)
    const confirmed = await ask('grace', 'POST', `/change-requests/${id}/confirm`, { version })
    expect(confirmed.body).toMatchObject({ status: 'ACTIVE' })
    expect(Date.parse(confirmed.body.usable_at)).toBeGreaterThanOrEqual(Date.parse(fiat.created_at))
    expect(Date.parse(confirmed.body.usable_at)).toBeLessThan(Date.parse(fiat.usable_at))
    expect(await audited(fiat.id)).toContainEqual(['destination.approve', 'operator:grace'])
    expect(await audited(fiat.id)).not.toContainEqual(['destination.read_numbers', 'operator:grace'])
  })

  it('a repeated approval with a passed usable_at changes nothing', async () => {
    const { body: fiat } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody())
    const earlier = { usable_at: '2026-01-01T00:00:00Z', reason: 'called back' }
    const approved = async () => {
      const { id } = (await ask('ada', 'POST', `/destinations/${fiat.id}/approve`, earlier)).body.request
      const { version } = (await ask('grace', 'GET', `/change-requests/${id}`)).body
      return await ask('grace', 'POST', `/change-requests/${id}/confirm`, { version })
    }
    const first = await approved()
    expect(first.body).toMatchObject({ id: fiat.id, status: 'ACTIVE' })
    expect(await approved()).toEqual(first)
    const actions = (await audited(fiat.id)).map(([action]: readonly string[]) => action)
    expect(actions.filter((action: string) => action === 'destination.approve')).toHaveLength(1)
  })

  it('registering, approving and deleting a destination queue a notice without bank details', async () => {
    const { body } = await customer.call('POST', FIAT_ACCOUNTS, fiatBody())
    await customer.call('DELETE', `${FIAT_ACCOUNTS}/${body.id}`)
    node.live.config = { ...node.live.config, 'destinations.approval': 'required' }
    const { body: address } = await registerAddress(customer, { crypto_network: 'ARBITRUM_ONE' })
    await ask('ada', 'POST', `/destinations/${address.id}/approve`, {})
    const { rows } = await sql<{ type: string; facts: object }>`
      select type, facts from notices where subject in (${body.id}, ${address.id}) order by created_at, id
    `.execute(node.db.tables())
    expect(rows.map(({ type }) => type.replace('destination.', ''))).toEqual([
      ...['created', 'deleted'],
      ...['created', 'approved'],
    ])
    expect(rows[0]?.facts).toMatchObject({ kind: 'FIAT', account_number: '****3210', nickname: body.ref_id })
    expect(rows[3]?.facts).toMatchObject({ network: 'ARBITRUM_ONE', address: address.address, status: 'ACTIVE' })
    expect(JSON.stringify(rows)).not.toContain('9876543210')
  })

  it('an approval without usable_at needs one person unless operator.four_eyes lists approvals', async () => {
    node.live.config = { ...node.live.config, 'destinations.approval': 'required' }
    const { body } = await registerAddress(customer, { crypto_network: 'AVALANCHE' })
    expect((await ask('vera', 'POST', `/destinations/${body.id}/approve`, {})).status).toBe(403)
    expect((await ask('tom', 'POST', `/destinations/${body.id}/approve`, {})).status).toBe(403)
    const approved = await ask('ada', 'POST', `/destinations/${body.id}/approve`, {})
    expect(approved.body).toMatchObject({ status: 'ACTIVE', usable_at: body.usable_at })
    node.live.config = { ...node.live.config, 'operator.four_eyes': ['approvals'] }
    const { body: other } = await registerAddress(customer, { crypto_network: 'BASE' })
    const request = await ask('ada', 'POST', `/destinations/${other.id}/approve`, { comment: 'known address' })
    expect(request.status).toBe(202)
    const { id } = request.body.request
    const confirm = `/change-requests/${id}/confirm`
    const { version } = (await ask('grace', 'GET', `/change-requests/${id}`)).body
    expect((await ask('ada', 'POST', confirm, { version })).status).toBe(403)
    expect((await ask('ada', 'GET', `/destinations/${other.id}`)).body.status).toBe('PENDING')
    expect((await ask('grace', 'POST', confirm, { version })).body).toMatchObject({ id: other.id, status: 'ACTIVE' })
    expect(await audited(other.id)).toContainEqual(['destination.approve', 'operator:grace'])
    expect((await ask('ada', 'POST', `/destinations/${other.id}/reject`, { reason: 'no' })).status).toBe(200)
  })
})
