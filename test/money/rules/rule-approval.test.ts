/** Rules that wait for approval by the operator: the decision, what it creates, and concurrent decisions. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StatementFailed } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { type RestCustomer, RestNode, untilServed } from '../../support/rest.ts'
import { ADDRESSES, newAccount, RULES, ruleBody, type TestAccount } from '../../support/rules.ts'

const NO_ONE = '018f0000-0000-7000-8000-000000000000'

let node: RestNode
let customer: RestCustomer
let alice: TestAccount
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true, flags: { 'rules.approval': 'required' } })
  customer = await node.newCustomer()
  alice = await newAccount(customer)
})
afterAll(() => node?.close())

/** Creates a rule that waits for approval. */
async function make(changes: Readonly<Record<string, unknown>> = {}) {
  const body = ruleBody(alice.profileId, changes)
  const answer = await untilServed(() => customer.call('POST', RULES, body))
  expect(answer.status, answer.text).toBe(200)
  return answer.body.rule
}

async function shown(id: string) {
  return (await customer.call('GET', `${RULES}?ids=${id}`)).body.items[0]
}

async function addressCount(): Promise<number> {
  return (await customer.call('GET', `${ADDRESSES}?limit=1000`)).body.items.length
}

async function actionsOf(id: string): Promise<readonly string[]> {
  const { items } = (await node.operator('GET', `/audit?subject=${id}`)).body
  return items.map(({ action }: { action: string }) => action)
}

describe('a rule that waits for approval', () => {
  it('a rule that waits for approval is PENDING, and nothing is created for it', async () => {
    const before = await addressCount()
    const crypto = await make()
    expect(crypto).toMatchObject({ status: 'PENDING', source: { crypto: { network: 'ETHEREUM' } } })
    expect(Object.keys(crypto.source.crypto)).toEqual(['network'])
    const source = { fiat: { network: 'CUBIX', account_type: 'ABA' } }
    expect((await make({ source_asset: 'USD', destination_asset: 'USDC', source })).source).toEqual(source)
    expect(await addressCount()).toBe(before)
  })

  it('a rule that waits for approval is listed for the operator, across all customers, with its customer', async () => {
    const rule = await make()
    const stranger = await node.newCustomer()
    const { profileId } = await newAccount(stranger)
    const { rule: other } = (await stranger.call('POST', RULES, ruleBody(profileId))).body
    const { body } = await node.operator('GET', '/rules?status=PENDING&limit=2')
    expect(body.items).toEqual([
      { ...other, customer_id: stranger.customerId },
      { ...rule, customer_id: customer.customerId },
    ])
    for (const shownRule of body.items) {
      expect((await node.operator('GET', `/rules/${shownRule.id.toUpperCase()}`)).body).toEqual(shownRule)
    }
    expect((await node.operator('GET', `/rules/${NO_ONE}`)).body.code).toBe('not_found')
    const cursor = body.next_page_cursor
    const next = (await node.operator('GET', `/rules?status=PENDING&limit=1&page_cursor=${cursor}`)).body
    expect(next.items).toHaveLength(1)
    expect((await node.operator('GET', `/rules?page_cursor=${cursor}`)).body.code).toBe('invalid_cursor')
    for (const query of ['status=pending', 'status=ACTIVE&status=PENDING', 'limit=0']) {
      expect((await node.operator('GET', `/rules?${query}`)).status, query).toBe(400)
    }
  })
})

describe('the approval of a rule', () => {
  it('the approval of a rule creates the address, shows it to the customer, and is idempotent', async () => {
    const rule = await make()
    const approved = await node.operator('POST', `/rules/${rule.id}/approve`)
    expect(approved).toMatchObject({ status: 200, body: { status: 'ACTIVE', customer_id: customer.customerId } })
    const { address_id: id, address } = approved.body.source.crypto
    expect(await shown(rule.id)).toEqual({
      ...rule,
      status: 'ACTIVE',
      source: { crypto: { address_id: id, address, network: 'ETHEREUM' } },
    })
    const { items } = (await customer.call('GET', `${ADDRESSES}?ids=${id}`)).body
    expect(items).toMatchObject([{ id, address, profile_id: alice.profileId, identity_id: 'alice' }])
    const again = await node.operator('POST', `/rules/${rule.id.toUpperCase()}/approve`)
    expect(again).toMatchObject({ status: 200, body: approved.body })
    expect(await actionsOf(rule.id)).toEqual(['rule.approve', 'rule.create'])
  })

  it('the approval of a rule creates the memo', async () => {
    const source = { fiat: { network: 'WIRE', account_type: 'ABA' } }
    const rule = await make({ source_asset: 'USD', destination_asset: 'USDC', source })
    const { body } = await node.operator('POST', `/rules/${rule.id}/approve`)
    expect(body.source.fiat).toMatchObject({ ...source.fiat, memo_id: expect.stringMatching(/^[2-9A-Z]{12}$/) })
    expect(await shown(rule.id)).toMatchObject({ source: body.source })
  })

  it('the approval of a rule is refused while the account is disabled, and changes nothing', async () => {
    const rule = await make()
    await node.operator('PATCH', `/accounts/${alice.accountId}`, { admin_disabled: true })
    expect(await node.operator('POST', `/rules/${rule.id}/approve`)).toMatchObject({
      status: 403,
      body: { code: 'account_blocked' },
    })
    await node.operator('PATCH', `/accounts/${alice.accountId}`, { admin_disabled: false })
    expect(await shown(rule.id)).toEqual(rule)
    expect(await actionsOf(rule.id)).toEqual(['rule.create'])
    expect((await node.operator('POST', `/rules/${rule.id}/approve`)).status).toBe(200)
  })
})

