import { expect, it } from 'vitest'
import { isObject, membersOf, parseJson } from '../../../src/platform/base/json-value.ts'

it('a JSON object is distinguished from every other JSON value', () => {
  expect([{}, { a: 1 }, [], null, 'text', 0, true, undefined].map(isObject)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
    false,
  ])
})

it("an object's members are returned, and none for any other text", () => {
  expect(['{"a":[1]}', '[1]', 'null', '{', ''].map((text) => membersOf(parseJson(text)))).toEqual([
    { a: [1] },
    {},
    {},
    {},
    {},
  ])
})
