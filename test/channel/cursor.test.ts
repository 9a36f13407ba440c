import { expect, test } from 'vitest'
import { Cursors } from '../../src/channel/cursor.ts'

const cursors = () => new Cursors('AAAUSD', 'market_data', 5)

test('a cursor can be decoded to its position in any process', () => {
  for (const position of [0, 1, 999_999_999_999_999]) {
    expect(cursors().position('epoch', cursors().token('epoch', position))).toBe(position)
  }
})

test.each([
  ['another epoch', cursors().token('other', 7)],
  ['another market', new Cursors('BBBUSD', 'market_data', 5).token('epoch', 7)],
  ['another channel', new Cursors('AAAUSD', 'market_data.top_of_book', 5).token('epoch', 7)],
  ['another depth', new Cursors('AAAUSD', 'market_data', 10).token('epoch', 7)],
  ['nothing', ''],
  ['no position', cursors().token('epoch', 7).slice(0, -1)],
  ['more behind it', `${cursors().token('epoch', 7)}.1`],
  ['a leading zero', cursors().token('epoch', 7).replace('.7', '.07')],
  ['a sign', cursors().token('epoch', 7).replace('.7', '.-7')],
  ['an exponent', cursors().token('epoch', 7).replace('.7', '.7e1')],
  [
    'more digits than a number holds',
    cursors()
      .token('epoch', 7)
      .replace('.7', `.${'7'.repeat(16)}`),
  ],
])('a token with or of %s is none of these cursors', (_, token) => {
  expect(cursors().position('epoch', token)).toBeUndefined()
})

test('one object follows the epochs of its market', () => {
  const one = cursors()
  const before = one.token('epoch', 7)
  expect(one.position('next', before)).toBeUndefined()
  expect(one.position('epoch', before)).toBe(7)
})
