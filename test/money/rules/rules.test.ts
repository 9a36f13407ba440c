/** The customer API of rules: creation, reads, paginated lists, deletion; idempotent, and isolated per customer. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { TEST_BANK } from '../../../src/service/config/banking.ts'
import { type RestCustomer, RestNode, untilServed } from '../../support/rest.ts'
import { ADDRESSES, ETHEREUM_ADDRESS, newAccount, RULES, ruleBody, type TestAccount } from '../../support/rules.ts'

const NO_ONE = '018f0000-0000-7000-8000-000000000000'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

let node: RestNode
let customer: RestCustomer
let alice: TestAccount
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
  customer = await node.newCustomer()
  alice = await newAccount(customer)
})
afterAll(() => node?.close())

/** Returns the created rule. */
async function make(changes: Readonly<Record<string, unknown>> = {}, who = customer, profileId = alice.profileId) {
  const answer = await who.call('POST', RULES, ruleBody(profileId, changes))
  expect(answer.status, answer.text).toBe(200)
  return answer.body.rule
}

async function list(query = '', who = customer) {
  const answer = await who.call('GET', `${RULES}${query}`)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

async function trailOf(id: string): Promise<readonly { action: string; actor: string; detail: unknown }[]> {
  return (await node.operator('GET', `/audit?subject=${id}`)).body.items
}

describe('a created rule', () => {
  it('a created rule shows an address of its own, which from then on belongs to its profile', async () => {
    const rule = await make({ ref_id: 'first', nickname: 'Sweep 🌊' })
    expect(rule).toEqual({
      id: expect.stringMatching(UUID),
      ref_id: 'first',
      nickname: 'Sweep 🌊',
      profile_id: alice.profileId,
      identity_id: 'alice',
      account_id: alice.accountId,
      status: 'ACTIVE',
      source_asset: 'USDC',
      destination_asset: 'USD',
      source: {
        crypto: {
          address_id: expect.stringMatching(UUID),
          address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
          network: 'ETHEREUM',
        },
      },
      destination: { profile: { profile_id: alice.profileId } },
      created_at: expect.stringMatching(TIME),
    })
    const { address_id: id, address } = rule.source.crypto
    const { items } = (await customer.call('GET', `${ADDRESSES}?ids=${id}`)).body
    expect(items).toMatchObject([
      {
        id,
        address,
        profile_id: alice.profileId,
        account_id: alice.accountId,
        identity_id: 'alice',
        crypto_network: 'ETHEREUM',
        conversion_target_asset: 'NO_CONVERSION',
      },
    ])
    expect(await trailOf(rule.id)).toMatchObject([
      { action: 'rule.create', actor: `client:${customer.clientId}`, detail: { ref_id: 'first', status: 'ACTIVE' } },
    ])
    // One write, one audit row: that of the rule.
    expect(await trailOf(id)).toEqual([])
  })

  it.each([
    ['crypto', {}, { fiat: { memo: 'invoice', fiat_account_id: 'account 7' } }],
    [
      'fiat',
      { source_asset: 'USD', source: { fiat: { account_type: 'SWIFT', network: 'WIRE' } } },
      { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } },
    ],
  ])(
    'a created rule from %s is returned identically by every endpoint, member by member',
    async (form, changes, destination) => {
      const destination_asset = form === 'crypto' ? 'USD' : 'USDC'
      const body = ruleBody(alice.profileId, { nickname: 'n', ...changes, destination_asset, destination })
      const created = await customer.call('POST', RULES, body)
      const text = created.text.slice('{"rule":'.length, -1)
      const { id } = created.body.rule
      expect((await customer.call('GET', `${RULES}?ids=${id}`)).text).toBe(`{"rules":[${text}],"items":[${text}]}`)
      expect((await customer.call('POST', RULES, body)).text).toContain(`"meta":{"existing":${text}}`)
      const ofOperator = `${text.slice(0, -1)},"customer_id":"${customer.customerId}"}`
      expect((await node.operator('GET', `/rules/${id}`)).text).toBe(ofOperator)
      expect((await node.operator('GET', '/rules?limit=1')).text).toContain(ofOperator)
      const deleted = (await customer.call('DELETE', `${RULES}/${id}`)).text
      expect(deleted).toBe(created.text.replace('"status":"ACTIVE"', '"status":"DELETED"'))
    },
  )

  it('a created rule shows a memo of its own for fiat deposits, and the bank details', async () => {
    const source = { fiat: { network: 'WIRE', account_type: 'SWIFT' } }
    const first = await make({ source_asset: 'USD', destination_asset: 'USDC', source })
    const second = await make({ source_asset: 'USD', destination_asset: 'USDC', source })
    for (const rule of [first, second]) {
      expect(rule.source).toEqual({
        fiat: {
          deposit_instructions_id: expect.stringMatching(UUID),
          network: 'WIRE',
          account_type: 'SWIFT',
          memo_id: expect.stringMatching(/^[2-9A-HJKMNP-TV-Z]{12}$/),
          bank: TEST_BANK.WIRE?.SWIFT,
        },
      })
    }
    expect(first.source.fiat.memo_id).not.toBe(second.source.fiat.memo_id)
  })

  it('a created rule over CUBIX needs no account type, and shows the given one', async () => {
    const assets = { source_asset: 'USD', destination_asset: 'USDC' }
    for (const fiat of [{ network: 'CUBIX' }, { network: 'CUBIX', account_type: 'ABA' }]) {
      const rule = await make({ ...assets, source: { fiat } })
      const { deposit_instructions_id, memo_id, bank, ...rest } = rule.source.fiat
      expect([rest, typeof memo_id, bank]).toEqual([fiat, 'string', TEST_BANK.CUBIX?.ANY])
      expect((await list(`?ids=${rule.id}`)).items).toEqual([rule])
      expect((await customer.call('DELETE', `${RULES}/${rule.id}`)).body.rule.source).toEqual(rule.source)
    }
  })

  it('a created rule accepts POLYGON for POLYGON_POS on both sides', async () => {
    const destination = { crypto: { network: 'POLYGON', address: ETHEREUM_ADDRESS } }
    const rule = await make({ source: { crypto: { network: 'POLYGON' } }, destination_asset: 'USDC', destination })
    expect([rule.source.crypto.network, rule.destination.crypto.network]).toEqual(['POLYGON_POS', 'POLYGON_POS'])
  })

  it('a created rule needs no address for deposits of a profile', async () => {
    const source = { profile: { profile_id: alice.profileId.toUpperCase() } }
    expect((await make({ source })).source).toEqual({ profile: { profile_id: alice.profileId } })
  })

  it.each([
    ['an address', 'USDC', { crypto: { address: ETHEREUM_ADDRESS, network: 'BASE' } }],
    ['a bank account', 'USD', { fiat: { fiat_account_id: 'account 7', memo: 'invoice 🧾' } }],
    ['a bank account without a memo', 'USD', { fiat: { fiat_account_id: 'account 7' } }],
  ])('a created rule delivers to %s as requested', async (_what, destination_asset, destination) => {
    const rule = await make({ destination_asset, destination })
    expect(rule.destination).toEqual(destination)
  })

  it('a created rule delivers to another profile of the customer', async () => {
    const { profileId } = await newAccount(customer, 'bob')
    const { destination } = await make({ destination: { profile: { profile_id: profileId } } })
    expect(destination).toEqual({ profile: { profile_id: profileId } })
  })

  it('a created rule takes account and identity from the profile, and the identity from the request if given', async () => {
    const given = await make({ account_id: alice.accountId.toUpperCase(), identity_id: 'trustee' })
    expect(given).toMatchObject({ account_id: alice.accountId, identity_id: 'trustee' })
    const { items } = (await customer.call('GET', `${ADDRESSES}?ids=${given.source.crypto.address_id}`)).body
    expect(items).toMatchObject([{ identity_id: 'trustee' }])
    const path = `/customers/${customer.customerId}/profiles`
    const { body: profile } = await node.operator('POST', path, { nickname: 'treasury' })
    const rule = await make({}, customer, profile.id)
    expect(Object.keys(rule)).not.toContain('account_id')
    expect(Object.keys(rule)).not.toContain('identity_id')
  })
})

