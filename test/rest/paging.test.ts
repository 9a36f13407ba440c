/**
 * Pages of a list under concurrent writes: every record that existed at the first request and matched throughout is
 * returned once, in order. Records share timestamps, pages have any size, and cursors survive a restart.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/platform/store/sql.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { Random } from '../support/random.ts'
import { type RestCustomer, RestNode } from '../support/rest.ts'
import { ADDRESSES, newAccount, RULES, ruleBody } from '../support/rules.ts'

const ACCOUNTS = '/v2/identity/accounts'
const isLong = process.env.TIDEGATE_LONG === '1'
const SEED = Number(process.env.TIDEGATE_SEED ?? 20_260_101)
const ROUNDS = isLong ? 200 : 6
const RECORDS = 60

interface Listed {
  readonly id: string
  readonly created_at: string
}

describe(`pages of lists while others write (seed ${SEED})`, () => {
  const random = new Random(SEED)
  let node: RestNode
  let customer: RestCustomer
  let profileId: string
  let names = 0

  const name = () => `name ${++names}`
  const create = {
    [ACCOUNTS]: () => customer.call('POST', ACCOUNTS, { account: { identity_id: random.pick(['alice', 'bob']) } }),
    [ADDRESSES]: () =>
      customer.call('POST', ADDRESSES, {
        profile_id: profileId,
        crypto_network: 'ETHEREUM',
        identity_id: random.pick(['alice', 'bob']),
      }),
    [RULES]: () => {
      const source_asset = random.pick(['USDC', 'USDG'])
      return customer.call(
        'POST',
        RULES,
        ruleBody(profileId, { ref_id: name(), source_asset, source: { profile: { profile_id: profileId } } }),
      )
    },
  }
  const filters: Readonly<Record<string, readonly string[]>> = {
    [ACCOUNTS]: ['', 'identity_id=alice', 'created_at.gte=2026-01-01T00:00:00Z', 'updated_at.gte=2026-01-01T00:00:00Z'],
    [ADDRESSES]: [
      '',
      'identity_ids=alice',
      'identity_ids=alice&identity_ids=bob',
      'profile_ids=PROFILE&identity_ids=bob',
    ],
    [RULES]: [
      '',
      'source_asset=USDC',
      'status=ACTIVE',
      'status=ACTIVE,DELETED&source_asset=USDC',
      'profile_id=PROFILE',
    ],
  }
  const paths = Object.keys(filters)

  beforeAll(async () => {
    node = await RestNode.open({ flags: ALL_KEYS })
    customer = await node.newCustomer()
    profileId = (await newAccount(customer)).profileId
    for (const path of paths) for (let index = 0; index < RECORDS; index++) await make(path)
    // Few timestamps for many records, so that most records share theirs.
    for (const table of ['accounts', 'deposit_addresses', 'rules']) {
      await sql`update ${sql.table(table)} set created_at = date_trunc('minute', created_at) - interval '1 hour'`.execute(
        node.db.tables(),
      )
    }
    // None of them was changed.
    await sql`update accounts set updated_at = created_at`.execute(node.db.tables())
  })
  afterAll(() => node?.close())

  async function make(path: string): Promise<void> {
    const answer = await create[path as keyof typeof create]()
    expect(answer.status, answer.text).toBe(200)
  }

  async function read(path: string, query: string, order: string, from = node): Promise<Listed[]> {
    const { items } = await page(path, query, order, 1_000, undefined, from)
    return items
  }

  async function page(path: string, query: string, order: string, limit: number, cursor?: string, from = node) {
    const parameters = new URLSearchParams(query)
    parameters.set('order', order)
    parameters.set('limit', String(limit))
    if (cursor !== undefined) parameters.set('page_cursor', cursor)
    const headers = { authorization: `Bearer ${customer.token}` }
    const answer = await from.send('GET', `${path}?${parameters}`, undefined, headers)
    expect(answer.status, answer.text).toBe(200)
    return answer.body as { items: Listed[]; next_page_cursor?: string }
  }

  /** A random write; only the deletion of a rule removes a record from a filter. */
  async function disturb(path: string, matched: readonly Listed[], gone: Set<string>): Promise<void> {
    const victim = random.pick(matched)
    if (path === ADDRESSES || victim === undefined || random.chance(0.5)) return await make(path)
    if (path === ACCOUNTS) {
      await customer.call('PUT', ACCOUNTS, { id: victim.id, description: name() })
      return
    }
    await customer.call('DELETE', `${RULES}/${victim.id}`)
    gone.add(victim.id)
  }

  it('list pages return every matching record exactly once while others write, in both orders, with any page sizes', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const path = random.pick(paths)
      const query = random.pick(filters[path] as readonly string[]).replace('PROFILE', profileId)
      const order = random.pick(['ASC', 'DESC'])
      const what = `round ${round}: ${path}?${query} ${order}`
      const before = await read(path, query, order)
      const gone = new Set<string>()
      const seen: Listed[] = []
      // Half of the clients continue at another node of the same store, as after a restart.
      const other = random.chance(0.5) ? await RestNode.open({ db: node.db, flags: ALL_KEYS }) : undefined
      let cursor: string | undefined
      do {
        const limit = random.pick([1, 7, 100, 1_000, 1 + random.integer(40)])
        const from = seen.length === 0 ? node : (other ?? node)
        const { items, next_page_cursor } = await page(path, query, order, limit, cursor, from)
        expect(items.length, what).toBeLessThanOrEqual(limit)
        if (next_page_cursor !== undefined) expect(items, what).toHaveLength(limit)
        seen.push(...items)
        cursor = next_page_cursor
        if (cursor !== undefined && random.chance(0.4)) await disturb(path, before, gone)
      } while (cursor !== undefined)
      await other?.close()
      const ids = seen.map(({ id }) => id)
      expect(new Set(ids).size, `${what}: nothing twice`).toBe(ids.length)
      const held = before.filter(({ id }) => !gone.has(id)).map(({ id }) => id)
      expect(
        ids.filter((id) => held.includes(id)),
        `${what}: everything, in order`,
      ).toEqual(held)
      expect(seen.map(placeOf), `${what}: sorted`).toEqual(inOrder(seen, order).map(placeOf))
    }
  })

  it('list pages lose or repeat no record at a boundary while others write, with one record per page', async () => {
    for (const path of paths) {
      const all = (await read(path, '', 'ASC')).slice(0, 30)
      const seen: string[] = []
      let cursor: string | undefined
      while (seen.length < all.length) {
        const { items, next_page_cursor } = await page(path, '', 'ASC', 1, cursor)
        seen.push(...items.map(({ id }) => id))
        cursor = next_page_cursor
      }
      expect(seen).toEqual(all.map(({ id }) => id))
    }
  })

  it('list pages refuse a cursor of another customer, other filters, another order or another list', async () => {
    const stranger = await node.newCustomer()
    const { next_page_cursor: cursor } = await page(ACCOUNTS, 'identity_id=alice', 'ASC', 2)
    const good = `${ACCOUNTS}?identity_id=alice&order=ASC&page_cursor=${cursor}`
    expect((await customer.call('GET', `${good}&limit=3`)).status).toBe(200)
    const wrong = [
      await stranger.call('GET', good),
      await customer.call('GET', good.replace('alice', 'bob')),
      await customer.call('GET', good.replace('identity_id=alice&', '')),
      await customer.call('GET', `${good}&created_at.gte=2026-01-01T00:00:00Z`),
      await customer.call('GET', good.replace('ASC', 'DESC')),
      await customer.call('GET', `${RULES}?order=ASC&page_cursor=${cursor}`),
      await customer.call('GET', `${ADDRESSES}?order=ASC&page_cursor=${cursor}`),
      await customer.call('GET', `${good.slice(0, -1)}`),
    ]
    expect(wrong.map(({ status, body }) => [status, body.code])).toEqual(wrong.map(() => [400, 'invalid_cursor']))
  })
})

function placeOf({ created_at, id }: Listed): string {
  return `${created_at} ${id}`
}

function inOrder(records: readonly Listed[], order: string): Listed[] {
  const sign = order === 'ASC' ? 1 : -1
  return [...records].sort((left, right) => (placeOf(left) < placeOf(right) ? -sign : sign))
}