describe('the rejection of a rule', () => {
  it('the rejection of a rule is final and stored with its reason, which the customer can read', async () => {
    const rule = await make()
    const reason = 'the payee is not known 🤷'
    const rejected = await node.operator('POST', `/rules/${rule.id}/reject`, { reason })
    expect(rejected).toMatchObject({ status: 200, body: { status: 'REJECTED', reject_reason: reason } })
    expect(await shown(rule.id)).toEqual({ ...rule, status: 'REJECTED', reject_reason: reason })
    const again = await node.operator('POST', `/rules/${rule.id}/reject`, { reason: 'another' })
    expect(again.body).toEqual(rejected.body)
    const { items } = (await node.operator('GET', `/audit?subject=${rule.id}&limit=1`)).body
    expect(items).toMatchObject([{ action: 'rule.reject', actor: 'operator', detail: { reason } }])
  })

  it.each([
    ['no reason', {}, '/reason'],
    ['an empty one', { reason: '' }, '/reason'],
    ['1001 characters', { reason: '🦀'.repeat(1_001) }, '/reason'],
    ['another member', { reason: 'x', why: 'y' }, '/why'],
  ])('the rejection of a rule needs a reason: %s is refused', async (_what, body, pointer) => {
    const { id } = await make()
    const answer = await node.operator('POST', `/rules/${id}/reject`, body)
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer }] } })
    expect((await node.operator('POST', `/rules/${id}/reject`, { reason: '🦀'.repeat(1_000) })).status).toBe(200)
  })
})

describe('an invalid step', () => {
  const bodies: Readonly<Record<string, object>> = { reject: { reason: 'late' } }
  it.each([
    ['approve', 'reject'],
    ['delete', 'approve'],
    ['delete', 'reject'],
    ['reject', 'approve'],
    ['reject', 'delete'],
  ])('an invalid step after %s is answered %s', async (first, second) => {
    const { id } = await make()
    const { body: before } = await node.operator('POST', `/rules/${id}/${first}`, bodies[first])
    const answer = await node.operator('POST', `/rules/${id}/${second}`, bodies[second])
    expect(answer).toMatchObject({ status: 409, body: { code: 'invalid_state', meta: { current: before.status } } })
    if (second === 'delete') {
      const own = await customer.call('DELETE', `${RULES}/${id}`)
      expect(own).toMatchObject({ status: 409, body: { code: 'invalid_state', meta: { current: 'REJECTED' } } })
    }
    expect(await shown(id)).toMatchObject({ status: before.status })
    expect(await actionsOf(id)).toEqual([`rule.${first}`, 'rule.create'])
  })

  it.each(['approve', 'reject', 'delete'])('an invalid step of an unknown rule is 404: %s', async (verb) => {
    for (const id of [NO_ONE, 'x']) {
      expect((await node.operator('POST', `/rules/${id}/${verb}`, bodies[verb])).status).toBe(404)
    }
  })

  it('deleting a waiting rule is a valid step, for its customer and for the operator', async () => {
    const rule = await make()
    const deleted = await customer.call('DELETE', `${RULES}/${rule.id}`)
    expect(deleted.body).toEqual({ rule: { ...rule, status: 'DELETED' } })
    const again = await node.operator('POST', `/rules/${rule.id}/delete`)
    expect(again).toMatchObject({ status: 200, body: { status: 'DELETED' } })
    expect(await actionsOf(rule.id)).toEqual(['rule.delete', 'rule.create'])
  })
})