describe('unknown ids', () => {
  it.each([
    ['an unknown profile', { profile_id: NO_ONE }, '/profile_id'],
    ['a malformed profile id', { profile_id: 'x' }, '/profile_id'],
    ['an unknown account', { account_id: NO_ONE }, '/account_id'],
    ['a malformed account id', { account_id: 'x' }, '/account_id'],
    ['an unknown source', { source: { profile: { profile_id: NO_ONE } } }, '/source/profile/profile_id'],
    ['an unknown destination', { destination: { profile: { profile_id: 'x' } } }, '/destination/profile/profile_id'],
  ])('unknown ids in %s are 404 with their pointer', async (_what, changes, pointer) => {
    const answer = await customer.call('POST', RULES, ruleBody(alice.profileId, changes))
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found', errors: [{ pointer }] } })
  })

  it('unknown ids are answered exactly as ids of another customer', async () => {
    const stranger = await node.newCustomer()
    for (const changes of [{}, { destination: { profile: { profile_id: alice.profileId } } }]) {
      const own = await newAccount(stranger)
      const profileId = Object.keys(changes).length === 0 ? alice.profileId : own.profileId
      const answer = await stranger.call('POST', RULES, ruleBody(profileId, changes))
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
    const rule = await make()
    for (const id of [rule.id, NO_ONE, 'x', '%20']) {
      const answer = await stranger.call('DELETE', `${RULES}/${id}`)
      expect([answer.status, answer.body.detail], id).toEqual([404, 'there is no rule with this id'])
    }
    expect((await list(`?ids=${rule.id}`)).items).toEqual([rule])
  })

  it('ids that do not match the profile are 400, unlike unknown ids: its account, deposits of another profile', async () => {
    const bob = await newAccount(customer, 'bob')
    for (const [changes, pointer] of [
      [{ account_id: bob.accountId }, '/account_id'],
      [{ source: { profile: { profile_id: bob.profileId } } }, '/source/profile/profile_id'],
    ] as const) {
      const answer = await customer.call('POST', RULES, ruleBody(alice.profileId, changes))
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer }] } })
    }
  })
})

