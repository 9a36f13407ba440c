import { expect, test } from 'vitest'
import { Cursors, PreviousMessages } from '../../../src/streaming/sequencing/cursor.ts'

const EPOCH = { id: 'epoch', base: 0 }
const OTHER = { id: 'other', base: 0 }
const NEXT = { id: 'next', base: 0 }

const cursors = () => new Cursors('AAAUSD', 'market_data', 5)

test('a cursor can be decoded to its position in any process', () => {
  for (const position of [0, 1, 999_999_999_999_999]) {
    expect(cursors().position(EPOCH, cursors().token(EPOCH, position))).toBe(position)
  }
})

test.each([
  ['another epoch', cursors().token(OTHER, 7)],
  ['another market', new Cursors('BBBUSD', 'market_data', 5).token(EPOCH, 7)],
  ['another channel', new Cursors('AAAUSD', 'market_data.top_of_book', 5).token(EPOCH, 7)],
  ['another depth', new Cursors('AAAUSD', 'market_data', 10).token(EPOCH, 7)],
  ['nothing', ''],
  ['no position', cursors().token(EPOCH, 7).slice(0, -1)],
  ['more behind it', `${cursors().token(EPOCH, 7)}.1`],
  ['a leading zero', cursors().token(EPOCH, 7).replace('.7', '.07')],
  ['a sign', cursors().token(EPOCH, 7).replace('.7', '.-7')],
  ['an exponent', cursors().token(EPOCH, 7).replace('.7', '.7e1')],
  [
    'more digits than a number holds',
    cursors()
      .token(EPOCH, 7)
      .replace('.7', `.${'7'.repeat(16)}`),
  ],
])('a token with %s is not a cursor', (_, token) => {
  expect(cursors().position(EPOCH, token)).toBeUndefined()
})

test('one cursor object follows the epochs of its market', () => {
  const one = cursors()
  const before = one.token(EPOCH, 7)
  expect(one.position(NEXT, before)).toBeUndefined()
  expect(one.position(EPOCH, before)).toBe(7)
})

test('a position is counted from the beginning of the epoch, so processes that know more epochs give the same token', () => {
  const token = cursors().token({ id: 'next', base: 1_000 }, 1_007)
  expect(token).toBe(cursors().token(NEXT, 7))
  expect(cursors().position({ id: 'next', base: 1_000 }, token)).toBe(1_007)
})

const WITHDRAWN = { id: 'withdrawn', base: 9 }
const LATER = { id: 'second', base: 4 }

test('messages of the present book have its epoch, and those of an earlier one none, however its versions are counted', () => {
  const previous = new PreviousMessages()
  previous.begin(EPOCH, 0)
  expect(previous.epochOf(7)).toBe(EPOCH)
  // The base of an epoch that is followed from a state on may be far below its first version here.
  previous.begin(LATER, 8)
  expect([previous.epochOf(7), previous.epochOf(8)]).toEqual([undefined, LATER])
})

test('the message that withdraws a book follows the one before it, and no message follows it', () => {
  for (const epoch of [EPOCH, WITHDRAWN]) {
    const previous = new PreviousMessages()
    previous.begin(EPOCH, 0)
    previous.withdraw(10, epoch)
    expect([previous.epochOf(7), previous.epochOf(10)]).toEqual([EPOCH, undefined])
    previous.begin(LATER, 12)
    expect([previous.epochOf(7), previous.epochOf(10), previous.epochOf(12)]).toEqual([undefined, undefined, LATER])
  }
})
