/**
 * The list of deposit addresses compared with a list in memory: every filter, any combination, ids of other customers
 * too.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALL_KEYS } from '../../support/address-keys.ts'
import { propertySettings } from '../../support/property.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { newAccount } from '../../support/rules.ts'

const PATH = '/v2/transfer/deposit-addresses'
const NO_ONE = '018f0000-0000-7000-8000-000000000000'

interface Address {
  readonly id: string
  readonly customer_id: string
  readonly profile_id: string
  readonly account_id?: string
  readonly identity_id?: string
  readonly ref_id?: string
  readonly created_at: string
}

let node: RestNode
const customers: RestCustomer[] = []
/** The addresses of all customers, in creation order. */
const made: Address[] = []

beforeAll(async () => {
  node = await RestNode.open({ flags: ALL_KEYS })
  for (let number = 0; number < 3; number++) {
    const customer = await node.newCustomer()
    customers.push(customer)
    // Identities and ref_ids that other customers have too.
    const profiles = []
    for (const identity of ['alice', 'bob']) profiles.push((await newAccount(customer, identity)).profileId)
    const { body } = await node.operator('POST', `/customers/${customer.customerId}/profiles`, { nickname: 'treasury' })
    profiles.push(body.id as string)
    for (let index = 0; index < 12; index++) {
      const request = {
        profile_id: profiles[index % 3],
        crypto_network: 'BITCOIN',
        ...(index % 4 === 0 ? {} : { ref_id: `ref ${index}` }),
        ...(index % 5 === 0 ? { identity_id: 'carol' } : {}),
      }
      const answer = await customer.call('POST', PATH, request)
      expect(answer.status).toBe(200)
      made.push(answer.body)
    }
  }
})
afterAll(() => node?.close())

const FILTERS = {
  ids: 'id',
  profile_ids: 'profile_id',
  account_ids: 'account_id',
  identity_ids: 'identity_id',
  ref_ids: 'ref_id',
} as const

type Filters = { readonly [Name in keyof typeof FILTERS]?: readonly string[] }

function matching(customer: RestCustomer, filters: Filters): readonly Address[] {
  return made.filter(
    (address) =>
      address.customer_id === customer.customerId &&
      Object.entries(filters).every(([name, values]) =>
        values.includes(address[FILTERS[name as keyof typeof FILTERS]] ?? ''),
      ),
  )
}

function queryOf(filters: Filters, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(more)
  for (const [name, values] of Object.entries(filters)) for (const value of values) query.append(name, value)
  return `${PATH}?${query}`
}

/** All pages, concatenated. */
async function read(customer: RestCustomer, filters: Filters, order: string, limit: number): Promise<Address[]> {
  const items: Address[] = []
  let cursor: string | undefined
  do {
    const page = cursor === undefined ? {} : { page_cursor: cursor }
    const { status, body } = await customer.call('GET', queryOf(filters, { order, limit: String(limit), ...page }))
    expect(status).toBe(200)
    expect(body.items.length === limit || body.next_page_cursor === undefined).toBe(true)
    items.push(...body.items)
    cursor = body.next_page_cursor
  } while (cursor !== undefined)
  return items
}

