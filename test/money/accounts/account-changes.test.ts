/**
 * Accounts by the time of their last change, compared with a plain list in memory: accounts from before the index of
 * changes existed, changed milliseconds to decades after their creation, and changed again between pages. Ranges with
 * more accounts than a page examines are read in pages that end early.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { MIGRATIONS } from '../../../src/platform/store/migrations/index.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { fillAccounts } from '../../support/many-records.ts'
import { Random } from '../../support/random.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { openTestStore } from '../../support/test-store.ts'

const PATH = '/v2/identity/accounts'
const IDENTITIES = ['alice', 'bob']
const isLong = process.env.TIDEGATE_LONG === '1'
const SEED = Number(process.env.TIDEGATE_SEED ?? 20_261_120)
const COUNT = 150
const ROUNDS = isLong ? 600 : 16

interface Item {
  readonly id: string
  readonly identity_id: string
  readonly created_at: string
  readonly updated_at: string
}

type Filters = Readonly<Record<string, string>>

const compare: Record<string, (left: string, right: string) => boolean> = {
  lt: (left, right) => left < right,
  lte: (left, right) => left <= right,
  eq: (left, right) => left === right,
  gte: (left, right) => left >= right,
  gt: (left, right) => left > right,
}

describe(`accounts by their last change (seed ${SEED})`, () => {
  const random = new Random(SEED)
  let db: Db
  let node: RestNode
  let customer: RestCustomer

  beforeAll(async () => {
    const { log } = captureLog()
    db = await openTestStore({ log, isMigrated: false })
    const isOld = ({ name }: { name: string }) => !name.endsWith('-changes-by-index')
    await migrate(db, log, MIGRATIONS.filter(isOld))
    node = await RestNode.open({ db })
    customer = await node.newCustomer()
    for (const { customerId } of [customer, await node.newCustomer()]) await insertOld(customerId)
    expect((await migrate(db, log)).applied).toHaveLength(1)
  })
  afterAll(async () => {
    await node?.close()
    await db?.close()
  })

  /** Few creation times, so that most accounts share theirs. */
  async function insertOld(customerId: string): Promise<void> {
    for (let index = 0; index < COUNT; index++) {
      const createdMilliseconds = Date.parse('2025-03-01T00:00:00Z') + random.integer(40) * 700_000_003
      const after = random.chance(0.4) ? 0 : 1 + Math.floor(32 ** (random.next() * 8))
      const [created, updated] = [createdMilliseconds, createdMilliseconds + after].map((at) =>
        new Date(at).toISOString(),
      )
      await sql`
        insert into accounts (id, customer_id, identity_id, metadata, members, type, review_status, admin_disabled,
          user_disabled, created_at, updated_at)
        values (${newId()}, ${customerId}, ${random.pick(IDENTITIES)}, '{}', '[]', 'BROKERAGE', 'PENDING', false,
          false, ${created}, ${updated})
      `.execute(db.tables())
    }
  }

  async function page(filters: Filters, cursor?: string): Promise<{ items: Item[]; next_page_cursor?: string }> {
    const query = new URLSearchParams({ ...filters, ...(cursor === undefined ? {} : { page_cursor: cursor }) })
    const { status, body, text } = await customer.call('GET', `${PATH}?${query}`)
    expect(status, text).toBe(200)
    return body
  }

  const all = async (order = 'ASC') => (await page({ limit: '1000', order })).items

  async function change(items: readonly Item[]): Promise<void> {
    const body = { id: random.pick(items).id, description: newId() }
    expect((await customer.call('PUT', PATH, body)).status).toBe(200)
  }

  function matches(item: Item, filters: Filters): boolean {
    return Object.entries(filters).every(([name, value]) => {
      const [member, comparison = 'eq'] = name.split('.') as [keyof Item, string | undefined]
      if (member === 'identity_id') return item.identity_id === value
      return compare[comparison]?.(nanosecondsOf(item[member]), nanosecondsOf(value))
    })
  }

  /** One to three conditions on the time of change, and sometimes on the creation time and an identity. */
  function anyFilters(items: readonly Item[]): Filters {
    const filters: Record<string, string> = {}
    const time = (member: 'created_at' | 'updated_at') => {
      const at = Date.parse(random.pick(items)[member]) + random.integer(3) - 1
      return new Date(at).toISOString().replace('Z', random.pick(['Z', 'Z', '5Z', '000001Z']))
    }
    const name = (member: string) => `${member}.${random.pick(Object.keys(compare))}`
    for (let more = random.integer(3); more >= 0; more--) filters[name('updated_at')] = time('updated_at')
    if (random.chance(0.3)) filters[name('created_at')] = time('created_at')
    if (random.chance(0.4)) filters.identity_id = random.pick([...IDENTITIES, ...IDENTITIES, 'nobody'])
    return filters
  }

  it('accounts filtered by last change are exactly those in the range, in creation order, while they are being changed', async () => {
    let found = 0
    for (let round = 0; round < ROUNDS; round++) {
      const order = random.pick(['ASC', 'DESC'])
      const before = await all(order)
      const filters = anyFilters(before)
      const what = `round ${round}: ${JSON.stringify(filters)} ${order}`
      const limit = random.pick([3, 100, 1_000, 1 + random.integer(20)])
      const changesBetween = random.pick([0, 0, 1, 4])
      const seen: Item[] = []
      let cursor: string | undefined
      do {
        const changes = Array.from({ length: changesBetween }, () => change(before))
        const [answer] = await Promise.all([page({ ...filters, order, limit: String(limit) }, cursor), ...changes])
        expect(answer.items.length, what).toBeLessThanOrEqual(limit)
        seen.push(...answer.items)
        cursor = answer.next_page_cursor
        // The page finds one account more than the limit, and leaves out those that change before it reads them.
        const leftOutMax = Math.max(0, changesBetween - 1)
        if (cursor !== undefined) expect(answer.items.length, what).toBeGreaterThanOrEqual(limit - leftOutMax)
      } while (cursor !== undefined)

      const after = new Map((await all()).map((item) => [item.id, item]))
      const ids = seen.map(({ id }) => id)
      // A change only moves it later: an account in the range before and after was in it all the time.
      const held = before.filter((item) => matches(item, filters) && matches(after.get(item.id) as Item, filters))
      const heldIds = new Set(held.map(({ id }) => id))
      expect(
        ids.filter((id) => heldIds.has(id)),
        `${what}: everything once, in order`,
      ).toEqual(held.map(({ id }) => id))
      expect(new Set(ids).size, `${what}: nothing twice`).toBe(ids.length)
      expect(
        seen.filter((item) => !matches(item, filters)),
        `${what}: nothing else`,
      ).toEqual([])
      found += seen.length
    }
    expect(found).toBeGreaterThan(ROUNDS * 5)
  })

  it('accounts filtered by last change are the same one by one as all at once', async () => {
    const items = await all()
    const filters = { 'updated_at.lt': (items[90] as Item).updated_at }
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { items: one, next_page_cursor } = await page({ ...filters, order: 'ASC', limit: '1' }, cursor)
      seen.push(...one.map(({ id }) => id))
      cursor = next_page_cursor
    } while (cursor !== undefined)
    expect(seen).toEqual(items.filter((item) => matches(item, filters)).map(({ id }) => id))
  })

  describe('of a customer with more accounts than a page examines', () => {
    const CHANGED_COUNT = 5_250
    const FIRST_MILLISECONDS = Date.parse('2026-01-01T00:00:00Z')
    /** The newer half of the accounts was changed an hour after its creation. */
    const timeAfter = (milliseconds: number) => new Date(FIRST_MILLISECONDS + milliseconds).toISOString()
    const changed = { 'updated_at.gte': timeAfter(3_600_000) }
    let big: RestCustomer

    beforeAll(async () => {
      big = await node.newCustomer()
      const { customerId } = big
      const count = 2 * CHANGED_COUNT
      await fillAccounts(db, { customerId, count, firstMilliseconds: FIRST_MILLISECONDS, changed: 'newest half' })
    })

    async function pageOf(filters: Filters): Promise<{ items: Item[]; next_page_cursor?: string }> {
      const { status, body, text } = await big.call('GET', `${PATH}?${new URLSearchParams(filters)}`)
      expect(status, text).toBe(200)
      return body
    }

    it('a filter by last change ends a page early after 2,500 examined accounts, and is complete over all pages', async () => {
      const sizes: number[] = []
      const seen: Item[] = []
      let cursor: string | undefined
      do {
        const found = await pageOf({
          ...changed,
          order: 'ASC',
          limit: '1000',
          ...(cursor ? { page_cursor: cursor } : {}),
        })
        sizes.push(found.items.length)
        seen.push(...found.items)
        cursor = found.next_page_cursor
      } while (cursor !== undefined)
      expect(sizes).toEqual([0, 0, 1_000, 1_000, 1_000, 1_000, 1_000, 250])
      expect(new Set(seen.map(({ id }) => id)).size).toBe(CHANGED_COUNT)
      expect(seen.map(({ created_at }) => created_at)).toEqual(seen.map(({ created_at }) => created_at).toSorted())
    })

    it('a filter by last change finds fewer accounts in one page, however many precede them', async () => {
      const last = timeAfter(3_600_000 + (2 * CHANGED_COUNT) / 3 - 1)
      const { items, next_page_cursor } = await pageOf({ 'updated_at.gte': last, order: 'ASC' })
      expect(items.map(({ updated_at }) => updated_at)).toEqual([last, last, last])
      expect(next_page_cursor).toBeUndefined()
    })

    it('a filter by last change is combined with identity and creation, in a range of either size', async () => {
      const created = { 'created_at.lt': timeAfter((2 * CHANGED_COUNT) / 3 - 1) }
      const identity = { identity_id: 'identity 1', ...created, order: 'ASC' }
      // One in 50 of the newest tenth has this identity; their changes are fewer than a page examines, and then more.
      for (const from of [timeAfter(3_600_000 + 3_000), timeAfter(3_600_000)]) {
        const { items } = await pageOf({ 'updated_at.gte': from, ...identity })
        expect(items).toHaveLength(21)
        expect(new Set(items.map(({ identity_id }) => identity_id))).toEqual(new Set(['identity 1']))
      }
    })
  })
})

/** In a form that sorts as text. */
function nanosecondsOf(time: string): string {
  const [seconds, fraction = ''] = time.replace('Z', '').split('.')
  return `${seconds}.${fraction.padEnd(9, '0')}`
}