describe('concurrent decisions', () => {
  it('concurrent decisions never both succeed: approval and rejection', async () => {
    const before = await addressCount()
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await make()).id as string))
    const outcomes = await Promise.all(
      ids.flatMap((id) => [
        untilServed(() => node.operator('POST', `/rules/${id}/approve`)),
        untilServed(() => node.operator('POST', `/rules/${id}/reject`, { reason: 'late' })),
      ]),
    )
    let approved = 0
    for (const [index, id] of ids.entries()) {
      const [approval, rejection] = outcomes.slice(2 * index, 2 * index + 2)
      expect([approval?.status, rejection?.status].toSorted()).toEqual([200, 409])
      const { status } = await shown(id)
      expect(status).toBe(approval?.status === 200 ? 'ACTIVE' : 'REJECTED')
      expect(await actionsOf(id)).toHaveLength(2)
      if (status === 'ACTIVE') approved += 1
    }
    expect(await addressCount()).toBe(before + approved)
  })

  it('concurrent decisions leave a deleted rule: deletion follows an approval, and an approval does not follow a deletion', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await make()).id as string))
    const outcomes = await Promise.all(
      ids.flatMap((id) => [
        untilServed(() => node.operator('POST', `/rules/${id}/approve`)),
        untilServed(() => customer.call('DELETE', `${RULES}/${id}`)),
      ]),
    )
    for (const [index, id] of ids.entries()) {
      const [approval, deletion] = outcomes.slice(2 * index, 2 * index + 2)
      expect(deletion?.status).toBe(200)
      const rule = await shown(id)
      expect(rule.status).toBe('DELETED')
      expect('address' in rule.source.crypto).toBe(approval?.status === 200)
      expect(await actionsOf(id)).toHaveLength(approval?.status === 200 ? 3 : 2)
    }
  })

  it('concurrent decisions approve a rule exactly once', async () => {
    const { id } = await make()
    const before = await addressCount()
    const approve = () => untilServed(() => node.operator('POST', `/rules/${id}/approve`))
    const answers = await Promise.all(Array.from({ length: 20 }, approve))
    const [first] = answers
    for (const { status, body } of answers) expect([status, body]).toEqual([200, first?.body])
    expect(await addressCount()).toBe(before + 1)
    expect(await actionsOf(id)).toEqual(['rule.approve', 'rule.create'])
  })
})

describe('a write that fails half-way', () => {
  it('a write that fails half-way leaves neither a rule nor an address, and consumes no index of the key', async () => {
    const before = await addressCount()
    const refuse = (what: string) =>
      sql`alter table audit add constraint no_more check (action <> ${sql.lit(what)}) not valid`.execute(
        node.db.tables(),
      )
    const allow = () => sql`alter table audit drop constraint no_more`.execute(node.db.tables())
    const pending = await make()
    await refuse('rule.approve')
    expect((await node.operator('POST', `/rules/${pending.id}/approve`)).status).toBe(500)
    await allow()
    expect(await shown(pending.id)).toEqual(pending)
    expect(await addressCount()).toBe(before)

    node.live.config = { ...node.live.config, 'rules.approval': 'auto' }
    await refuse('rule.create')
    const body = ruleBody(alice.profileId)
    expect((await customer.call('POST', RULES, body)).status).toBe(500)
    await allow()
    expect(await addressCount()).toBe(before)
    const made = await customer.call('POST', RULES, body)
    expect(made.status).toBe(200)
    const { rows } = await sql<{ addresses: number; last_index: number }>`
      select count(*)::int as addresses, max(key_index) as last_index from deposit_addresses
    `.execute(node.db.tables())
    expect(rows[0]?.addresses).toBe((rows[0]?.last_index ?? 0) + 1)
    node.live.config = { ...node.live.config, 'rules.approval': 'required' }
  })

  it('a write that fails half-way cannot leave an inconsistent row', async () => {
    const { id } = await make()
    const set = (change: string) => sql`update rules set ${sql.raw(change)} where id = ${id}`.execute(node.db.tables())
    for (const change of ["status = 'LOST'", "status = 'REJECTED'", "reject_reason = 'x'"]) {
      await expect(set(change), change).rejects.toBeInstanceOf(StatementFailed)
    }
  })
})

describe('a node without address keys', () => {
  let poor: RestNode
  beforeAll(async () => {
    poor = await RestNode.open({ flags: { 'rules.approval': 'required' } })
  })
  afterAll(() => poor?.close())

  const onSolana = { source: { crypto: { network: 'SOLANA' } } }

  it('a node without address keys cannot approve a rule that needs an address until one is imported', async () => {
    const owner = await poor.newCustomer()
    const { profileId } = await newAccount(owner)
    const { rule } = (await owner.call('POST', RULES, ruleBody(profileId, onSolana))).body
    const refused = await poor.operator('POST', `/rules/${rule.id}/approve`)
    expect(refused).toMatchObject({ status: 503, body: { code: 'pool_empty' } })
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect((await owner.call('GET', RULES)).body.items).toEqual([rule])
    const address = 'So11111111111111111111111111111111111111112'
    await poor.operator('POST', '/address-pool', { network: 'SOLANA', addresses: [address] })
    const { body } = await poor.operator('POST', `/rules/${rule.id}/approve`)
    expect(body.source.crypto).toMatchObject({ address, network: 'SOLANA' })
  })

  it('a node without address keys cannot create a rule that needs an address', async () => {
    poor.live.config = { ...poor.live.config, 'rules.approval': 'auto' }
    const owner = await poor.newCustomer()
    const { profileId } = await newAccount(owner)
    const body = ruleBody(profileId, onSolana)
    expect(await owner.call('POST', RULES, body)).toMatchObject({ status: 503, body: { code: 'pool_empty' } })
    const onEthereum = await owner.call('POST', RULES, ruleBody(profileId))
    expect(onEthereum).toMatchObject({ status: 503, body: { code: 'address_unavailable' } })
    expect((await owner.call('GET', RULES)).body.items).toEqual([])
    // The refused request does not consume the ref_id.
    const source = { profile: { profile_id: profileId } }
    expect((await owner.call('POST', RULES, { ...body, source })).status).toBe(200)
  })
})
