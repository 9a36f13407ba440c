/** The last part of an address pool is reserved for customers that have received few addresses from it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { testMaterials } from '../../../src/money/deposit-instructions/derivation/key-material.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { refusalsOf } from '../../support/quotas.ts'
import { configOf, type RestAnswer, type RestCustomer, RestNode, untilServed } from '../../support/rest.ts'
import { ADDRESSES, newAccount, RULES, ruleBody } from '../../support/rules.ts'

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

const material = testMaterials(Buffer.alloc(32, 201)).find(({ family }) => family === 'solana')
let imported = 0

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open()
})
afterEach(async () => {
  node.live.config = configOf({})
  // The next test begins with an empty pool.
  await sql`delete from address_pool where deposit_address_id is null`.execute(node.db.tables())
})
afterAll(() => node?.close())

interface Holder {
  readonly customer: RestCustomer
  readonly profileId: string
}

async function newHolder(): Promise<Holder> {
  const customer = await node.newCustomer()
  return { customer, profileId: (await newAccount(customer)).profileId }
}

/** Imports this many addresses into the pool of SOLANA. */
async function importAddresses(count: number): Promise<void> {
  const addresses = upTo(count).map(() => material?.addressAt(imported++))
  const answer = await node.operator('POST', '/address-pool', { network: 'SOLANA', addresses })
  expect(answer.body).toMatchObject({ added: count })
}

const ask = ({ customer, profileId }: Holder) =>
  untilServed503(() => customer.call('POST', ADDRESSES, { profile_id: profileId, crypto_network: 'SOLANA' }))

/** Repeats a request only when the store was busy: an empty pool is a valid answer. */
async function untilServed503(call: () => Promise<RestAnswer>): Promise<RestAnswer> {
  let last: RestAnswer | undefined
  await untilServed(async () => {
    last = await call()
    return last.body?.code === 'unavailable' ? last : { ...last, status: 200 }
  })
  return last as RestAnswer
}

const outcomeOf = ({ status, body }: RestAnswer): string => (status === 200 ? 'given' : body.code)

/** The addresses that a customer gets with this many requests, one after the other. */
async function askTimes(holder: Holder, times: number): Promise<readonly string[]> {
  const outcomes: string[] = []
  for (let asked = 0; asked < times; asked++) outcomes.push(outcomeOf(await ask(holder)))
  return outcomes
}

const given = (count: number) => Array<string>(count).fill('given')
const reserved = (count: number) => Array<string>(count).fill('pool_reserved')

const freeOfPool = async () => {
  const { body } = await node.operator('GET', '/address-pool')
  return body.items[0].free as number
}

describe('the reserve of a pool', () => {
  it("a pool's reserve is not assigned to a customer that takes as many as it can, and is assigned to others", async () => {
    await importAddresses(20)
    const [greedy, modest, late] = [await newHolder(), await newHolder(), await newHolder()]
    const before = await refusalsOf(node)
    expect(await askTimes(greedy, 18)).toEqual([...given(16), ...reserved(2)])
    expect(await freeOfPool()).toBe(4)
    const refused = await ask(greedy)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60'])
    expect(refused.body.detail).toBe('the last SOLANA addresses are reserved for customers that have received fewer')
    expect((await refusalsOf(node)).pool_reserve_percent).toBe((before.pool_reserve_percent ?? 0) + 3)
    // Four are free, then three, then two: a customer must have received fewer than that.
    expect(await askTimes(modest, 3)).toEqual([...given(2), ...reserved(1)])
    expect(await askTimes(late, 2)).toEqual([...given(1), ...reserved(1)])
    expect(await askTimes(await newHolder(), 2)).toEqual(['given', 'pool_empty'])
  })

  it("a pool's reserve is computed again with every import, so that addresses received earlier do not count", async () => {
    await importAddresses(10)
    const [first, second] = [await newHolder(), await newHolder()]
    expect(await askTimes(first, 9)).toEqual([...given(8), ...reserved(1)])
    await importAddresses(8)
    // Ten are free, two of them are the reserve.
    expect(await askTimes(second, 4)).toEqual(given(4))
    expect(await askTimes(first, 5)).toEqual([...given(4), ...reserved(1)])
    expect(await freeOfPool()).toBe(2)
  })

  it("a pool's reserve is empty for a small pool and at 0 percent; the setting can change at run time", async () => {
    await importAddresses(4)
    expect(await askTimes(await newHolder(), 5)).toEqual([...given(4), 'pool_empty'])
    await importAddresses(10)
    const holder = await newHolder()
    expect(await askTimes(holder, 9)).toEqual([...given(8), ...reserved(1)])
    node.live.config = configOf({ 'quotas.pool_reserve_percent': '0' })
    expect(await askTimes(holder, 3)).toEqual([...given(2), 'pool_empty'])
    node.live.config = configOf({ 'quotas.pool_reserve_percent': '99' })
    await importAddresses(10)
    expect(await askTimes(holder, 7)).toEqual([...given(5), ...reserved(2)])
  })

  it("a pool's reserve applies to the addresses of rules, also when the operator approves them", async () => {
    node.live.config = configOf({ 'rules.approval': 'required' })
    await importAddresses(5)
    const holder = await newHolder()
    const body = () => ruleBody(holder.profileId, { source: { crypto: { network: 'SOLANA' } } })
    const { rule } = (await holder.customer.call('POST', RULES, body())).body
    expect(await askTimes(holder, 4)).toEqual(given(4))
    const refused = await node.operator('POST', `/rules/${rule.id}/approve`)
    expect([refused.status, refused.body.code]).toEqual([503, 'pool_reserved'])
    node.live.config = configOf({})
    expect((await holder.customer.call('POST', RULES, body())).body.code).toBe('pool_reserved')
    await importAddresses(5)
    expect((await node.operator('POST', `/rules/${rule.id}/approve`)).body.status).toBe('ACTIVE')
  })

  it("a pool's reserve is not assigned to a customer with 30 concurrent requests, and no address is assigned twice", async () => {
    await importAddresses(20)
    const holder = await newHolder()
    const answers = await Promise.all(upTo(30).map(() => ask(holder)))
    expect(answers.map(outcomeOf).toSorted()).toEqual([...given(16), ...reserved(14)])
    const addresses = answers.flatMap(({ status, body }) => (status === 200 ? [body.address] : []))
    expect(new Set(addresses).size).toBe(16)
    expect(await freeOfPool()).toBe(4)
  })

  it("a pool's reserve is reduced when an address is assigned, and not when that fails", async () => {
    await importAddresses(10)
    const holder = await newHolder()
    const tables = node.db.tables()
    await sql`alter table audit add constraint broken check (action <> 'deposit_address.create') not valid`.execute(
      tables,
    )
    for (const { status } of [await ask(holder), await ask(holder)]) expect(status).toBe(500)
    await sql`alter table audit drop constraint broken`.execute(tables)
    const { customerId } = holder.customer
    const { rows } = await sql`select from address_pool_shares where customer_id = ${customerId}`.execute(tables)
    expect(rows).toHaveLength(0)
    expect(await askTimes(holder, 9)).toEqual([...given(8), ...reserved(1)])
  })
})
