import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Levels } from '../../../src/streaming/market/book.ts'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { NaiveBook } from '../../support/naive-book.ts'
import { propertySettings } from '../../support/property.ts'

const PRICE_MAX = 40

describe.each([
  ['bids', BID],
  ['asks', ASK],
] as const)('levels of the %s', (_, side) => {
  test('the levels of a side are found by price and by rank as in a sorted list', () => {
    const change = fc.record({
      price: fc.integer({ min: 0, max: PRICE_MAX }),
      amount: fc.constantFrom<number | bigint>(0, 0, 1, 2, 2n ** 64n),
    })
    const property = fc.property(fc.array(change, { maxLength: 200, size: 'max' }), (changes) => {
      const levels = new Levels(side)
      const naive = new NaiveBook()
      for (const { price, amount } of changes) {
        expect(levels.set(price, amount)).toBe(naive.amount(side, price))
        naive.apply([{ side, price, amount }])
      }
      const sorted = naive.levels(0)
      expect(levels.size).toBe(sorted.length)
      for (const [rank, level] of sorted.entries()) {
        expect(levels.priceAt(rank)).toBe(level.price)
        expect(levels.amountAt(rank)).toBe(level.amount)
      }
      for (let price = 0; price <= PRICE_MAX; price++) {
        const better = sorted.filter((level) => (side === BID ? level.price > price : level.price < price))
        expect(levels.amount(price)).toBe(naive.amount(side, price))
        expect(levels.rankOf(price)).toBe(better.length)
      }
    })
    fc.assert(property, propertySettings(60))
  })

  test('the levels of a side can be cleared', () => {
    const levels = new Levels(side)
    levels.set(5, 1)
    levels.clear()
    expect(levels.size).toBe(0)
    expect(levels.amount(5)).toBe(0)
    expect(levels.set(5, 2)).toBe(0)
  })
})
