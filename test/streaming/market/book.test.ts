import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Book } from '../../../src/streaming/market/book.ts'
import { ASK, BID, type LevelChange, type Side } from '../../../src/streaming/market/event.ts'
import { applyMessage, scriptArbitrary } from '../../support/market-script.ts'
import { NaiveBook, naiveDifference } from '../../support/naive-book.ts'
import { propertySettings } from '../../support/property.ts'

function contents(book: Book): LevelChange[] {
  return ([BID, ASK] as const).flatMap((side) => {
    const levels = book.side(side)
    return Array.from({ length: levels.size }, (_, rank) => ({
      side,
      price: levels.priceAt(rank),
      amount: levels.amountAt(rank),
    }))
  })
}

const bid = (price: number, amount: number | bigint): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number | bigint): LevelChange => ({ side: ASK, price, amount })

describe('a book', () => {
  test('a book equals the naive book after every message, and reports exactly what really differed', () => {
    const property = fc.property(scriptArbitrary(60), (script) => {
      const book = new Book()
      const naive = new NaiveBook()
      for (const message of script) {
        const before = naive.levels(0)
        const applied = applyMessage(message, book, naive)
        const after = naive.levels(0)
        expect(contents(book)).toEqual(after)
        const amountBefore = new NaiveBook(before)
        expect(applied).toEqual(
          naiveDifference(before, after).map(({ side, price, amount }) => ({
            side,
            price,
            before: amountBefore.amount(side, price),
            after: amount,
          })),
        )
      }
    })
    fc.assert(property, propertySettings(200))
  })

  test('a book is the same whether large messages are merged or small ones applied one by one', () => {
    const level = fc.record({
      side: fc.constantFrom<Side>(BID, ASK),
      price: fc.integer({ min: 1, max: 400 }),
      amount: fc.integer({ min: 0, max: 2 }),
    })
    const messages = fc.array(fc.array(level, { maxLength: 600, size: 'max' }), { maxLength: 4 })
    const property = fc.property(messages, (script) => {
      const whole = new Book()
      const single = new Book()
      for (const changes of script) {
        const before = contents(whole)
        const applied = whole.apply(changes)
        for (const change of changes) single.apply([change])
        expect(contents(whole)).toEqual(contents(single))
        expect(applied.map(({ side, price, after }) => ({ side, price, amount: after }))).toEqual(
          naiveDifference(before, contents(single)),
        )
      }
    })
    fc.assert(property, propertySettings(20))
  })

  test('a book applies the last amount of a price and publishes it once', () => {
    const book = new Book()
    book.apply([bid(100, 5)])
    expect(book.apply([bid(100, 7), bid(100, 0), bid(100, 6)])).toEqual([
      { side: BID, price: 100, before: 5, after: 6 },
    ])
    expect(book.apply([bid(100, 9), bid(100, 6)])).toEqual([])
    expect(book.apply([ask(101, 1), ask(101, 0)])).toEqual([])
  })

  test('a book ignores removals of absent levels and amounts it already has', () => {
    const book = new Book()
    book.apply([bid(100, 5), ask(101, 2n ** 60n)])
    expect(book.apply([bid(99, 0), ask(102, 0), bid(100, 5), ask(101, 2n ** 60n)])).toEqual([])
  })

  test('a book is checked only after the whole message', () => {
    const book = new Book()
    expect(book.isCrossed()).toBe(false)
    book.apply([bid(100, 1)])
    expect(book.isCrossed()).toBe(false)
    book.apply([ask(101, 1)])
    expect(book.isCrossed()).toBe(false)
    book.apply([bid(101, 1), ask(101, 0), ask(102, 1)])
    expect(book.isCrossed()).toBe(false)
    book.apply([ask(101, 1)])
    expect(book.isCrossed()).toBe(true)
    book.apply([ask(100, 1)])
    expect(book.isCrossed()).toBe(true)
  })

  test('a book can be replaced by nothing and by itself', () => {
    const book = new Book()
    const levels = [bid(100, 1), bid(99, 2), ask(101, 3)]
    expect(book.replace(levels).map((change) => change.after)).toEqual([1, 2, 3])
    expect(book.replace(levels)).toEqual([])
    expect(book.replace([]).map((change) => change.after)).toEqual([0, 0, 0])
    expect(contents(book)).toEqual([])
  })
})
