/** The console's texts from values, and its values from texts. */
import { expect, test } from 'vitest'
import { wholeNumber } from '../../packages/console/src/base/format.ts'

test.each([
  ['12', 12],
  [' 0 ', 0],
  [' ', ''],
  ['1e3', '1e3'],
  ['0x10', '0x10'],
  ['9007199254740993', '9007199254740993'],
])('the console reads %j as %j, so no number is sent that was not typed', (typed, sent) => {
  expect(wholeNumber(typed)).toBe(sent)
})
