import { describe, expect, it } from 'vitest'
import { ASK, BID, type LevelChange } from '../../../../../src/streaming/market/event.ts'
import { CoinbaseBook } from '../../../../../src/streaming/sources/venues/coinbase/book.ts'
import type { BookStep, Listing } from '../../../../../src/streaming/sources/venues/venue.ts'

const LISTING: Listing = { symbol: 'BTC-USD', priceDecimals: 2, amountDecimals: 8, status: 'online', state: 'open' }

type LevelText = readonly [side: string, price: string, quantity: string]

function bookOf(priceMaximum = Number.MAX_SAFE_INTEGER) {
  const book = new CoinbaseBook({ listing: LISTING, depth: Infinity, priceMaximum })
  const levelsOf = (levels: readonly LevelText[]) =>
    levels.map(([side, price_level, new_quantity]) => ({ side: side as 'bid' | 'offer', price_level, new_quantity }))
  return {
    book,
    update: (...levels: LevelText[]): BookStep => book.apply({ isSnapshot: false, levels: levelsOf(levels) }),
    snapshot: (...levels: LevelText[]): BookStep => book.apply({ isSnapshot: true, levels: levelsOf(levels) }),
  }
}

const BEGINNING: readonly LevelText[] = [
  ['offer', '100.01', '2'],
  ['bid', '100.00', '1.5'],
]

describe('a book of Coinbase', () => {
  const level = (side: 0 | 1, price: number, amount: number | bigint): LevelChange => ({ side, price, amount })

  it('a Coinbase book begins with a snapshot, and hands on every change as an integer', () => {
    const { update, snapshot } = bookOf()
    expect(update(['bid', '99', '1'])).toEqual({ kind: 'waiting' })
    expect(snapshot(...BEGINNING)).toEqual({
      kind: 'snapshot',
      levels: [level(ASK, 10_001, 200_000_000), level(BID, 10_000, 150_000_000)],
    })
    const changes = update(
      ['offer', '100.01', '0'],
      ['bid', '99.99', '99999999999.00000001'],
      ['bid', '50', '0'],
      ['offer', '100.01', '0.5'],
    )
    expect(changes).toEqual({
      kind: 'update',
      changes: [
        level(ASK, 10_001, 0),
        level(BID, 9_999, 9_999_999_999_900_000_001n),
        level(BID, 5_000, 0),
        level(ASK, 10_001, 50_000_000),
      ],
    })
    expect(update()).toEqual({ kind: 'update', changes: [] })
  })

  it('a Coinbase book is replaced by another snapshot', () => {
    const { snapshot } = bookOf()
    snapshot(...BEGINNING)
    expect(snapshot()).toEqual({ kind: 'snapshot', levels: [] })
  })

  it.each<[string, LevelText, string]>([
    ['a price of nothing', ['bid', '0.00', '1'], 'cannot take price 0.00'],
    ['a negative price', ['bid', '-1', '1'], 'cannot take price -1'],
    ['a price finer than listed', ['offer', '1.001', '1'], 'cannot take price 1.001'],
    ['a bid beyond what can be held', ['bid', '1000.01', '1'], 'cannot take the best price 1000.01'],
    ['a price that is none', ['offer', 'NaN', '1'], 'cannot take price NaN'],
    ['a price that has no end', ['offer', '9'.repeat(99), '1'], `cannot take price ${'9'.repeat(40)}`],
    ['a negative size', ['offer', '1', '-0.1'], 'cannot take size -0.1'],
    ['a size finer than listed', ['offer', '1', '0.000000001'], 'cannot take size 0.000000001'],
    ['a size that is none', ['offer', '1', ''], 'cannot take size '],
  ])('%s makes it wrong, until another snapshot', (_what, bad, reason) => {
    const { update, snapshot } = bookOf(100_000)
    snapshot(...BEGINNING)
    const wrong = { kind: 'wrong', reason }
    expect(update(['bid', '1', '1'], bad)).toEqual(wrong)
    expect(update(['bid', '1', '1'])).toEqual({ kind: 'waiting' })
    expect(snapshot(['bid', '1', '1'], bad)).toEqual(wrong)
    expect(snapshot(...BEGINNING)).toMatchObject({ kind: 'snapshot' })
  })

  it('a Coinbase book ends before an ask beyond the maximum, until that ask is gone', () => {
    const { book, update, snapshot } = bookOf(100_000)
    const far = '9'.repeat(17)
    expect(snapshot(...BEGINNING, ['offer', far, '1'], ['offer', '1000.01', '2'])).toMatchObject({
      levels: [{ price: 10_001 }, { price: 10_000 }],
    })
    expect(book.unfit).toEqual([{ side: ASK, price: '1000.01', amount: '2' }])
    expect(update(['offer', '1000.01', '0'])).toEqual({ kind: 'update', changes: [] })
    expect(book.unfit).toEqual([{ side: ASK, price: far, amount: '1' }])
    snapshot(...BEGINNING)
    expect(book.unfit).toEqual([])
  })

  it('a book of Coinbase accepts a price at its limit, and numbers with zeros beyond the listed decimals', () => {
    expect(bookOf(100_000).snapshot(['bid', '1000.0000', '1.500000000'])).toEqual({
      kind: 'snapshot',
      levels: [level(BID, 100_000, 150_000_000)],
    })
  })
})
