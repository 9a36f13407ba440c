import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDecimal } from '../../src/base/decimal.ts'
import { KrakenBook } from '../../src/feed/kraken-book.ts'
import { ASK, BID } from '../../src/market/event.ts'
import { propertySettings } from '../support/property.ts'
import { RecordedKrakenBook } from '../support/recorded-kraken-book.ts'

const shape = { symbol: 'A/B', depth: 3, pricePrecision: 1, quantityPrecision: 2 }
const options = { ...shape, priceMaximum: Number.MAX_SAFE_INTEGER }

type Level = readonly [price: string, quantity: string]

const message = (bids: readonly Level[], asks: readonly Level[]) => {
  const side = (levels: readonly Level[]) => levels.map(([price, quantity]) => ({ price, quantity }))
  return { symbol: 'A/B', bids: side(bids), asks: side(asks), checksum: 0 }
}

describe('checksum', () => {
  it('is the one of the example in the documentation of the venue', () => {
    const book = new KrakenBook({ pricePrecision: 1, quantityPrecision: 8, depth: 10, priceMaximum: 1e15 })
    book.apply(
      message(
        [
          ['45283.5', '0.10000000'],
          ['45283.4', '1.54582015'],
          ['45282.1', '0.10000000'],
          ['45281.0', '0.10000000'],
          ['45280.3', '1.54592586'],
          ['45279.0', '0.07990000'],
          ['45277.6', '0.03310103'],
          ['45277.5', '0.30000000'],
          ['45277.3', '1.54602737'],
          ['45276.6', '0.15445238'],
        ],
        [
          ['45285.2', '0.00100000'],
          ['45286.4', '1.54571953'],
          ['45286.6', '1.54571109'],
          ['45289.6', '1.54560911'],
          ['45290.2', '0.15890660'],
          ['45291.8', '1.54553491'],
          ['45294.7', '0.04454749'],
          ['45296.1', '0.35380000'],
          ['45297.5', '0.09945542'],
          ['45299.5', '0.18772827'],
        ],
      ),
    )
    expect(book.checksum()).toBe(3310070434)
  })
})

describe('what differs after a message', () => {
  it('is the last of several entries of a price', () => {
    const book = new KrakenBook(options)
    expect(
      book.apply(
        message(
          [],
          [
            ['5.0', '1'],
            ['5.0', '2'],
            ['5.0', '3.5'],
          ],
        ),
      ),
    ).toEqual([{ side: ASK, price: 50, amount: 350 }])
    expect(
      book.apply(
        message(
          [],
          [
            ['5.0', '0'],
            ['5.0', '3.5'],
          ],
        ),
      ),
    ).toEqual([])
    expect(
      book.apply(
        message(
          [],
          [
            ['5.0', '9'],
            ['5.0', '0.00'],
          ],
        ),
      ),
    ).toEqual([{ side: ASK, price: 50, amount: 0 }])
  })

  it('has no delete of what is not there and no amount that stays', () => {
    const book = new KrakenBook(options)
    book.apply(message([['4.0', '1']], []))
    expect(
      book.apply(
        message(
          [
            ['4.0', '1.00'],
            ['3.0', '0'],
          ],
          [['5.0', '0']],
        ),
      ),
    ).toEqual([])
  })

  it('has the levels that fall out of the depth, and not those that never were in it', () => {
    const book = new KrakenBook(options)
    book.apply(
      message(
        [
          ['1.0', '1'],
          ['2.0', '1'],
          ['3.0', '1'],
        ],
        [],
      ),
    )
    expect(
      book.apply(
        message(
          [
            ['2.5', '7'],
            ['0.5', '1'],
          ],
          [],
        ),
      ),
    ).toEqual([
      { side: BID, price: 25, amount: 700 },
      { side: BID, price: 10, amount: 0 },
    ])
  })

  it('keeps amounts beyond the safe integers exact', () => {
    const book = new KrakenBook(options)
    expect(book.apply(message([], [['1.0', '123456789012345678.91']]))).toEqual([
      { side: ASK, price: 10, amount: 12345678901234567891n },
    ])
  })

  it('understands exponents', () => {
    const book = new KrakenBook({ ...options, pricePrecision: 6, quantityPrecision: 8 })
    expect(book.apply(message([], [['1e-05', '5e-8']]))).toEqual([{ side: ASK, price: 10, amount: 5 }])
  })
})

describe('a message that cannot be taken', () => {
  it.each([
    ['a price finer than the precision', ['1.05', '1']],
    ['a quantity finer than the precision', ['1.0', '0.001']],
    ['a price of zero', ['0.0', '1']],
    ['a negative price', ['-1.0', '1']],
    ['a negative quantity', ['1.0', '-1']],
    ['a price that is no number', ['one', '1']],
    ['a price above what the markets hold', ['100.1', '1']],
    ['a price beyond the safe integers', ['9007199254740993.0', '1']],
  ] as const)('%s', (_name, level) => {
    const book = new KrakenBook({ ...options, priceMaximum: 1000 })
    expect(book.apply(message([], [level]))).toMatch(/^cannot take/)
  })
})

describe('against a book rebuilt in the plainest way', () => {
  const level = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 4 }))
  const levels = fc.array(level, { maxLength: 6 })
  const script = fc.array(fc.tuple(levels, levels), { maxLength: 30 })
  const decimals = (pairs: readonly (readonly [number, number])[]): Level[] =>
    pairs.map(([price, quantity]) => [formatDecimal(price, 1), formatDecimal(quantity, 2)])
  const numbers = (pairs: readonly Level[]) => pairs.map(([price, qty]) => ({ price: Number(price), qty: Number(qty) }))

  it('has its checksums, and its changes lead from each of its states to the next', () => {
    const follows = fc.property(script, (messages) => {
      const book = new KrakenBook(options)
      const naive = new RecordedKrakenBook(shape)
      const followed = [new Map<string, string>(), new Map<string, string>()] as const
      for (const [bidPairs, askPairs] of messages) {
        const [bids, asks] = [decimals(bidPairs), decimals(askPairs)]
        naive.apply({ channel: 'book', type: 'update', data: [{ bids: numbers(bids), asks: numbers(asks) }] })
        const changes = book.apply(message(bids, asks))
        if (typeof changes === 'string') throw new Error(changes)
        for (const { side, price, amount } of changes) {
          const before = followed[side].get(formatDecimal(price, 1)) ?? '0.00'
          expect(formatDecimal(amount, 2)).not.toBe(before)
          if (amount === 0) followed[side].delete(formatDecimal(price, 1))
          else followed[side].set(formatDecimal(price, 1), formatDecimal(amount, 2))
        }
        expect(new Set(followed[BID])).toEqual(new Set(naive.bids()))
        expect(new Set(followed[ASK])).toEqual(new Set(naive.asks()))
        expect(book.checksum()).toBe(naive.checksum())
      }
    })
    fc.assert(follows, propertySettings(300))
  })
})
