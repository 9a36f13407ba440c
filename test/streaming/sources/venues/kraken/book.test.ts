import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDecimal } from '../../../../../src/platform/base/decimal.ts'
import { ASK, BID } from '../../../../../src/streaming/market/event.ts'
import { KRAKEN } from '../../../../../src/streaming/sources/venues/kraken/protocol.ts'
import type { Listing, VenueBookOptions } from '../../../../../src/streaming/sources/venues/venue.ts'
import { propertySettings } from '../../../../support/property.ts'
import { RecordedKrakenBook } from '../../../../support/recorded-kraken-book.ts'

const { createBook } = KRAKEN.createProtocol(KRAKEN.exchanges[0])

const listing: Listing = { symbol: 'A/B', priceDecimals: 1, amountDecimals: 2, status: 'online', state: 'open' }
const options: VenueBookOptions = { listing, depth: 3, priceMaximum: Number.MAX_SAFE_INTEGER }

type Level = readonly [price: string, amount: string]

const message = (isSnapshot: boolean, bids: readonly Level[], asks: readonly Level[], checksum: number) => {
  const side = (levels: readonly Level[]) => levels.map(([price, amount]) => ({ price, amount }))
  return { isSnapshot, bids: side(bids), asks: side(asks), checksum }
}

/** A book that began empty, beside a plain one, which gives every message its checksum. */
function follow(changed: Partial<VenueBookOptions> = {}) {
  const all = { ...options, ...changed }
  const { priceDecimals: pricePrecision, amountDecimals: quantityPrecision } = all.listing
  const book = createBook(all)
  const naive = new RecordedKrakenBook({ symbol: 'A/B', depth: all.depth, pricePrecision, quantityPrecision })
  const numbers = (levels: readonly Level[]) =>
    levels.map(([price, qty]) => ({ price: Number(price), qty: Number(qty) }))
  const apply = (isSnapshot: boolean, bids: readonly Level[], asks: readonly Level[]) => {
    const data = [{ bids: numbers(bids), asks: numbers(asks) }]
    naive.apply({ channel: 'book', type: isSnapshot ? 'snapshot' : 'update', data })
    return book.apply(message(isSnapshot, bids, asks, naive.checksum()))
  }
  expect(apply(true, [], [])).toEqual({ kind: 'snapshot', levels: [] })
  /** What differs after an update. */
  const update = (bids: readonly Level[], asks: readonly Level[]) => {
    const step = apply(false, bids, asks)
    return step.kind === 'update' ? step.changes : step
  }
  return { book, naive, update, snapshot: (bids: readonly Level[], asks: readonly Level[]) => apply(true, bids, asks) }
}

describe('checksum', () => {
  const bids: Level[] = [
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
  ]
  const asks: Level[] = [
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
  ]
  const create = () => createBook({ listing: { ...listing, amountDecimals: 8 }, depth: 10, priceMaximum: 1e15 })

  it("the Kraken checksum is the one of the example in the venue's documentation", () => {
    expect(create().apply(message(true, bids, asks, 3310070434))).toMatchObject({ kind: 'snapshot' })
  })

  it('the Kraken checksum makes the book wrong when it differs, in a snapshot and in an update', () => {
    const wrong = { kind: 'wrong', reason: 'the checksum of A/B does not match', isChecksumMismatch: true }
    expect(create().apply(message(true, bids, asks, 3310070433))).toEqual(wrong)
    const book = create()
    book.apply(message(true, bids, asks, 3310070434))
    expect(book.apply(message(false, [['45283.5', '0.2']], [], 3310070434))).toEqual(wrong)
  })
})

describe('a snapshot', () => {
  it('a Kraken snapshot replaces the book, whatever it was', () => {
    const { snapshot, update } = follow()
    update([['4.0', '1']], [['5.0', '1']])
    expect(snapshot([['3.0', '2']], [])).toEqual({
      kind: 'snapshot',
      levels: [{ side: BID, price: 30, amount: 200 }],
      changes: [
        { side: BID, price: 30, amount: 200 },
        { side: BID, price: 40, amount: 0 },
        { side: ASK, price: 50, amount: 0 },
      ],
    })
    expect(update([], [['5.0', '1']])).toEqual([{ side: ASK, price: 50, amount: 100 }])
  })

  it('a Kraken update before the first snapshot waits for it', () => {
    expect(createBook(options).apply(message(false, [['4.0', '1']], [], 0))).toEqual({ kind: 'waiting' })
  })
})

