/** The guarantees of `readPage` on every engine, under concurrent writes. */
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Db } from '../../../src/platform/store/db.ts'
import { InvalidCursor, type Page, type PageOrder, readPage } from '../../../src/platform/store/page.ts'
import { type Generated, sql } from '../../../src/platform/store/sql.ts'

interface Tables {
  record: { number: Generated<number>; id: string; owner: string; created_at: string }
}

type Row = { id: string; created_at: string }

const SEED = 20260101

/** A random generator that returns the same numbers for the same seed: from 0 up to but not including `below`. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export function describePages(db: () => Db): void {
  describe(`pages (seed ${SEED})`, () => {
    const random = randomOf(SEED)
    let made = 0
    /** Few timestamps and ids in random order, so that most records share their timestamp with others. */
    const newRecord = (owner: string, instants: number) => {
      const digest = createHash('sha256').update(`${SEED}:${made++}`).digest('hex')
      const id = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-7${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`
      return { id, owner, created_at: new Date(Date.UTC(2026, 0, 1) + random(instants)).toISOString() }
    }
    const write = async (owner: string, count: number, instants: number) => {
      const records = Array.from({ length: count }, () => newRecord(owner, instants))
      await db().tables<Tables>().insertInto('record').values(records).execute()
      return records
    }
    const read = (
      owner: string,
      order: PageOrder,
      limit: number | undefined,
      pageCursor?: string,
    ): Promise<Page<Row>> =>
      readPage(
        db().tables<Tables>(),
        db().tables<Tables>().selectFrom('record').select(['id', 'created_at']).where('owner', '=', owner),
        {
          operation: 'records',
          owner,
          filters: {},
          order,
          limit,
          pageCursor,
          idType: 'uuid',
        },
      )

    beforeAll(async () => {
      await sql`drop table if exists record`.execute(db().tables())
      await sql`
        create table record (
          number int generated always as identity, id uuid primary key, owner text not null,
          created_at timestamptz(3) not null
        )`.execute(db().tables())
      await sql`create index record_pages on record (owner, created_at, id)`.execute(db().tables())
    })

    it.each([
      { limit: 1, count: 12, order: 'DESC' },
      { limit: 1, count: 12, order: 'ASC' },
      { limit: 7, count: 60, order: 'ASC' },
      { limit: 100, count: 1_050, order: 'DESC' },
      { limit: 1_000, count: 3_100, order: 'ASC' },
    ] as const)(
      'pages of $limit give $count records once each, $order, while others are written',
      async ({ limit, count, order }) => {
        const owner = `writes-${limit}-${order}`
        const before = await write(owner, count, 10)
        await write('somebody else', 50, 10)
        const seen: Row[] = []
        let cursor: string | undefined
        do {
          const page: Page<Row> = await read(owner, order, limit, cursor)
          expect(page.items.length).toBeLessThanOrEqual(limit)
          seen.push(...page.items)
          cursor = page.next_page_cursor
          // At the same timestamps as the old ones: before, after and at the position of the cursor.
          if (seen.length < count) await write(owner, Math.ceil(limit / 10), 10)
        } while (cursor !== undefined)
        const ids = seen.map(({ id }) => id)
        expect(new Set(ids).size).toBe(ids.length)
        const present = new Set(ids)
        expect(before.filter(({ id }) => !present.has(id))).toEqual([])
        const keys = seen.map(({ created_at, id }) => `${created_at} ${id}`)
        expect(keys).toEqual(order === 'ASC' ? [...keys].sort() : [...keys].sort().reverse())
      },
    )

    it('pages have no cursor on the last page, even when it is full, and are empty when there are no records', async () => {
      expect(await read('nobody', 'DESC', 10)).toEqual({ items: [] })
      await write('full', 20, 3)
      const first = await read('full', 'DESC', 10)
      expect(first.items).toHaveLength(10)
      const last = await read('full', 'DESC', 10, first.next_page_cursor)
      expect(last.items).toHaveLength(10)
      expect(last).not.toHaveProperty('next_page_cursor')
    })

    it('pages hold 100 records by default, and the limit may change between pages', async () => {
      await write('limits', 130, 3)
      const first = await read('limits', 'ASC', undefined)
      expect(first.items).toHaveLength(100)
      const second = await read('limits', 'ASC', 1, first.next_page_cursor)
      expect(second.items).toHaveLength(1)
      expect((await read('limits', 'ASC', 1_000, second.next_page_cursor)).items).toHaveLength(29)
      await expect(read('limits', 'ASC', 0)).rejects.toThrow('limit')
      await expect(read('limits', 'ASC', 1_001)).rejects.toThrow('limit')
    })

    it('pages refuse the cursor of another list', async () => {
      const { next_page_cursor: cursor } = await read('limits', 'ASC', 1)
      await expect(read('limits', 'DESC', 1, cursor)).rejects.toThrow(InvalidCursor)
      await expect(read('full', 'ASC', 1, cursor)).rejects.toThrow(InvalidCursor)
    })
  })
}
