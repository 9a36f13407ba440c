/** Customers by the beginning of their names, and by their ids. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RestNode } from '../../support/rest.ts'

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open()
})
afterAll(() => node?.close())

const list = async (query: string) => (await node.operator('GET', `/customers?${query}`)).body
const create = async (name: string): Promise<string> => (await node.operator('POST', '/customers', { name })).body.id
const namesOf = async (search: string, more = '') =>
  (await list(`search=${encodeURIComponent(search)}${more}`)).items.map(({ name }: { name: string }) => name)

describe('the search of customers', () => {
  it('the customer search finds names that begin with its text in any case of letters, newest first, and no other', async () => {
    for (const name of ['Acme', 'acme corp', 'ACME Holding', 'Best of Acme', 'Ac']) await create(name)
    expect(await namesOf('aCmE')).toEqual(['ACME Holding', 'acme corp', 'Acme'])
    expect(await namesOf('acme', '&order=ASC')).toEqual(['Acme', 'acme corp', 'ACME Holding'])
    expect(await namesOf('acme c')).toEqual(['acme corp'])
    expect(await namesOf('acmee')).toEqual([])
  })

  it.each(['100%', 'under_score', 'back\\slash', "o'neil", '%', '_', '\\'])(
    'the customer search takes %s literally',
    async (begin) => {
      await create(`${begin} one`)
      await create('x under score 100 percent')
      expect(await namesOf(begin)).toEqual([`${begin} one`])
    },
  )

  it('the customer search has pages whose cursors belong to its text, and is combined with the other filters', async () => {
    const ids = []
    for (const number of [1, 2, 3]) ids.push(await create(`paged ${number}`))
    const first = await list('search=paged&limit=2')
    expect(first.items.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[1]])
    const next = await list(`search=paged&limit=2&page_cursor=${first.next_page_cursor}`)
    expect([next.items.length, next.items[0].id, next.next_page_cursor]).toEqual([1, ids[0], undefined])
    expect((await list(`search=page&page_cursor=${first.next_page_cursor}`)).code).toBe('invalid_cursor')
    expect((await list(`search=paged&ids=${ids[0]}`)).items).toHaveLength(1)
    expect((await list(`search=other&ids=${ids[0]}`)).items).toEqual([])
  })

  it.each([
    ['search=', 'search', 'must have at least 1 characters'],
    [`search=${'x'.repeat(201)}`, 'search', 'must have at most 200 characters'],
    ['search=a%00', 'search', 'must match pattern "^[^\\0]*$"'],
    ['ids=', 'ids', 'must be 1 to 100 UUIDs, separated by commas'],
    ['ids=x', 'ids', 'must be 1 to 100 UUIDs, separated by commas'],
  ])('the customer search refuses %s', async (query, parameter, detail) => {
    const refused = await list(query)
    expect([refused.code, refused.errors]).toEqual(['invalid_request', [{ parameter, detail }]])
  })
})

describe('customers by ids', () => {
  it('a customer query by ids returns the existing ones, in any case of letters, up to a hundred', async () => {
    const [first, second] = [await create('by id 1'), await create('by id 2')]
    const unknown = Array.from(
      { length: 98 },
      (_, index) => `018f0000-0000-7000-8000-${String(index).padStart(12, '0')}`,
    )
    const { items } = await list(`ids=${[first.toUpperCase(), ...unknown, second].join(',')}`)
    expect(items.map(({ id }: { id: string }) => id)).toEqual([second, first])
    expect((await list(`ids=${[first, second, ...unknown, unknown[0]].join(',')}`)).code).toBe('invalid_request')
  })
})
