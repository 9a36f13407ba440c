/** How rules count towards quotas, with the addresses created for them; and that the counters are exact. */
import { assert, asyncProperty, constantFrom, integer, array as manyOf, record } from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_KEYS } from '../../support/address-keys.ts'
import { propertySettings } from '../../support/property.ts'
import { countersOf, onOneDay, recordsOf, refusalsOf } from '../../support/quotas.ts'
import { configOf, type RestAnswer, type RestCustomer, RestNode, untilServed } from '../../support/rest.ts'
import { ADDRESSES, newAccount, RULES, ruleBody } from '../../support/rules.ts'

const MEMO = {
  source_asset: 'USD',
  destination_asset: 'USDC',
  source: { fiat: { network: 'WIRE', account_type: 'ABA' } },
}

let node: RestNode
let other: RestNode
beforeAll(async () => {
  node = await RestNode.open({ flags: ALL_KEYS })
  other = await RestNode.open({ db: node.db, flags: ALL_KEYS })
})
afterEach(() => configure({}))
afterAll(async () => {
  await other?.close()
  await node?.close()
})

/** Applies settings on both nodes, as SIGHUP does. */
function configure(flags: Readonly<Record<string, string>>): void {
  for (const { live } of [node, other]) live.config = configOf({ ...ALL_KEYS, ...flags })
}

const codeOf = ({ status, body }: RestAnswer) => [status, body.code, body.meta]

interface Holder {
  readonly customer: RestCustomer
  readonly profileId: string
}

async function newHolder(): Promise<Holder> {
  const customer = await node.newCustomer()
  return { customer, profileId: (await newAccount(customer)).profileId }
}

const makeRule = ({ customer, profileId }: Holder, changes: Readonly<Record<string, unknown>> = {}) =>
  customer.call('POST', RULES, ruleBody(profileId, changes))

async function expectExact({ customerId }: RestCustomer): Promise<void> {
  const { today: _, ...counters } = await countersOf(node.db, customerId)
  expect(counters).toEqual(await recordsOf(node.db, customerId))
}

describe('the number of rules', () => {
  it('the number of rules is limited by its quota, deleted rules included, and 409 remains 409', async () => {
    const holder = await newHolder()
    configure({ 'quotas.rules_max': '2' })
    const { body } = await makeRule(holder, { ref_id: 'once' })
    await makeRule(holder, MEMO)
    const refused = await makeRule(holder)
    expect(codeOf(refused)).toEqual([403, 'quota_exceeded', { limit: 2, used: 2 }])
    expect(refused.body.detail).toBe('rules_max: the customer has 2 of at most 2 rules')
    expect((await holder.customer.call('DELETE', `${RULES}/${body.rule.id}`)).status).toBe(200)
    expect(codeOf(await makeRule(holder))).toEqual([403, 'quota_exceeded', { limit: 2, used: 2 }])
    expect((await makeRule(holder, { ref_id: 'once' })).status).toBe(409)
    expect(await recordsOf(node.db, holder.customer.customerId)).toEqual({ accounts: 1, addresses: 1, rules: 2 })
    await expectExact(holder.customer)
  })

  it('the number of rules is limited by the quota of addresses only for rules that need one', async () => {
    const holder = await newHolder()
    configure({ 'quotas.addresses_max': '1' })
    expect((await makeRule(holder)).status).toBe(200)
    expect(codeOf(await makeRule(holder))).toEqual([403, 'quota_exceeded', { limit: 1, used: 1 }])
    expect((await makeRule(holder, MEMO)).status).toBe(200)
    await expectExact(holder.customer)
  })
})

describe('a rule that waits for approval', () => {
  it("a rule that waits for approval counts its address when it is approved, but not towards the customer's day", async () => {
    await onOneDay(node.db, async () => {
      const holder = await newHolder()
      const { customerId } = holder.customer
      configure({ 'rules.approval': 'required', 'quotas.creations_per_day': '2' })
      const { body } = await makeRule(holder)
      expect(await countersOf(node.db, customerId)).toEqual({ accounts: 1, addresses: 0, rules: 1, today: 2 })
      expect((await makeRule(holder)).status).toBe(429)
      expect((await node.operator('POST', `/rules/${body.rule.id}/approve`)).status).toBe(200)
      expect(await countersOf(node.db, customerId)).toEqual({ accounts: 1, addresses: 1, rules: 1, today: 2 })
      await expectExact(holder.customer)
    })
  })

  it('a rule that waits for approval is not approved beyond the address quota, and is once the quota is raised', async () => {
    const holder = await newHolder()
    configure({ 'rules.approval': 'required', 'quotas.addresses_max': '0' })
    const { rule } = (await makeRule(holder)).body
    const before = await refusalsOf(node)
    const refused = await node.operator('POST', `/rules/${rule.id}/approve`)
    expect(codeOf(refused)).toEqual([403, 'quota_exceeded', { limit: 0, used: 0 }])
    expect((await refusalsOf(node)).addresses_max).toBe((before.addresses_max ?? 0) + 1)
    expect((await holder.customer.call('GET', `${RULES}?ids=${rule.id}`)).body.items).toEqual([rule])
    configure({ 'quotas.addresses_max': '1' })
    expect((await node.operator('POST', `/rules/${rule.id}/approve`)).status).toBe(200)
    await expectExact(holder.customer)
  })
})

