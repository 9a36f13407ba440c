/** The client book compared with sorting all levels: the same input leads to the same best levels. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BOOK_SIDES, NaiveBook, standsBefore } from '../../../src/conformance/judge/naive-book.ts'

const price = fc
  .integer({ min: 1, max: 20_000 })
  .map((cents) => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`)
const change = fc.record({
  side: fc.constantFrom(...BOOK_SIDES),
  price,
  amount: fc.constantFrom('0', '1.5', '2.5'),
})

describe('NaiveBook', () => {
  it('NaiveBook has the best levels that a full sort gives', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (changes, count) => {
        const book = new NaiveBook()
        const oracle = { bids: new Map<string, string>(), asks: new Map<string, string>() }
        for (const { side, price, amount } of changes) {
          if (amount === '0') {
            book.remove(side, price)
            oracle[side].delete(price)
          } else {
            book.set(side, price, amount)
            oracle[side].set(price, amount)
          }
          for (const each of BOOK_SIDES) {
            const direction = each === 'bids' ? -1 : 1
            const sorted = [...oracle[each]]
              .map(([price, amount]) => ({ price, amount }))
              .sort(
                (left, right) =>
                  direction * (BigInt(left.price.replace('.', '')) < BigInt(right.price.replace('.', '')) ? -1 : 1),
              )
            expect(book.top(each, count)).toEqual(sorted.slice(0, count))
            expect(book.levels(each, count)).toEqual(sorted.slice(0, count))
            expect(book.levels(each)).toEqual(sorted)
            expect(book.best(each)).toEqual(sorted[0])
            expect(book.size(each)).toBe(sorted.length)
          }
        }
      }),
      { seed: 20260101, numRuns: 200 },
    )
  })

  it('NaiveBook loses 40,000 levels from the best one on without a search for each', () => {
    const book = new NaiveBook()
    const prices = Array.from({ length: 40_000 }, (_, index) => `${99_999 - index}.00`)
    for (const price of prices) book.set('bids', price, '1')
    const start = performance.now()
    for (const price of prices) book.remove('bids', price)
    expect(book.best('bids')).toBeUndefined()
    // A search for each would make 800 million comparisons, while heartbeats wait to be read.
    expect(performance.now() - start).toBeLessThan(2_000)
  })

  it('NaiveBook is crossed when the best bid is at or above the best ask', () => {
    const book = new NaiveBook()
    book.set('bids', '99.99', '1')
    expect(book.isCrossed()).toBe(false)
    book.set('asks', '100.00', '1')
    expect(book.isCrossed()).toBe(false)
    book.set('bids', '100.00', '1')
    expect(book.isCrossed()).toBe(true)
  })
})

describe('the order of a side', () => {
  it.each([
    ['10.00', '9.00'],
    ['10.00', '9.99'],
    ['10.10', '10.09'],
    ['12', '7'],
    ['90071992547409931.02', '90071992547409931.01'],
  ])('the side order puts %s before %s among bids, and after it among asks', (higher, lower) => {
    expect(standsBefore('bids', higher, lower)).toBe(true)
    expect(standsBefore('bids', lower, higher)).toBe(false)
    expect(standsBefore('asks', lower, higher)).toBe(true)
    expect(standsBefore('asks', higher, lower)).toBe(false)
  })

  it('the side order has no order of equal prices', () => {
    for (const side of BOOK_SIDES) expect(standsBefore(side, '10.00', '10.00')).toBe(false)
  })

  it('NaiveBook has the digest that is documented for the extended protocol', () => {
    const book = new NaiveBook()
    expect(book.digest()).toBe('0000000000000000')
    book.set('bids', '100.00', '1.5000')
    expect(book.digest()).toBe('720a0d8edf5f56db')
    book.set('asks', '100.01', '12345678.9012')
    expect(book.digest()).toBe('7a6182355f8de12d')
    book.set('bids', '99.99', '0.0001')
    book.set('asks', '200.00', '1.0000')
    expect(book.digest()).toBe('d40b92e8fa3df3b5')
    book.set('bids', '99.99', '0')
    book.set('asks', '200.00', '0')
    expect(book.digest()).toBe('7a6182355f8de12d')
  })
})
