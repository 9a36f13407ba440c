import { describe, expect, it } from 'vitest'
import { InvalidCursor, type PageOrder } from '../../../src/platform/store/page.ts'
import { pageInMemory } from '../../../src/platform/store/page-memory.ts'
import { Random } from '../../support/random.ts'

interface Thing {
  readonly id: string
  readonly createdMilliseconds: number
}

const request = { operation: 'things', owner: 'operator', filters: {} }

function idOf(number: number): string {
  return `018f0000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
}

function pagesOf(read: (pageCursor?: string) => ReturnType<typeof pageInMemory<Thing>>, between: () => void): Thing[] {
  const seen: Thing[] = []
  let cursor: string | undefined
  do {
    const page = read(cursor)
    seen.push(...page.items)
    cursor = page.next_page_cursor
    between()
  } while (cursor !== undefined)
  return seen
}

describe('pages in memory', () => {
  it.each<[PageOrder, number]>([
    ['ASC', 11],
    ['DESC', 12],
    ['ASC', 13],
    ['DESC', 14],
  ])(
    '%s hold every record exactly once that exists throughout, whatever is added and removed (seed %i)',
    (order, seed) => {
      const random = new Random(seed)
      for (let round = 0; round < 50; round++) {
        let made = 0
        const things = new Set<Thing>()
        // Few timestamps, so that many records share theirs; ids in random order; later records may even have earlier
        // timestamps.
        const make = (): Thing => {
          const thing = {
            id: idOf((made++ * 7919) % 65_536),
            createdMilliseconds: 1_790_000_000_000 + random.integer(5),
          }
          things.add(thing)
          return thing
        }
        const staying = Array.from({ length: random.integer(40) }, make)
        const leaving = Array.from({ length: 20 }, make)
        const limit = 1 + random.integer(9)
        const seen = pagesOf(
          (pageCursor) =>
            pageInMemory([...things], {
              ...request,
              order,
              limit,
              ...(pageCursor === undefined ? {} : { pageCursor }),
            }),
          () => {
            const gone = leaving.pop()
            if (gone !== undefined) things.delete(gone)
            if (made < 100) make()
          },
        )
        const ids = seen.map(({ id }) => id)
        expect(new Set(ids).size).toBe(ids.length)
        for (const { id } of staying) expect(ids, `seed ${seed}, round ${round}`).toContain(id)
        const sign = order === 'ASC' ? 1 : -1
        const sorted = seen.toSorted(
          (a, b) => sign * (a.createdMilliseconds - b.createdMilliseconds || (a.id < b.id ? -1 : 1)),
        )
        expect(seen).toEqual(sorted)
      }
    },
  )

  it('pages in memory have no cursor on the last page, even when it is full, nor for an empty list', () => {
    const things = [1, 2, 3, 4].map((number) => ({ id: idOf(number), createdMilliseconds: number }))
    const first = pageInMemory(things, { ...request, order: 'ASC', limit: 2 })
    expect(first.items).toEqual(things.slice(0, 2))
    const pageCursor = first.next_page_cursor as string
    expect(pageInMemory(things, { ...request, order: 'ASC', limit: 2, pageCursor })).toEqual({ items: things.slice(2) })
    expect(pageInMemory([], { ...request, order: 'ASC', limit: 2 })).toEqual({ items: [] })
  })

  it('pages in memory refuse the cursor of another list, order or filter', () => {
    const things = [1, 2].map((number) => ({ id: idOf(number), createdMilliseconds: number }))
    const { next_page_cursor: pageCursor = '' } = pageInMemory(things, { ...request, order: 'ASC', limit: 1 })
    const others = [{ operation: 'others' }, { order: 'DESC' as const }, { filters: { client_id: 'x' } }]
    for (const other of others) {
      const read = () => pageInMemory(things, { ...request, order: 'ASC', limit: 1, pageCursor, ...other })
      expect(read).toThrow(InvalidCursor)
    }
  })
})