describe('a destination that is a deposit address of the service', () => {
  it('a destination that is a deposit address of the service is own_address, whatever its owner and its spelling', async () => {
    const other = await node.newCustomer()
    const theirs = await newAccount(other)
    const body = { profile_id: theirs.profileId, crypto_network: 'BASE' }
    const { address } = (await other.call('POST', ADDRESSES, body)).body
    for (const [network, text] of [
      ['BASE', address],
      ['ETHEREUM', address.toLowerCase()],
    ]) {
      const destination = { crypto: { network, address: text } }
      const refused = await customer.call(
        'POST',
        RULES,
        ruleBody(alice.profileId, { destination_asset: 'USDC', destination }),
      )
      const errors = [{ pointer: '/destination/crypto/address' }]
      expect(refused).toMatchObject({ status: 400, body: { code: 'own_address', errors } })
    }
  })
})

describe('a disabled account', () => {
  it('a disabled account refuses new rules for its profile, and rules that deliver to it', async () => {
    const carol = await newAccount(customer, 'carol')
    await node.operator('PATCH', `/accounts/${carol.accountId}`, { admin_disabled: true })
    const own = await customer.call('POST', RULES, ruleBody(carol.profileId))
    expect(own).toMatchObject({ status: 403, body: { code: 'account_blocked', errors: [{ pointer: '/profile_id' }] } })
    const destination = { profile: { profile_id: carol.profileId } }
    const other = await customer.call('POST', RULES, ruleBody(alice.profileId, { destination }))
    expect(other).toMatchObject({ status: 403, body: { code: 'account_blocked' } })
    await node.operator('PATCH', `/accounts/${carol.accountId}`, { admin_disabled: false })
    expect((await customer.call('POST', RULES, ruleBody(carol.profileId))).status).toBe(200)
  })
})

