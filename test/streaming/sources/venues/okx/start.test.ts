import { describe, expect, it } from 'vitest'
import type { OkxBookData } from '../../../../../src/streaming/sources/venues/okx/message.ts'
import { OkxStart } from '../../../../../src/streaming/sources/venues/okx/start.ts'

const message = (previous: number, id: number): OkxBookData => {
  return { isSnapshot: false, bids: [], asks: [], sequence: { previous, id } }
}
const book = (id: number): OkxBookData => {
  return { isSnapshot: true, isFetched: true, bids: [], asks: [], sequence: { previous: -1, id } }
}
const ids = (joined: readonly OkxBookData[] | undefined) => joined?.map(({ sequence }) => sequence?.id)

/** What comes of the last of these: numbers are fetched books, pairs are messages. */
function last(...steps: readonly (number | readonly [number, number])[]): number[] | undefined {
  const start = new OkxStart()
  let joined: readonly OkxBookData[] | undefined
  for (const step of steps) {
    joined = typeof step === 'number' ? start.takeFetched(book(step)) : start.add(message(...step))
  }
  return ids(joined) as number[] | undefined
}

describe('a book that was fetched', () => {
  it.each([
    ['the number before the first message', [[10, 15], 10], [10, 15]],
    ['the number of a message in the middle', [[10, 15], [15, 20], [20, 30], 15], [15, 20, 30]],
    ['the number of the last message', [[10, 15], [15, 20], 20], [20]],
    ['the number that the next message follows', [20, [20, 30]], [20, 30]],
    ['the number of a message that comes later', [[10, 15], 30, [15, 30]], [30]],
    ['the number of a message that changes nothing', [[10, 10], 10], [10, 10]],
    ['a number that began again', [[100, 3], [3, 5], 3], [3, 5]],
  ] as const)('a book that was fetched joins messages that name %s', (_what, steps, joined) => {
    expect(last(...steps)).toEqual(joined)
  })

  it.each([
    ['there is no message yet', [10]],
    ['it lies between two messages', [[10, 15], [15, 20], 17]],
    ['it is older', [[10, 15], 9]],
    ['it is newer', [[10, 15], 16]],
    ['a newer one took its place', [15, 16, [15, 20]]],
    ['the message was before one that is missing', [[10, 15], [20, 30], 15]],
    ['a message is missing since it was fetched', [[10, 15], 30, [20, 25], [30, 40]]],
  ] as const)('a book that was fetched joins nothing when %s', (_what, steps) => {
    expect(last(...steps)).toBeUndefined()
  })

  it('a book that was fetched joins nothing that has no numbers', () => {
    const start = new OkxStart()
    const { sequence: _, ...unnumbered } = message(1, 2)
    start.add(message(10, 15))
    expect(start.add({ ...unnumbered, checksum: 7 })).toBeUndefined()
    expect(start.takeFetched(book(15))).toBeUndefined()
    const { sequence: __, ...unnumberedBook } = book(15)
    start.add(message(10, 15))
    expect(start.takeFetched(unnumberedBook)).toBeUndefined()
  })

  it('a book that was fetched is not compared with messages that are older than any answer', () => {
    const start = new OkxStart()
    for (let id = 1; id <= 201; id++) start.add(message(id - 1, id))
    expect(start.takeFetched(book(0))).toBeUndefined()
    expect(ids(start.takeFetched(book(1)))).toHaveLength(201)
  })
})
