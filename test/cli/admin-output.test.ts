import { describe, expect, it } from 'vitest'
import { listText, recordText } from '../../src/cli/admin/admin-output.ts'

describe('a record', () => {
  it('a record is printed as one line per member, and a table per list of records', () => {
    const text = recordText({
      symbol: 'BTCUSD',
      live: true,
      best: { price: '1.00' },
      scopes: ['a', 'b'],
      none: [],
      bids: [
        { price: '1.00', amount: '0.5' },
        { price: '0.99', amount: '12' },
      ],
    })
    expect(text).toBe(`symbol      BTCUSD
live        true
best price  1.00
scopes      a b
none

bids
price  amount
1.00   0.5
0.99   12
`)
  })

  it('a record cannot send control sequences to a terminal, by a value or by a name', () => {
    expect(recordText({ 'na\u001b[2Jme': 'va\u0007lue' })).toBe('na?[2Jme  va?lue\n')
  })
})

describe('a list', () => {
  it('a list omits columns without a value, and shows nested members and records', () => {
    const items = [{ id: 1, best: { price: '2' }, entries: [{ a: 1 }] }, { id: 2 }]
    expect(listText({ items }, ['id', 'best.price', 'gone', 'entries'])).toBe(
      'id  best price  entries\n1   2           {"a":1}\n2   -           -\n',
    )
    expect(listText({ items: [], next_page_cursor: 'x' }, ['id'])).toBe('(none)\n')
  })
})
