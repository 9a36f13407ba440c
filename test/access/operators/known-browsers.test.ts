/** How long and for whom a browser is known; what it is known for is tested with guesses. */
import { expect, it } from 'vitest'
import { KNOWN_SECONDS, knownBrowserId, knownBrowserValue } from '../../../src/access/operators/known-browsers.ts'

const HOLDER = { id: 'ada', password: 'stored form' }
const END = KNOWN_SECONDS * 1_000
const VALUE = knownBrowserValue(HOLDER, 999)
const [ID = '', , SIGNATURE = ''] = VALUE.split('.')

it.each([
  ['known until its last millisecond', HOLDER, VALUE, END - 1, ID],
  ['unknown after 180 days', HOLDER, VALUE, END, undefined],
  ['unknown to another operator with this password', { ...HOLDER, id: 'bob' }, VALUE, 0, undefined],
  ['unknown after a new password', { ...HOLDER, password: 'other' }, VALUE, 0, undefined],
  ['unknown with a later end', HOLDER, `${ID}.${KNOWN_SECONDS + 1}.${SIGNATURE}`, 0, undefined],
  ['unknown with another id', HOLDER, `${'x'.repeat(16)}.${KNOWN_SECONDS}.${SIGNATURE}`, 0, undefined],
  ['unknown with a shorter signature', HOLDER, VALUE.slice(0, -1), 0, undefined],
  ['unknown without a cookie', HOLDER, undefined, 0, undefined],
])('a browser is %s', (_what, holder, value, now, expected) => {
  expect(knownBrowserId(holder, value, now)).toBe(expected)
})
