/** What counts as a change between the record that one operator saw and the present one. */
import { expect, it } from 'vitest'
import { changesBetween, versionOf } from '../../../src/access/operators/seen-records.ts'

it('use and its times are no change of a record, wherever they stand', () => {
  const record = {
    name: 'a',
    last_login_at: null,
    limits: [{ amount: '5', use: '0' }],
    tokens: { one: { last_used_at: 'x' } },
  }
  const used = {
    name: 'a',
    last_login_at: 'y',
    limits: [{ amount: '5', use: '3' }],
    tokens: { one: { last_used_at: 'z' } },
  }
  expect(versionOf(used)).toBe(versionOf(record))
  expect(changesBetween(record, used)).toEqual([])
})

it('each member of the metadata counts, whatever name the customer gave it', () => {
  const record = { id: 'a', metadata: { use: 'rent', last_used_at: '1' } }
  const changed = { id: 'a', metadata: { use: 'salary', last_used_at: '1' } }
  expect(versionOf(changed)).not.toBe(versionOf(record))
  expect(changesBetween(record, changed)).toEqual([{ field: 'metadata.use', before: 'rent', now: 'salary' }])
})

it('a change names each field that differs, with what it was and is, whatever the order of the members', () => {
  const before = { b: { x: 1, y: [1, 2] }, a: 'same', gone: null, empty: {} }
  const now = { a: 'same', empty: { filled: 0 }, b: { y: [2, 1], x: 1 }, new: false }
  expect(changesBetween(before, now)).toEqual([
    { field: 'b.y', before: [1, 2], now: [2, 1] },
    { field: 'empty', before: {} },
    { field: 'empty.filled', now: 0 },
    { field: 'gone', before: null },
    { field: 'new', now: false },
  ])
  expect(versionOf({ b: { y: 1, x: 2 }, a: 0 })).toBe(versionOf({ a: 0, b: { x: 2, y: 1 } }))
})
