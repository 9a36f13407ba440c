/** Lists of accounts: filters, pages and cursors, compared with a plain list in memory. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Random } from '../../support/random.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'

const PATH = '/v2/identity/accounts'
const IDENTITIES = ['alice', 'bob', 'carol']
const SEED = 20_261_120

interface Item {
  readonly id: string
  readonly identity_id: string
  readonly created_at: string
  readonly updated_at: string
}

let node: RestNode
let customer: RestCustomer
let items: Item[]
beforeAll(async () => {
  node = await RestNode.open()
  customer = await node.newCustomer()
  const stranger = await node.newCustomer()
  const random = new Random(SEED)
  const make = async (who: RestCustomer) =>
    (await who.call('POST', PATH, { account: { identity_id: random.pick(IDENTITIES) } })).body
  const made: Item[] = []
  // Some concurrently, so that timestamps repeat.
  for (let round = 0; round < 8; round++) {
    made.push(...(await Promise.all(Array.from({ length: 5 }, () => make(customer)))))
    await make(stranger)
  }
  for (const { id } of made) {
    if (random.chance(0.4)) await customer.call('PUT', PATH, { id, description: 'changed' })
  }
  const all = await customer.call('GET', `${PATH}?order=ASC&limit=1000`)
  items = all.body.items
  expect(items.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort())
})
afterAll(() => node?.close())

const encode = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString()

async function allPages(
  parameters: Record<string, string>,
  limit: number,
  onPage?: () => Promise<void>,
): Promise<Item[]> {
  const found: Item[] = []
  let cursor: string | undefined
  do {
    const query = encode({
      ...parameters,
      limit: String(limit),
      ...(cursor === undefined ? {} : { page_cursor: cursor }),
    })
    const { status, body } = await customer.call('GET', `${PATH}?${query}`)
    expect(status).toBe(200)
    expect(body.items.length).toBeLessThanOrEqual(limit)
    found.push(...body.items)
    cursor = body.next_page_cursor
    if (cursor !== undefined) expect(body.items).toHaveLength(limit)
    await onPage?.()
  } while (cursor !== undefined)
  return found
}

const compare: Record<string, (left: string, right: string) => boolean> = {
  lt: (left, right) => left < right,
  lte: (left, right) => left <= right,
  eq: (left, right) => left === right,
  gte: (left, right) => left >= right,
  gt: (left, right) => left > right,
}

function matching(parameters: Record<string, string>): Item[] {
  return items.filter((item) =>
    Object.entries(parameters).every(([name, value]) => {
      const [member, comparison] = name.split('.') as [keyof Item, string | undefined]
      return compare[comparison ?? 'eq']?.(item[member], value)
    }),
  )
}

describe('a list of accounts', () => {
  it('a list of accounts is in creation order, newest first by default', async () => {
    const places = items.map(({ created_at, id }) => `${created_at} ${id}`)
    expect(places).toEqual([...places].sort())
    const { body } = await customer.call('GET', PATH)
    expect(body).toEqual({ items: [...items].reverse() })
    expect((await customer.call('GET', `${PATH}?order_by=CREATED_AT&order=DESC`)).body).toEqual(body)
  })

  it('a list of accounts has no cursor on its last page, full or not', async () => {
    expect((await customer.call('GET', `${PATH}?limit=40`)).body.next_page_cursor).toBeUndefined()
    expect((await customer.call('GET', `${PATH}?limit=39`)).body.next_page_cursor).toBeTypeOf('string')
    for (const limit of [1, 7, 20, 39]) expect(await allPages({ order: 'ASC' }, limit)).toEqual(items)
  })

  it(`a list of accounts contains exactly the accounts that match the filters, in pages of any size (seed ${SEED})`, async () => {
    const random = new Random(SEED)
    const filters: Record<string, () => string> = { identity_id: () => random.pick([...IDENTITIES, 'nobody']) }
    for (const member of ['created_at', 'updated_at'] as const) {
      for (const comparison of Object.keys(compare)) {
        filters[`${member}.${comparison}`] = () => random.pick(items)[member]
      }
    }
    const names = Object.keys(filters)
    for (const first of names) {
      for (let more = 0; more < 3; more++) {
        const chosen = new Set([first, ...Array.from({ length: more }, () => random.pick(names))])
        const parameters = Object.fromEntries([...chosen].map((name) => [name, filters[name]?.() as string]))
        const order = random.pick(['ASC', 'DESC'])
        const expected = order === 'ASC' ? matching(parameters) : matching(parameters).reverse()
        const found = await allPages({ ...parameters, order }, random.pick([2, 9, 1000]))
        expect({ parameters, found }).toEqual({ parameters, found: expected })
      }
    }
  })

  it('a list of accounts finds an account by the time that it shows, and no other', async () => {
    const item = items[3] as Item
    const at = (time: string, comparison = 'eq') =>
      customer.call('GET', `${PATH}?${encode({ [`created_at.${comparison}`]: time })}`).then(({ body }) => body.items)
    expect(await at(item.created_at)).toContainEqual(item)
    expect(await at(item.created_at.replace('Z', '000+00:00'))).toContainEqual(item)
    expect(await at(item.created_at.replace('Z', '1Z'))).toEqual([])
    expect(await at(item.created_at.replace('Z', '000001Z'), 'lt')).toContainEqual(item)
    expect(await at(item.created_at.replace('Z', '000001Z'), 'gte')).not.toContainEqual(item)
  })

  it('a list of accounts does not change while others are written', async () => {
    const late: string[] = []
    const found = await allPages({ order: 'DESC' }, 6, async () => {
      const made = await customer.call('POST', PATH, { account: { identity_id: 'late' } })
      late.push(made.body.id)
      await customer.call('PUT', PATH, { id: (items[0] as Item).id, description: `${late.length}` })
    })
    expect(found.filter(({ id }) => !late.includes(id)).map(({ id }) => id)).toEqual(
      [...items].reverse().map(({ id }) => id),
    )
    const seen = await allPages({ order: 'ASC', identity_id: 'late' }, 2)
    expect(seen.map(({ id }) => id)).toEqual(late)
  })

  it('a list of accounts names the parameters that it ignored', async () => {
    const { status, headers } = await customer.call('GET', `${PATH}?status=x&ids=y&created_at=z`)
    expect([status, headers.get('tidegate-ignored-parameters')]).toEqual([200, 'status, ids, created_at'])
    expect((await customer.call('GET', PATH)).headers.has('tidegate-ignored-parameters')).toBe(false)
  })

  it('a list of accounts refuses invalid parameters', async () => {
    const { status, body } = await customer.call('GET', `${PATH}?limit=0&identity_id=&created_at.lt=yesterday`)
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.errors.map(({ parameter }: { parameter: string }) => parameter)).toEqual([
      'identity_id',
      'created_at.lt',
      'limit',
    ])
  })
})

describe('the cursor of a list', () => {
  const list = (query: Record<string, string>, who = customer, path = PATH) =>
    who.call('GET', `${path}?${encode(query)}`)
  const cursorOf = async (query: Record<string, string>) => (await list(query)).body.next_page_cursor as string

  it("a list's cursor is valid for its list, with another limit, and with equivalent filters", async () => {
    const page_cursor = await cursorOf({ limit: '2', 'created_at.gte': '2020-01-01T00:00:00Z' })
    for (const time of ['2020-01-01T00:00:00Z', '2020-01-01T01:00:00.000+01:00', '2019-12-31T23:59:59.9995Z']) {
      const { status, body } = await list({ limit: '5', 'created_at.gte': time, order_by: 'CREATED_AT', page_cursor })
      expect([status, body.items.length]).toEqual([200, 5])
    }
  })

  it("a list's cursor is invalid for any other list", async () => {
    const page_cursor = await cursorOf({ limit: '2', identity_id: 'alice' })
    const stranger = await node.newCustomer()
    const misuses = [
      await list({ page_cursor }),
      await list({ page_cursor, identity_id: 'bob' }),
      await list({ page_cursor, identity_id: 'alice', order: 'ASC' }),
      await list({ page_cursor, identity_id: 'alice', 'created_at.gt': '2020-01-01T00:00:00Z' }),
      await list({ page_cursor, identity_id: 'alice' }, stranger),
      await list({ page_cursor: `${page_cursor}x`, identity_id: 'alice' }),
      await list({ page_cursor: '🦀', identity_id: 'alice' }),
      await node.operator('GET', `/accounts?${encode({ page_cursor })}`),
    ]
    for (const { status, body } of misuses) expect([status, body.code]).toEqual([400, 'invalid_cursor'])
  })

  it("a list's cursor that is empty means the first page, also of the operator’s lists", async () => {
    expect((await list({ page_cursor: '', limit: '2' })).text).toBe((await list({ limit: '2' })).text)
    const empty = await node.operator('GET', '/accounts?page_cursor=&limit=2')
    expect(empty.text).toBe((await node.operator('GET', '/accounts?limit=2')).text)
    expect((await node.operator('GET', '/customers?page_cursor=&limit=1')).status).toBe(200)
  })

  it("a list's cursor is validated also when the time range is empty", async () => {
    const never = { 'created_at.lt': '2020-01-01T00:00:00Z', 'created_at.gt': '2020-01-01T00:00:00Z' }
    expect((await list(never)).body).toEqual({ items: [] })
    expect((await list({ ...never, page_cursor: 'x' })).body.code).toBe('invalid_cursor')
  })
})
