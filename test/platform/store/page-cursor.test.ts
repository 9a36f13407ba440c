import { describe, expect, it } from 'vitest'
import { decodeCursor, encodeCursor, InvalidCursor, type PageBinding } from '../../../src/platform/store/page-cursor.ts'

const binding: PageBinding = {
  operation: 'list_accounts',
  owner: 'customer-1',
  filters: { identity_id: 'i1', ids: ['b', 'a'], 'created_at.gt': undefined },
  order: 'DESC',
}
const position = { createdAt: '2026-11-20T10:11:12.123Z', id: '018f0000-0000-7000-8000-00000000000a' }
const forged = (...parts: string[]) => Buffer.from(parts.join('|')).toString('base64url')
const digest = Buffer.from(encodeCursor(position, binding), 'base64url').toString().split('|')[0] as string

describe('a page cursor', () => {
  it('a page cursor returns its position, to the microsecond', () => {
    expect(decodeCursor(encodeCursor(position, binding), binding, 'uuid')).toEqual(position)
    const fine = { createdAt: '0001-01-01T00:00:00.000001Z', id: '9223372036854775807' }
    expect(decodeCursor(encodeCursor(fine, binding), binding, 'bigint')).toEqual(fine)
  })

  it('a page cursor is equal for equivalent filters', () => {
    const same = { ...binding, filters: { ids: ['a', 'b'], identity_id: 'i1' } }
    expect(encodeCursor(position, same)).toBe(encodeCursor(position, binding))
  })

  it.each<[string, Partial<PageBinding>]>([
    ['operation', { operation: 'list_rules' }],
    ['owner', { owner: 'customer-2' }],
    ['order', { order: 'ASC' }],
    ['filter value', { filters: { ...binding.filters, identity_id: 'i2' } }],
    ['filter name', { filters: { ids: ['a', 'b'], other_id: 'i1' } }],
    ['filter more', { filters: { ...binding.filters, 'created_at.gt': '2026-01-01T00:00:00Z' } }],
    ['filter less', { filters: { identity_id: 'i1' } }],
    ['list of values', { filters: { ...binding.filters, ids: ['a', 'b', 'c'] } }],
    ['value for a list', { filters: { ...binding.filters, ids: 'a,b' } }],
  ])('a page cursor is refused with another %s', (_, other) => {
    expect(() => decodeCursor(encodeCursor(position, binding), { ...binding, ...other }, 'uuid')).toThrow(InvalidCursor)
  })

  it.each([
    ['nothing', ''],
    ['no base64url', '*'],
    ['padding', `${encodeCursor(position, binding)}=`],
    ['a blank inside', ` ${encodeCursor(position, binding)}`],
    ['cut off', encodeCursor(position, binding).slice(0, -4)],
    ['no digest', forged('', position.createdAt, position.id)],
    ['another part', forged(digest, position.createdAt, position.id, 'x')],
    ['no id', forged(digest, position.createdAt, '')],
    ['30 February', forged(digest, '2026-02-30T00:00:00.000Z', position.id)],
    ['24 o’clock', forged(digest, '2026-02-03T24:00:00.000Z', position.id)],
    ['year 0', forged(digest, '0000-01-01T00:00:00.000Z', position.id)],
    ['a time in words', forged(digest, 'now', position.id)],
    ['an offset', forged(digest, '2026-11-20T10:11:12.123+01:00', position.id)],
    ['an id in capitals', forged(digest, position.createdAt, position.id.toUpperCase())],
    ['a number for an id', forged(digest, position.createdAt, '1')],
    ['bytes beyond ASCII', Buffer.from([0xff, 0x7c, 0xfe, 0x7c, 0xfd]).toString('base64url')],
  ])('a page cursor that is %s is refused', (_, cursor) => {
    expect(() => decodeCursor(cursor, binding, 'uuid')).toThrow(InvalidCursor)
  })

  it.each(['9223372036854775808', '-1', '01', '1e3', ' 1'])(
    'a page cursor with the number %s for an id is refused',
    (id) => {
      const cursor = encodeCursor({ ...position, id }, binding)
      expect(() => decodeCursor(cursor, binding, 'bigint')).toThrow(InvalidCursor)
    },
  )

  it('a page cursor with bytes for an id is refused where they contain a zero byte, which no stored text has', () => {
    const idOf = (id: string) => decodeCursor(encodeCursor({ ...position, id }, binding), binding, 'hex').id
    for (const id of ['41', '5001']) expect(idOf(id)).toBe(id)
    for (const id of ['00', '4100', '0041', '4', '4A']) expect(() => idOf(id)).toThrow(InvalidCursor)
  })

  it('a page cursor that is forged with a valid position is accepted: the digest distinguishes lists and protects no secret', () => {
    expect(decodeCursor(forged(digest, position.createdAt, position.id), binding, 'uuid')).toEqual(position)
  })
})