describe('the list of deposit addresses', () => {
  it('the deposit address list equals the list in memory for any filters, in both orders, in pages of any size', async () => {
    const valuesOf = (name: keyof typeof FILTERS) =>
      fc.subarray(
        [...new Set(made.map((address) => address[FILTERS[name]] ?? 'none')), 'nothing', NO_ONE].filter(
          (value) => name !== 'ids' || value.includes('-7'),
        ),
        { minLength: 1 },
      )
    const filters = fc.record(
      {
        ids: valuesOf('ids'),
        profile_ids: valuesOf('profile_ids'),
        account_ids: valuesOf('account_ids'),
        identity_ids: valuesOf('identity_ids'),
        ref_ids: valuesOf('ref_ids'),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.nat(customers.length - 1),
        filters,
        fc.constantFrom('ASC', 'DESC'),
        fc.constantFrom(1, 2, 5, 100),
        async (number, wanted, order, limit) => {
          const customer = customers[number] as RestCustomer
          const expected = matching(customer, wanted)
          const items = await read(customer, wanted, order, limit)
          expect(items).toEqual(order === 'ASC' ? expected : expected.toReversed())
        },
      ),
      propertySettings(30),
    )
  })

  it.each(Object.keys(FILTERS) as (keyof typeof FILTERS)[])(
    'the deposit address list accepts 100 entries of %s, and no more',
    async (name) => {
      const [customer] = customers as [RestCustomer]
      const known = made.map((address) => address[FILTERS[name]]).filter((value) => value !== undefined)
      const values = [
        ...known,
        ...Array.from({ length: 100 }, (_, index) => NO_ONE.replace(/...$/, String(index + 100))),
      ]
      const hundred = values.slice(0, 100)
      expect(await read(customer, { [name]: hundred }, 'ASC', 100)).toEqual(matching(customer, { [name]: hundred }))
      const refused = await customer.call('GET', queryOf({ [name]: values.slice(0, 101) }))
      expect([refused.status, refused.body.errors]).toEqual([
        400,
        [{ parameter: name, detail: 'must have at most 100 entries' }],
      ])
    },
  )

  it('the deposit address list accepts all five arrays with 100 entries at once', async () => {
    const [customer] = customers as [RestCustomer]
    const values = Array.from({ length: 100 }, (_, index) => NO_ONE.replace(/...$/, String(index + 100)))
    const names = Object.keys(FILTERS) as (keyof typeof FILTERS)[]
    const filters = Object.fromEntries(names.map((name) => [name, values]))
    expect((await customer.call('GET', queryOf(filters))).body).toEqual({ items: [] })
    const first = matching(customer, {})[1] as Address
    const hit = names.map((name) => [name, [...values.slice(1), first[FILTERS[name]] ?? '']])
    expect((await customer.call('GET', queryOf(Object.fromEntries(hit)))).body).toEqual({ items: [first] })
  })

  it('the deposit address list finds a record by the time that it shows, and by the ends of a range', async () => {
    const [customer] = customers as [RestCustomer]
    const all = matching(customer, {})
    const one = all[5] as Address
    const found = async (query: string) => (await customer.call('GET', `${PATH}?order=ASC&${query}`)).body.items
    const during = (test: (time: string) => boolean) => all.filter(({ created_at }) => test(created_at))
    expect(await found(`created_at.eq=${one.created_at}`)).toEqual(during((time) => time === one.created_at))
    expect(await found(`created_at.lt=${one.created_at}`)).toEqual(during((time) => time < one.created_at))
    expect(await found(`created_at.gte=${one.created_at}`)).toEqual(during((time) => time >= one.created_at))
    const profile = `profile_ids=${one.profile_id}&created_at.lte=${one.created_at}`
    expect(await found(profile)).toEqual(
      all.filter(({ profile_id, created_at }) => profile_id === one.profile_id && created_at <= one.created_at),
    )
    expect(await found(`created_at.gt=${one.created_at}&created_at.lt=${one.created_at}`)).toEqual([])
  })

  it('the deposit address list accepts ids in any case and with commas; compares other ids byte by byte', async () => {
    const [customer] = customers as [RestCustomer]
    const [first, second] = matching(customer, {}) as [Address, Address]
    const answer = await customer.call('GET', `${PATH}?order=ASC&ids=${first.id.toUpperCase()},${second.id}`)
    expect(answer.body.items).toEqual([first, second])
    expect((await customer.call('GET', `${PATH}?ids[]=${first.id}`)).body.items).toEqual([first])
    const upper = await customer.call('GET', `${PATH}?profile_ids=${first.profile_id.toUpperCase()}`)
    expect(upper.body.items).toEqual([])
    expect((await customer.call('GET', `${PATH}?ref_ids=ref 1,ref 2`)).body.items).toEqual([])
  })

  it.each([
    ['ids=no-uuid', 'ids'],
    ['profile_ids=', 'profile_ids'],
    [`ref_ids=${'x'.repeat(201)}`, 'ref_ids'],
    ['identity_ids=%00', 'identity_ids'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=1e2', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['order=asc', 'order'],
    ['order_by=UPDATED_AT', 'order_by'],
    ['created_at.gt=yesterday', 'created_at.gt'],
    ['created_at.lt=2026-02-30T00:00:00Z', 'created_at.lt'],
  ])('the deposit address list refuses %s', async (query, parameter) => {
    const { status, body } = await (customers[0] as RestCustomer).call('GET', `${PATH}?${query}`)
    expect([status, body.code, body.errors[0].parameter]).toEqual([400, 'invalid_request', parameter])
  })

  it('the deposit address list refuses a cursor of another filter, order, customer or list, and allows another limit', async () => {
    const [customer, other] = customers as [RestCustomer, RestCustomer]
    const cursorOf = async (query: string) => (await customer.call('GET', `${PATH}?${query}`)).body.next_page_cursor
    const cursor = await cursorOf('limit=2&identity_ids=alice')
    const status = async (who: RestCustomer, path: string) => {
      const answer = await who.call('GET', `${path}page_cursor=${cursor}`)
      return answer.status === 200 ? 200 : answer.body.code
    }
    expect(await status(customer, `${PATH}?limit=7&order_by=CREATED_AT&identity_ids=alice&`)).toBe(200)
    expect(await status(customer, `${PATH}?`)).toBe('invalid_cursor')
    expect(await status(customer, `${PATH}?identity_ids=bob&`)).toBe('invalid_cursor')
    expect(await status(customer, `${PATH}?profile_ids=alice&`)).toBe('invalid_cursor')
    expect(await status(customer, `${PATH}?identity_ids=alice&order=ASC&`)).toBe('invalid_cursor')
    expect(await status(other, `${PATH}?identity_ids=alice&`)).toBe('invalid_cursor')
    expect(await status(customer, '/v2/identity/accounts?')).toBe('invalid_cursor')
  })

  it('the deposit address list ignores unknown parameters, and names them', async () => {
    const { status, headers } = await (customers[0] as RestCustomer).call('GET', `${PATH}?colour=blue&limit=1`)
    expect([status, headers.get('tidegate-ignored-parameters')]).toEqual([200, 'colour'])
  })
})