describe('what differs after a message', () => {
  it('a book change has the last of several entries of a price', () => {
    const { update } = follow()
    const asks = (...amounts: string[]) =>
      update(
        [],
        amounts.map((amount): Level => ['5.0', amount]),
      )
    expect(asks('1', '2', '3.5')).toEqual([{ side: ASK, price: 50, amount: 350 }])
    expect(asks('0', '3.5')).toEqual([])
    expect(asks('9', '0.00')).toEqual([{ side: ASK, price: 50, amount: 0 }])
  })

  it('a book change has no delete of an absent level and no unchanged amount', () => {
    const { update } = follow()
    update([['4.0', '1']], [])
    const bids: Level[] = [
      ['4.0', '1.00'],
      ['3.0', '0'],
    ]
    expect(update(bids, [['5.0', '0']])).toEqual([])
  })

  it('a book change has the levels that fall out of the depth, and not those that never were in it', () => {
    const { update } = follow()
    update(
      ['1.0', '2.0', '3.0'].map((price) => [price, '1']),
      [],
    )
    const bids: Level[] = [
      ['2.5', '7'],
      ['0.5', '1'],
    ]
    expect(update(bids, [])).toEqual([
      { side: BID, price: 25, amount: 700 },
      { side: BID, price: 10, amount: 0 },
    ])
  })

  it('a book change keeps amounts beyond the safe integers exact', () => {
    const book = createBook(options)
    // CRC32 of "1012345678901234567891".
    expect(book.apply(message(true, [], [['1.0', '123456789012345678.91']], crc32('1012345678901234567891')))).toEqual({
      kind: 'snapshot',
      levels: [{ side: ASK, price: 10, amount: 12345678901234567891n }],
    })
  })

  it('a book change understands exponents', () => {
    const { update } = follow({ listing: { ...listing, priceDecimals: 6, amountDecimals: 8 } })
    expect(update([], [['1e-05', '5e-8']])).toEqual([{ side: ASK, price: 10, amount: 5 }])
  })
})

describe('an ask that no market can hold', () => {
  it('an ask that no market can hold is part of the checksum and of the depth, and is not reported', () => {
    const { snapshot, update, book } = follow({ priceMaximum: 1000 })
    expect(snapshot([['1.0', '1']], [['2.0', '1'], ['99999997.0', '1']])).toMatchObject({
      kind: 'snapshot',
      levels: [
        { side: BID, price: 10, amount: 100 },
        { side: ASK, price: 20, amount: 100 },
      ],
    }) // biome-ignore format: one message
    expect(book.unfit).toEqual([{ side: ASK, price: '99999997.0', amount: '1' }])
    expect(update([], [['3.0', '1'], ['4.0', '2']])).toEqual([
      { side: ASK, price: 30, amount: 100 },
      { side: ASK, price: 40, amount: 200 },
    ]) // biome-ignore format: one message
    expect(book.unfit).toEqual([])
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
  ] as const)('a book message is refused with %s', (_name, level) => {
    const book = createBook({ ...options, priceMaximum: 1000 })
    const reason = expect.stringMatching(/^cannot take/)
    expect(book.apply(message(true, [], [level], 0))).toEqual({ kind: 'wrong', reason })
  })
})

describe('against a book rebuilt in the plainest way', () => {
  const level = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 4 }))
  const levels = fc.array(level, { maxLength: 6 })
  const script = fc.array(fc.tuple(levels, levels), { maxLength: 30 })
  const decimals = (pairs: readonly (readonly [number, number])[]): Level[] =>
    pairs.map(([price, quantity]) => [formatDecimal(price, 1), formatDecimal(quantity, 2)])

  it('a Kraken book has the checksums of a plainly rebuilt book, and its changes lead from each state to the next', () => {
    const follows = fc.property(script, (messages) => {
      const { naive, update } = follow()
      const followed = [new Map<string, string>(), new Map<string, string>()] as const
      for (const [bidPairs, askPairs] of messages) {
        const changes = update(decimals(bidPairs), decimals(askPairs))
        if ('kind' in changes) throw new Error(JSON.stringify(changes))
        for (const { side, price, amount } of changes) {
          const before = followed[side].get(formatDecimal(price, 1)) ?? '0.00'
          expect(formatDecimal(amount, 2)).not.toBe(before)
          if (amount === 0) followed[side].delete(formatDecimal(price, 1))
          else followed[side].set(formatDecimal(price, 1), formatDecimal(amount, 2))
        }
        expect(new Set(followed[BID])).toEqual(new Set(naive.bids()))
        expect(new Set(followed[ASK])).toEqual(new Set(naive.asks()))
      }
    })
    fc.assert(follows, propertySettings(300))
  })
})