describe('the ref_id of a rule', () => {
  it("a rule's ref_id is permanent: a second request gets 409 with the first rule, whatever its status is now", async () => {
    const rule = await make({ ref_id: 'once' })
    const again = await customer.call('POST', RULES, ruleBody(alice.profileId, { ref_id: 'once', nickname: 'other' }))
    expect(again).toMatchObject({ status: 409, body: { code: 'already_exists', meta: { existing: rule } } })
    await customer.call('DELETE', `${RULES}/${rule.id}`)
    const later = await customer.call('POST', RULES, ruleBody(alice.profileId, { ref_id: 'once' }))
    expect(later).toMatchObject({ status: 409, body: { meta: { existing: { ...rule, status: 'DELETED' } } } })
  })

  it("a rule's ref_id is unique per customer, not per client, and independent of other customers", async () => {
    await make({ ref_id: 'shared' })
    const colleague = await node.newClient(customer.customerId)
    expect((await colleague.call('POST', RULES, ruleBody(alice.profileId, { ref_id: 'shared' }))).status).toBe(409)
    const stranger = await node.newCustomer()
    await make({ ref_id: 'shared' }, stranger, (await newAccount(stranger)).profileId)
  })

  it("a rule's ref_id in fifty concurrent requests creates one rule and one address", async () => {
    const racer = await node.newCustomer()
    const { profileId } = await newAccount(racer)
    const body = ruleBody(profileId, { ref_id: 'race' })
    const ask = () => untilServed(() => racer.call('POST', RULES, body))
    const answers = await Promise.all(Array.from({ length: 50 }, ask))
    const winners = answers.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    const { rule } = winners[0]?.body ?? {}
    const losers = answers.filter(({ status }) => status === 409)
    expect(losers).toHaveLength(49)
    for (const { body: problem } of losers) expect(problem.meta.existing).toEqual(rule)
    expect((await list('', racer)).items).toEqual([rule])
    const { items } = (await racer.call('GET', ADDRESSES)).body
    expect(items.map(({ id }: { id: string }) => id)).toEqual([rule.source.crypto.address_id])
    expect(await trailOf(rule.id)).toHaveLength(1)
  })
})

describe('one rule', () => {
  it('one rule is read by its customer alone, with any spelling of its id, in any status', async () => {
    const rule = await make()
    expect((await customer.call('GET', `${RULES}/${rule.id.toUpperCase()}`)).body).toEqual(rule)
    await customer.call('DELETE', `${RULES}/${rule.id}`)
    expect((await customer.call('GET', `${RULES}/${rule.id}`)).body).toEqual({ ...rule, status: 'DELETED' })
    const foreign = await (await node.newCustomer()).call('GET', `${RULES}/${rule.id}`)
    const unknown = await customer.call('GET', `${RULES}/${newId()}`)
    for (const answer of [foreign, unknown, await customer.call('GET', `${RULES}/x`)]) {
      expect([answer.status, answer.body.detail]).toEqual([404, 'there is no rule with this id'])
    }
    const writer = await node.newClient(customer.customerId, ['orchestration:write_orchestration_rule'])
    expect((await writer.call('GET', `${RULES}/${rule.id}`)).status).toBe(403)
  })
})

describe('deleting a rule', () => {
  it('deleting a rule is idempotent; its address remains', async () => {
    const rule = await make()
    const deleted = await customer.call('DELETE', `${RULES}/${rule.id.toUpperCase()}`)
    expect(deleted).toMatchObject({ status: 200, body: { rule: { ...rule, status: 'DELETED' } } })
    const again = await customer.call('DELETE', `${RULES}/${rule.id}`)
    expect(again).toMatchObject({ status: 200, body: deleted.body })
    expect(await trailOf(rule.id)).toMatchObject([
      { action: 'rule.delete', actor: `client:${customer.clientId}` },
      { action: 'rule.create' },
    ])
    const { items } = (await customer.call('GET', `${ADDRESSES}?ids=${rule.source.crypto.address_id}`)).body
    expect(items).toHaveLength(1)
  })
})

