/** Quotas of a customer: exactly as many records as allowed, for all of its clients and at every node. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_KEYS } from '../../support/address-keys.ts'
import { countersOf, onOneDay, recordsOf, refusalsOf } from '../../support/quotas.ts'
import { configOf, type RestAnswer, type RestCustomer, RestNode, untilServed } from '../../support/rest.ts'
import { ADDRESSES, newAccount } from '../../support/rules.ts'

const ACCOUNTS = '/v2/identity/accounts'

let node: RestNode
let other: RestNode
beforeAll(async () => {
  node = await RestNode.open({ flags: ALL_KEYS })
  other = await RestNode.open({ db: node.db, flags: ALL_KEYS })
})
afterEach(() => limit({}))
afterAll(async () => {
  await other?.close()
  await node?.close()
})

/** Applies quotas on both nodes, as SIGHUP does. */
function limit(quotas: Readonly<Record<string, number>>): void {
  const flags = Object.fromEntries(Object.entries(quotas).map(([name, value]) => [`quotas.${name}`, String(value)]))
  for (const { live } of [node, other]) live.config = configOf({ ...ALL_KEYS, ...flags })
}

const create = (who: RestCustomer, account: object = {}) =>
  who.call('POST', ACCOUNTS, { account: { identity_id: 'alice', ...account }, create_profile: true })

const createAddress = (who: RestCustomer, profileId: string, more: object = {}) =>
  who.call('POST', ADDRESSES, { profile_id: profileId, crypto_network: 'BITCOIN', ...more })

const codeOf = ({ status, body }: RestAnswer) => [status, body.code, body.meta]

describe('the number of accounts', () => {
  it('the number of accounts is limited by its quota, for all clients of the customer together and for no other customer', async () => {
    const customer = await node.newCustomer()
    const colleague = await node.newClient(customer.customerId)
    limit({ accounts_max: 2 })
    const before = await refusalsOf(node)
    expect((await create(customer)).status).toBe(200)
    expect((await create(colleague)).status).toBe(200)
    for (const who of [customer, colleague]) {
      const refused = await create(who)
      expect(codeOf(refused)).toEqual([403, 'quota_exceeded', { limit: 2, used: 2 }])
      expect(refused.body.detail).toBe('accounts_max: the customer has 2 of at most 2 accounts')
      expect(refused.headers.get('retry-after')).toBeNull()
    }
    expect((await create(await node.newCustomer())).status).toBe(200)
    expect(await recordsOf(node.db, customer.customerId)).toEqual({ accounts: 2, addresses: 0, rules: 0 })
    expect((await refusalsOf(node)).accounts_max).toBe((before.accounts_max ?? 0) + 2)
  })

  it('a quota that is reached still answers 409 for a ref_id that was used', async () => {
    const customer = await node.newCustomer()
    const { body: existing } = await create(customer, { ref_id: 'once' })
    for (const quotas of [{ accounts_max: 1 }, { accounts_max: 0 }, { creations_per_day: 1 }]) {
      limit(quotas)
      expect(codeOf(await create(customer, { ref_id: 'once' }))).toEqual([409, 'already_exists', { existing }])
    }
  })

  it('existing accounts beyond a lowered quota are read and changed as before', async () => {
    const customer = await node.newCustomer()
    const { body: account } = await create(customer)
    await create(customer)
    limit({ accounts_max: 1, addresses_max: 0 })
    expect(codeOf(await create(customer))).toEqual([403, 'quota_exceeded', { limit: 1, used: 2 }])
    expect((await customer.call('PUT', ACCOUNTS, { id: account.id, description: 'changed' })).status).toBe(200)
    expect((await customer.call('GET', ACCOUNTS)).body.items).toHaveLength(2)
    limit({ accounts_max: 3 })
    expect((await create(customer)).status).toBe(200)
  })

  it('the quota of accounts is exact when 50 requests come at once at two nodes: ten accounts exist', async () => {
    const customer = await node.newCustomer()
    const colleague = await other.newClient(customer.customerId)
    limit({ accounts_max: 10 })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => untilServed(() => create(n % 2 === 0 ? customer : colleague))),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    for (const answer of answers) {
      if (answer.status !== 200) expect(codeOf(answer)).toEqual([403, 'quota_exceeded', { limit: 10, used: 10 }])
    }
    expect((await recordsOf(node.db, customer.customerId)).accounts).toBe(10)
    expect((await countersOf(node.db, customer.customerId)).accounts).toBe(10)
  })
})

describe('the number of deposit addresses', () => {
  it('the number of deposit addresses is limited by its quota, and 409 remains 409', async () => {
    const customer = await node.newCustomer()
    const { profileId } = await newAccount(customer)
    limit({ addresses_max: 1 })
    const { body: existing } = await createAddress(customer, profileId, { ref_id: 'once' })
    const refused = await createAddress(customer, profileId)
    expect(codeOf(refused)).toEqual([403, 'quota_exceeded', { limit: 1, used: 1 }])
    expect(refused.body.detail).toBe('addresses_max: the customer has 1 of at most 1 addresses')
    const again = await createAddress(customer, profileId, { ref_id: 'once' })
    expect(codeOf(again)).toEqual([409, 'already_exists', { existing }])
    expect(await recordsOf(node.db, customer.customerId)).toEqual({ accounts: 1, addresses: 1, rules: 0 })
  })
})

