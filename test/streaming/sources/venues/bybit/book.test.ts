import { describe, expect, it } from 'vitest'
import { ASK, BID } from '../../../../../src/streaming/market/event.ts'
import { BybitBook } from '../../../../../src/streaming/sources/venues/bybit/book.ts'
import type { BybitBookData } from '../../../../../src/streaming/sources/venues/bybit/message.ts'
import type { VenueLevel } from '../../../../../src/streaming/sources/venues/venue.ts'

const level = (text: string): VenueLevel => {
  const [price = '', amount = ''] = text.split(':')
  return { price, amount }
}
const data = (isSnapshot: boolean, updateId: number, bids: string, asks: string, depth = 50): BybitBookData => {
  const side = (texts: string) => texts.split(' ').filter(Boolean).map(level)
  return { isSnapshot, depth, updateId, bids: side(bids), asks: side(asks) }
}
const snapshot = (updateId: number, bids = '10.0:1 9.9:2', asks = '10.1:3') => data(true, updateId, bids, asks)
const delta = (updateId: number, bids = '', asks = '10.1:4') => data(false, updateId, bids, asks)

function create(depth = 50, priceMaximum = Number.MAX_SAFE_INTEGER): BybitBook {
  const listing = { symbol: 'BTCUSDT', priceDecimals: 1, amountDecimals: 0, status: 'Trading', state: 'open' } as const
  return new BybitBook({ listing, depth, priceMaximum })
}

describe('a book of Bybit', () => {
  it('a Bybit book begins with a snapshot', () => {
    const book = create()
    expect(book.apply(delta(4))).toEqual({ kind: 'waiting' })
    expect(book.apply(snapshot(5))).toEqual({
      kind: 'snapshot',
      levels: [
        { side: BID, price: 100, amount: 1 },
        { side: BID, price: 99, amount: 2 },
        { side: ASK, price: 101, amount: 3 },
      ],
    })
    expect(book.best).toEqual({ bid: 100, ask: 101 })
  })

  it('a Bybit book follows deltas whose update ids are consecutive', () => {
    const book = create()
    book.apply(snapshot(5))
    expect(book.apply(delta(6, '9.9:0'))).toEqual({
      kind: 'update',
      changes: [
        { side: BID, price: 99, amount: 0 },
        { side: ASK, price: 101, amount: 4 },
      ],
    })
    expect(book.apply(delta(7, '', ''))).toEqual({ kind: 'update', changes: [] })
    expect(book.apply(delta(8))).toMatchObject({ kind: 'update' })
  })

  it.each([
    ['one is missing', 7, 'BTCUSDT: update 7 follows update 5'],
    ['it comes late', 4, 'BTCUSDT: update 4 follows update 5'],
    ['the ids begin again without a snapshot', 1, 'BTCUSDT: update 1 follows update 5'],
  ])('a Bybit book is wrong when %s', (_what, updateId, reason) => {
    const book = create()
    book.apply(snapshot(5))
    expect(book.apply(delta(updateId))).toEqual({ kind: 'wrong', reason })
  })

  it('a Bybit book ignores a delta that comes twice', () => {
    const book = create()
    book.apply(snapshot(5))
    book.apply(delta(6))
    expect(book.apply(delta(6))).toEqual({ kind: 'update', changes: [] })
    expect(book.apply(delta(7, '', '10.1:9'))).toMatchObject({ changes: [{ amount: 9 }] })
  })

  it('a Bybit book takes a snapshot at any time, with the update id 1 after a restart too, and follows it', () => {
    const book = create()
    book.apply(snapshot(5))
    const step = book.apply(snapshot(1, '10.0:1 9.8:7', '10.1:3'))
    expect(step).toMatchObject({
      kind: 'snapshot',
      changes: [
        { side: BID, price: 98, amount: 7 },
        { side: BID, price: 99, amount: 0 },
      ],
    })
    expect(book.apply(delta(2))).toMatchObject({ kind: 'update' })
    expect(book.apply(delta(6))).toMatchObject({ kind: 'wrong' })
  })

  it('a book of Bybit ignores late messages of a subscription at another depth', () => {
    const book = create()
    expect(book.apply(data(true, 80, '10.0:1', '', 200))).toEqual({ kind: 'waiting' })
    book.apply(snapshot(5))
    expect(book.apply(data(false, 81, '10.0:0', '', 200))).toEqual({ kind: 'update', changes: [] })
    expect(book.apply(data(true, 82, '1.0:1', '', 200))).toEqual({ kind: 'update', changes: [] })
    expect(book.apply(delta(6))).toMatchObject({ kind: 'update' })
  })

  it('a Bybit book is cut to its depth', () => {
    const book = create(50)
    const many = Array.from({ length: 50 }, (_, index) => `${(90 - index).toFixed(1)}:1`).join(' ')
    book.apply(snapshot(5, many, '99.0:1'))
    expect(book.apply(delta(6, '95.0:1', ''))).toEqual({
      kind: 'update',
      changes: [
        { side: BID, price: 950, amount: 1 },
        { side: BID, price: 410, amount: 0 },
      ],
    })
  })

  it.each([
    ['a price below zero', delta(6, '-1.0:1')],
    ['an amount that is no number', delta(6, '9.0:x')],
    ['a price finer than its market', delta(6, '9.01:1')],
  ])('a Bybit book is wrong with %s', (_what, message) => {
    const book = create()
    book.apply(snapshot(5))
    expect(book.apply(message)).toMatchObject({ kind: 'wrong', reason: expect.stringMatching(/^BTCUSDT: cannot take/) })
  })

  it('a Bybit book leaves out an ask with more digits than its markets have', () => {
    const book = create(50, 200)
    expect(book.apply(snapshot(5, '10.0:1', '10.1:3 99.0:8'))).toMatchObject({ kind: 'snapshot' })
    expect(book.unfit).toEqual([{ side: ASK, price: '99.0', amount: '8' }])
  })
})
