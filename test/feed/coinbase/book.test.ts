import { describe, expect, it } from 'vitest'
import { createCoinbaseProtocol } from '../../../src/feed/coinbase/protocol.ts'
import type { BookStep, Listing } from '../../../src/feed/venue.ts'
import { ASK, BID, type LevelChange } from '../../../src/market/event.ts'

const LISTING: Listing = { symbol: 'BTC-USD', priceDecimals: 2, amountDecimals: 8, status: 'online', state: 'open' }

function bookOf(listing: Listing = LISTING, priceMaximum = Number.MAX_SAFE_INTEGER) {
  const protocol = createCoinbaseProtocol()
  const book = protocol.createBook({ listing, depth: Infinity, priceMaximum })
  return (message: object): BookStep => {
    const [first] = protocol.read(JSON.stringify({ product_id: listing.symbol, ...message }))
    if (first?.kind !== 'book') throw new Error(`no book: ${JSON.stringify(first)}`)
    return book.apply(first.data)
  }
}

const SNAPSHOT = { type: 'snapshot', bids: [['100.00', '1.5']], asks: [['100.01', '2']] }
const update = (...changes: string[][]) => ({ type: 'l2update', changes })

describe('a book of Coinbase', () => {
  const level = (side: 0 | 1, price: number, amount: number | bigint): LevelChange => ({ side, price, amount })

  it('begins with a snapshot, and hands on every change as an integer', () => {
    const apply = bookOf()
    expect(apply(update(['buy', '99', '1']))).toEqual({ kind: 'waiting' })
    expect(apply(SNAPSHOT)).toEqual({
      kind: 'snapshot',
      levels: [level(BID, 10_000, 150_000_000), level(ASK, 10_001, 200_000_000)],
    })
    const changes = [
      ['sell', '100.01', '0.00000000'],
      ['buy', '99.99', '99999999999.00000001'],
      ['buy', '50', '0'],
      ['sell', '100.01', '0.5'],
    ]
    expect(apply(update(...changes))).toEqual({
      kind: 'update',
      changes: [
        level(ASK, 10_001, 0),
        level(BID, 9_999, 9_999_999_999_900_000_001n),
        level(BID, 5_000, 0),
        level(ASK, 10_001, 50_000_000),
      ],
    })
    expect(apply(update())).toEqual({ kind: 'update', changes: [] })
  })

  it('is replaced by another snapshot', () => {
    const apply = bookOf()
    apply(SNAPSHOT)
    const empty = { type: 'snapshot', bids: [], asks: [] }
    expect(apply(empty)).toEqual({ kind: 'snapshot', levels: [] })
  })

  it.each([
    ['a price of nothing', ['buy', '0.00', '1'], 'cannot take price 0.00'],
    ['a negative price', ['buy', '-1', '1'], 'cannot take price -1'],
    ['a price finer than listed', ['sell', '1.001', '1'], 'cannot take price 1.001'],
    [
      'a price beyond what can be held',
      ['sell', '1000.01', '1'],
      'price 1000.01 has no place in a market of so many price decimals',
    ],
    [
      'a price beyond what anyone can hold',
      ['sell', '9'.repeat(17), '1'],
      `price ${'9'.repeat(17)} has no place in a market of so many price decimals`,
    ],
    ['a price that is none', ['sell', 'NaN', '1'], 'cannot take price NaN'],
    ['a price that has no end', ['sell', '9'.repeat(99), '1'], `cannot take price ${'9'.repeat(40)}`],
    ['a negative size', ['sell', '1', '-0.1'], 'cannot take size -0.1'],
    ['a size finer than listed', ['sell', '1', '0.000000001'], 'cannot take size 0.000000001'],
    ['a size that is none', ['sell', '1', ''], 'cannot take size '],
  ])('%s makes it wrong, until another snapshot', (_what, change, reason) => {
    const apply = bookOf(LISTING, 100_000)
    apply(SNAPSHOT)
    const wrong = { kind: 'wrong', reason }
    expect(apply(update(['buy', '1', '1'], change))).toEqual(wrong)
    expect(apply(update(['buy', '1', '1']))).toEqual({ kind: 'waiting' })
    const [side, price, size] = change
    const levels = [
      ['1', '1'],
      [price, size],
    ]
    expect(apply({ type: 'snapshot', bids: [], asks: [], [side === 'buy' ? 'bids' : 'asks']: levels })).toEqual(wrong)
    expect(apply(SNAPSHOT)).toMatchObject({ kind: 'snapshot' })
  })

  it('takes a price at its limit, and figures with zeros beyond what is listed', () => {
    const apply = bookOf(LISTING, 100_000)
    expect(apply({ type: 'snapshot', bids: [['1000.0000', '1.500000000']], asks: [] })).toEqual({
      kind: 'snapshot',
      levels: [level(BID, 100_000, 150_000_000)],
    })
  })
})