describe('the creations of a day', () => {
  const secondsLeft = async () => {
    const { rows } = await sql<{ seconds: number }>`
      select 86400 - floor(extract(epoch from clock_timestamp()))::bigint::integer % 86400 as seconds
    `.execute(node.db.tables())
    return (rows[0] as { seconds: number }).seconds
  }

  it("a day's creations over the limit are 429 with the seconds until midnight UTC by the store's clock", async () => {
    await onOneDay(node.db, async () => {
      const customer = await node.newCustomer()
      const { profileId } = await newAccount(customer)
      limit({ creations_per_day: 3 })
      expect((await createAddress(customer, profileId)).status).toBe(200)
      expect((await create(customer, { ref_id: 'once' })).status).toBe(200)
      const before = await secondsLeft()
      const refused = [await create(customer), await createAddress(customer, profileId)]
      const after = await secondsLeft()
      for (const answer of refused) {
        expect(codeOf(answer)).toEqual([429, 'daily_quota_exceeded', { limit: 3, used: 3 }])
        const seconds = Number(answer.headers.get('retry-after'))
        expect(seconds).toBeLessThanOrEqual(before)
        expect(seconds).toBeGreaterThanOrEqual(after)
        expect(answer.body.detail).toBe(
          `creations_per_day: the customer has used 3 of at most 3 creations today. Try again in ${seconds} s`,
        )
      }
      expect((await create(customer, { ref_id: 'once' })).status).toBe(409)
      expect((await countersOf(node.db, customer.customerId)).today).toBe(3)
      await sql`update customer_clocks set creations_day = creations_day - 1
        where customer_id = ${customer.customerId}`.execute(node.db.tables())
      expect((await create(customer)).status).toBe(200)
      expect(await countersOf(node.db, customer.customerId)).toMatchObject({ accounts: 3, addresses: 1, today: 1 })
    })
  })

  it("a day's creations are exact when 50 requests come at once at two nodes", async () => {
    await onOneDay(node.db, async () => {
      const customer = await node.newCustomer()
      const colleague = await other.newClient(customer.customerId)
      limit({ creations_per_day: 10 })
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => untilServed(() => create(n % 2 === 0 ? customer : colleague))),
      )
      const statuses = answers.map(({ status }) => status).toSorted()
      expect(statuses).toEqual([...Array(10).fill(200), ...Array(40).fill(429)])
      expect(await countersOf(node.db, customer.customerId)).toMatchObject({ accounts: 10, today: 10 })
    })
  })

  it("a day's creations do not include those of the operator, which creates profiles meanwhile", async () => {
    await onOneDay(node.db, async () => {
      const { customerId, ...customer } = await node.newCustomer()
      limit({ creations_per_day: 1 })
      expect((await create({ customerId, ...customer })).status).toBe(200)
      for (const nickname of ['one', 'two']) {
        expect((await node.operator('POST', `/customers/${customerId}/profiles`, { nickname })).status).toBe(200)
      }
      expect(await countersOf(node.db, customerId)).toEqual({ accounts: 1, addresses: 0, rules: 0, today: 1 })
    })
  })
})

describe('the usage shown to the operator', () => {
  it("the usage shown to the operator has a customer's used and allowed amounts of the current day", async () => {
    await onOneDay(node.db, async () => {
      limit({})
      const customer = await node.newCustomer()
      const { customerId } = customer
      const read = async () => (await node.operator('GET', `/customers/${customerId}/quotas`)).body
      const unused = { limit: 100_000, used: 0 }
      expect(await read()).toEqual({
        customer_id: customerId,
        accounts: unused,
        addresses: unused,
        rules: unused,
        creations_today: { limit: 10_000, used: 0, resets_in_seconds: expect.any(Number) },
      })
      const { profileId } = await newAccount(customer)
      await createAddress(customer, profileId)
      limit({ accounts_max: 7 })
      expect(await read()).toMatchObject({
        accounts: { limit: 7, used: 1 },
        addresses: { limit: 100_000, used: 1 },
        creations_today: { limit: 10_000, used: 2 },
      })
      await sql`update customer_clocks set creations_day = creations_day - 1 where customer_id = ${customerId}`.execute(
        node.db.tables(),
      )
      expect((await read()).creations_today.used).toBe(0)
      expect((await read()).creations_today.resets_in_seconds).toBeGreaterThanOrEqual(1)
      expect((await read()).creations_today.resets_in_seconds).toBeLessThanOrEqual(86_400)
    })
  })

  it('the usage shown to the operator is 404 for an unknown customer', async () => {
    expect((await node.operator('GET', `/customers/${newId()}/quotas`)).status).toBe(404)
    expect((await node.operator('GET', '/customers/x/quotas')).status).toBe(404)
  })
})