describe('the list of rules', () => {
  let owner: RestCustomer
  let profiles: readonly string[]
  const rules: { id: string; status: string; profile_id: string; source_asset: string; destination_asset: string }[] =
    []
  beforeAll(async () => {
    owner = await node.newCustomer()
    profiles = [(await newAccount(owner)).profileId, (await newAccount(owner)).profileId]
    const source = { profile: (index: number) => ({ profile: { profile_id: profiles[index % 2] } }) }
    const pairs = [
      ['USDC', 'USD'],
      ['BTC', 'USD'],
      ['USDC', 'USDP'],
    ] as const
    for (let index = 0; index < 12; index++) {
      const [source_asset, destination_asset] = pairs[index % 3] as (typeof pairs)[number]
      const changes = { source_asset, destination_asset, source: source.profile(index) }
      const rule = await make(changes, owner, profiles[index % 2])
      if (index % 4 === 3) rule.status = (await owner.call('DELETE', `${RULES}/${rule.id}`)).body.rule.status
      rules.unshift(rule)
    }
  })

  it('the rule list contains all rules of a customer, newest first, also in the deprecated member', async () => {
    expect(await list('', owner)).toEqual({ rules, items: rules })
    expect(await list('?order=ASC', owner)).toEqual({ rules: rules.toReversed(), items: rules.toReversed() })
    const { live } = node
    const { config } = live
    live.config = { ...config, 'rest.rules_field': false }
    expect(await list('', owner)).toEqual({ items: rules })
    live.config = config
  })

  it('the rule list is filtered by each of its parameters, and by several at once', async () => {
    const ids = (matches: (rule: (typeof rules)[number]) => boolean) => rules.filter(matches).map(({ id }) => id)
    const [first = '', second = ''] = profiles
    const some = rules.filter((_, index) => index % 5 === 0).map(({ id }) => id)
    for (const [query, expected] of [
      [`profile_id=${first}`, ids(({ profile_id }) => profile_id === first)],
      ['status=ACTIVE', ids(({ status }) => status === 'ACTIVE')],
      ['status=DELETED&status=PENDING', ids(({ status }) => status === 'DELETED')],
      ['status[]=DELETED,ACTIVE', ids(() => true)],
      ['status=ACTIVE,DELETED,PENDING,REJECTED,ACTIVE', ids(() => true)],
      ['source_asset=BTC', ids(({ source_asset }) => source_asset === 'BTC')],
      ['destination_asset=USDP', ids(({ destination_asset }) => destination_asset === 'USDP')],
      [`ids=${some.join(',').toUpperCase()}`, some],
      [`ids=${some.join('&ids[]=')}&status=ACTIVE`, ids(({ id, status }) => some.includes(id) && status === 'ACTIVE')],
      [
        `profile_id=${second}&status=ACTIVE,DELETED&source_asset=USDC`,
        ids(({ profile_id, source_asset }) => profile_id === second && source_asset === 'USDC'),
      ],
      ['source_asset=usdc', []],
      ['profile_id=nobody', []],
      [`profile_id=${first.toUpperCase()}`, []],
      [`ids=${NO_ONE}`, []],
    ] as const) {
      const { items } = await list(`?${query}`, owner)
      expect(
        items.map(({ id }: { id: string }) => id),
        query,
      ).toEqual(expected)
    }
  })

  it.each([
    ['', 5],
    ['&order=ASC', 1],
    ['&status=ACTIVE,DELETED', 5],
    ['&order=ASC&status=DELETED,ACTIVE,PENDING', 7],
    ['&status=ACTIVE&source_asset=USDC', 2],
  ])('the rule list returns every rule once in pages: %s by %i', async (query, limit) => {
    const whole = (await list(`?limit=1000${query}`, owner)).items
    const paged = []
    let cursor = ''
    do {
      const page = await list(`?limit=${limit}${query}${cursor}`, owner)
      expect(page.items.length).toBeLessThanOrEqual(limit)
      paged.push(...page.items)
      cursor = page.next_page_cursor === undefined ? '' : `&page_cursor=${page.next_page_cursor}`
    } while (cursor !== '')
    expect(paged).toEqual(whole)
  })

  it('the rule list has no cursor on a full last page, and refuses the cursor of another list', async () => {
    expect(Object.keys(await list('?limit=12', owner))).not.toContain('next_page_cursor')
    const { next_page_cursor: cursor } = await list('?limit=2&status=ACTIVE', owner)
    for (const query of ['', '&status=DELETED', '&status=ACTIVE&order=ASC', '&status=ACTIVE&source_asset=BTC']) {
      const answer = await owner.call('GET', `${RULES}?page_cursor=${cursor}${query}`)
      expect(answer, query).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    }
    const stranger = await node.newCustomer()
    const answer = await stranger.call('GET', `${RULES}?page_cursor=${cursor}&status=ACTIVE`)
    expect(answer.body.code).toBe('invalid_cursor')
  })

  it('the rule list contains no rule of another customer, whatever the filter', async () => {
    const stranger = await node.newCustomer()
    const ids = rules.map(({ id }) => id).join(',')
    for (const query of ['', `?profile_id=${profiles[0]}`, `?ids=${ids}`, '?status=ACTIVE', '?source_asset=USDC']) {
      expect((await list(query, stranger)).items, query).toEqual([])
    }
  })

  it('the rule list names the parameters that it ignores', async () => {
    const answer = await owner.call('GET', `${RULES}?created_at.gt=2020-01-01T00:00:00Z&order_by=CREATED_AT&limit=1`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('tidegate-ignored-parameters')).toBe('created_at.gt, order_by')
  })
})