describe('the counters of quotas', () => {
  const KINDS = ['account', 'address', 'rule', 'rule with a memo'] as const
  const FATES = ['created', 'repeated', 'invalid', 'of another', 'broken'] as const
  /** Statuses of requests that created nothing: refused as such, or by a quota. */
  const REFUSED = [400, 403, 404, 409, 429, 500]

  interface Step {
    readonly kind: (typeof KINDS)[number]
    readonly fate: (typeof FATES)[number]
  }

  const steps = manyOf(record({ kind: constantFrom(...KINDS), fate: constantFrom(...FATES) }), {
    minLength: 8,
    maxLength: 24,
  })
  const total = integer({ min: 0, max: 8 }).map(String)
  const limits = record({
    'quotas.accounts_max': total,
    'quotas.addresses_max': total,
    'quotas.rules_max': total,
    'quotas.creations_per_day': integer({ min: 1, max: 16 }).map(String),
  })

  let number = 0
  /** The request of a step; a repeated one reuses the ref_id of its kind. */
  function request({ kind, fate }: Step, profileId: string, foreignProfileId: string) {
    const ref_id = fate === 'broken' ? `broken ${++number}` : fate === 'repeated' ? 'once' : `step ${++number}`
    const bad = fate === 'invalid' ? { nothing: 1 } : {}
    const profile_id = fate === 'of another' ? foreignProfileId : profileId
    if (kind === 'account')
      return ['/v2/identity/accounts', { account: { identity_id: 'alice', ref_id, ...bad } }] as const
    if (kind === 'address') return [ADDRESSES, { profile_id, crypto_network: 'BITCOIN', ref_id, ...bad }] as const
    return [RULES, ruleBody(profile_id, { ref_id, ...(kind === 'rule' ? {} : MEMO), ...bad })] as const
  }

  it('the quota counters equal the records after any mix of successful and failed creations, at two nodes concurrently', async () => {
    const foreign = await newHolder()
    // The last statement of the transaction fails, after everything else has been done.
    await sql`alter table audit add constraint broken
      check (coalesce(detail->>'ref_id', '') not like 'broken%') not valid`.execute(node.db.tables())
    const property = asyncProperty(steps, limits, async (mix, quotas) => {
      await onOneDay(node.db, async () => {
        configure({})
        const { customer, profileId } = await newHolder()
        configure(quotas)
        const answers = await Promise.all(
          mix.map((step, index) => {
            const [path, body] = request(step, profileId, foreign.profileId)
            const at = index % 2 === 0 ? node : other
            return untilServed(() => at.send('POST', path, body, { authorization: `Bearer ${customer.token}` }))
          }),
        )
        const created = answers.filter(({ status }) => status === 200).length
        for (const { status } of answers) if (status !== 200) expect(REFUSED).toContain(status)
        const counters = await countersOf(node.db, customer.customerId)
        const records = await recordsOf(node.db, customer.customerId)
        // Its account was the first creation.
        expect(counters).toEqual({ ...records, today: created + 1 })
        expect(records.accounts).toBeLessThanOrEqual(Math.max(1, Number(quotas['quotas.accounts_max'])))
        expect(records.addresses).toBeLessThanOrEqual(Number(quotas['quotas.addresses_max']))
        expect(records.rules).toBeLessThanOrEqual(Number(quotas['quotas.rules_max']))
        expect(counters.today).toBeLessThanOrEqual(Math.max(1, Number(quotas['quotas.creations_per_day'])))
      })
    })
    await assert(property, propertySettings(4))
    await sql`alter table audit drop constraint broken`.execute(node.db.tables())
  })
})
