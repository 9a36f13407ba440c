/**
 * Customers are isolated from each other in lists by the ids and names of others, in reads by id, and in writes. A
 * record of another customer is answered exactly as one that does not exist, byte by byte.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertTransfers } from '../../src/money/transfers/store.ts'
import { newId } from '../../src/platform/base/ids.ts'
import { nextCreationTime } from '../../src/platform/store/creation-time.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { Random } from '../support/random.ts'
import { type RestAnswer, type RestCustomer, RestNode } from '../support/rest.ts'
import { ADDRESSES, newAccount, RULES, ruleBody } from '../support/rules.ts'

const ACCOUNTS = '/v2/identity/accounts'
const TRANSFERS = '/v2/transfer/transfers'
const SEED = Number(process.env.TIDEGATE_SEED ?? 20_260_102)
const QUESTIONS = process.env.TIDEGATE_LONG === '1' ? 20_000 : 300

const KINDS: Readonly<Record<string, string>> = {
  [ACCOUNTS]: 'accounts',
  [ADDRESSES]: 'addresses',
  [RULES]: 'rules',
  [TRANSFERS]: 'transfers',
}

interface Known {
  readonly customer: RestCustomer
  readonly accounts: string[]
  readonly profiles: string[]
  readonly addresses: string[]
  readonly rules: string[]
  readonly transfers: string[]
}

describe(`customers of one service (seed ${SEED})`, () => {
  const random = new Random(SEED)
  let node: RestNode
  const customers: Known[] = []

  beforeAll(async () => {
    node = await RestNode.open({ flags: ALL_KEYS })
    for (let index = 0; index < 3; index++) {
      const customer = await node.newCustomer()
      const known: Known = { customer, accounts: [], profiles: [], addresses: [], rules: [], transfers: [] }
      customers.push(known)
      const others = 2 + random.integer(6)
      for (let made = 0; made < others; made++) {
        const { accountId, profileId } = await newAccount(customer, random.pick(['alice', 'bob']))
        known.accounts.push(accountId)
        known.profiles.push(profileId)
        // All customers use the same names.
        known.transfers.push(await newTransfer(customer.customerId, profileId))
        const body = { profile_id: profileId, crypto_network: 'ETHEREUM', ref_id: `ref ${made}` }
        known.addresses.push((await customer.call('POST', ADDRESSES, body)).body.id)
        known.rules.push(
          (await customer.call('POST', RULES, ruleBody(profileId, { ref_id: `ref ${made}` }))).body.rule.id,
        )
      }
    }
  })
  afterAll(() => node?.close())

  function newTransfer(customerId: string, profileId: string): Promise<string> {
    return node.db.transaction(async (transaction) => {
      const id = newId()
      const createdAt = await nextCreationTime(transaction, customerId)
      const what = { asset: 'USDC', amount: 1n, direction: 'CREDIT', type: 'WIRE_DEPOSIT', status: 'PENDING' } as const
      await insertTransfers(transaction, [
        { id, customerId, profileId, accountId: null, ...what, groupId: id, createdAt },
      ])
      return id
    })
  }

  const any = (kind: 'accounts' | 'profiles' | 'addresses' | 'rules' | 'transfers') =>
    random.pick(random.pick(customers)[kind])

  function randomQuery(path: string): URLSearchParams {
    const query = new URLSearchParams()
    const maybe = (name: string, value: () => string, most = 1) => {
      for (let count = random.integer(most + 1); count > 0; count--) query.append(name, value())
    }
    maybe('order', () => random.pick(['ASC', 'DESC']))
    maybe('limit', () => String(1 + random.integer(20)))
    if (path === ACCOUNTS) maybe('identity_id', () => random.pick(['alice', 'bob']))
    if (path !== RULES) maybe('created_at.gt', () => '2026-01-01T00:00:00Z')
    if (path === ACCOUNTS || path === TRANSFERS) maybe('updated_at.lte', () => '2999-01-01T00:00:00Z')
    if (path === ADDRESSES) {
      maybe('ids', () => any('addresses'), 3)
      maybe('ref_ids', () => `ref ${random.integer(8)}`, 3)
      maybe('profile_ids', () => any('profiles'), 3)
      maybe('account_ids', () => any('accounts'), 3)
      maybe('identity_ids', () => random.pick(['alice', 'bob']), 2)
    }
    if (path === TRANSFERS) {
      maybe('ids', () => any('transfers'), 3)
      maybe('profile_id', () => any('profiles'), 3)
      maybe('asset', () => 'USDC')
      maybe('status', () => random.pick(['PENDING', 'COMPLETED']), 2)
    }
    if (path === RULES) {
      maybe('ids', () => any('rules'), 3)
      maybe('profile_id', () => any('profiles'))
      maybe('status', () => random.pick(['ACTIVE', 'DELETED', 'PENDING']), 2)
      maybe('source_asset', () => 'USDC')
      maybe('destination_asset', () => 'USD')
    }
    return query
  }

  it('customers of one service list their own matching records and no others', async () => {
    let found = 0
    for (let question = 0; question < QUESTIONS; question++) {
      const { customer, ...own } = random.pick(customers)
      const path = random.pick([ACCOUNTS, ADDRESSES, RULES, TRANSFERS])
      const kind = KINDS[path] as 'accounts' | 'addresses' | 'rules' | 'transfers'
      const query = randomQuery(path)
      const answer = await customer.call('GET', `${path}?${query}`)
      const what = `question ${question}: ${path}?${query}`
      expect(answer.status, what).toBe(200)
      // The address created for a rule is listed too, under an id that no response contained before.
      const foreign = customers.filter((other) => other.customer !== customer)
      for (const { profiles, accounts, addresses, rules, transfers } of foreign) {
        for (const id of [...profiles, ...accounts, ...addresses, ...rules, ...transfers])
          expect(answer.text, what).not.toContain(id)
      }
      const ids: string[] = answer.body.items.map(({ id }: { id: string }) => id)
      found += ids.length
      const wanted = query.getAll('ids')
      if (wanted.length > 0) expect(own[kind], what).toEqual(expect.arrayContaining(ids))
      if (path !== ADDRESSES) expect(own[kind], what).toEqual(expect.arrayContaining(ids))
      else for (const { customer_id } of answer.body.items) expect(customer_id, what).toBe(customer.customerId)
    }
    expect(found, 'a test that finds nothing shows nothing').toBeGreaterThan(QUESTIONS / 2)
  })

  it('customers of one service get the same response for a record of another customer as for one that does not exist', async () => {
    const [mine, theirs] = customers as [Known, Known]
    const { customer } = mine
    const account = (id: string) => customer.call('GET', `${ACCOUNTS}/${id}`)
    const change = (id: string) => customer.call('PUT', ACCOUNTS, { id, description: 'mine now' })
    const address = (id: string) => customer.call('POST', ADDRESSES, { profile_id: id, crypto_network: 'ETHEREUM' })
    const rule = (id: string) => customer.call('POST', RULES, ruleBody(id, { ref_id: 'not made' }))
    const elsewhere = (id: string) =>
      customer.call(
        'POST',
        RULES,
        ruleBody(mine.profiles[0] as string, { ref_id: 'not made', destination: { profile: { profile_id: id } } }),
      )
    const taken = (id: string) =>
      customer.call(
        'POST',
        RULES,
        ruleBody(mine.profiles[0] as string, { ref_id: 'not made', source: { profile: { profile_id: id } } }),
      )
    const ofAccount = (id: string) =>
      customer.call('POST', ADDRESSES, { profile_id: mine.profiles[0], account_id: id, crypto_network: 'ETHEREUM' })
    const profile = (id: string) => customer.call('GET', `/v2/profiles/${id}`)
    const balances = (id: string) => customer.call('GET', `/v2/profiles/${id}/balances`)
    const transfer = (id: string) => customer.call('GET', `${TRANSFERS}/${id}`)
    const remove = (id: string) => customer.call('DELETE', `${RULES}/${id}`)
    const questions: [(id: string) => Promise<RestAnswer>, string, number][] = [
      [account, theirs.accounts[0] as string, 404],
      [change, theirs.accounts[0] as string, 404],
      [address, theirs.profiles[0] as string, 404],
      [rule, theirs.profiles[0] as string, 404],
      [elsewhere, theirs.profiles[0] as string, 404],
      [taken, theirs.profiles[0] as string, 404],
      [ofAccount, theirs.accounts[0] as string, 404],
      [profile, theirs.profiles[0] as string, 404],
      [balances, theirs.profiles[0] as string, 404],
      [transfer, theirs.transfers[0] as string, 404],
      [remove, theirs.rules[0] as string, 404],
    ]
    for (const [index, [ask, foreign, status]] of questions.entries()) {
      const [answer, absent] = [await ask(foreign), await ask(newId())]
      expect([index, answer.status]).toEqual([index, status])
      expect(comparable(answer)).toEqual(comparable(absent))
    }
    const untouched = await theirs.customer.call('GET', `${ACCOUNTS}/${theirs.accounts[0]}`)
    expect(untouched.body.description).toBeUndefined()
    const [theirRule] = (await theirs.customer.call('GET', `${RULES}?ids=${theirs.rules[0]}`)).body.items
    expect(theirRule.status).toBe('ACTIVE')
  })
})

/** A response without the members that are specific to one request. */
function comparable({ status, headers, text, body }: RestAnswer): unknown {
  const names = [...headers.keys()].filter((name) => !/^(date|ratelimit.*|request-id|x-request-id)$/.test(name))
  return { status, text: text.replaceAll(body.request_id, ''), headers: names.map((name) => [name, headers.get(name)]) }
}
