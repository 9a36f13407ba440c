import { describe, expect, it } from 'vitest'
import { readBookEvent, readTradesEvent } from '../../../../../src/streaming/sources/venues/coinbase/message.ts'

const EVENT_TIME = '2026-08-09T10:00:00.123456789Z'
const MILLISECONDS = Date.UTC(2026, 7, 9, 10, 0, 0, 123)

describe('books in messages of Coinbase', () => {
  const level = (side: string, price_level: unknown, new_quantity: unknown) => ({
    side,
    event_time: EVENT_TIME,
    price_level,
    new_quantity,
  })
  const event = (type: string, ...updates: unknown[]) => ({ type, product_id: 'BTC-USD', updates })

  it('books in messages of Coinbase leave their numbers text, and bear the time of a change to the millisecond', () => {
    const levels = [level('bid', '100.00', '0'), level('offer', '100.02', '1e-8')]
    expect(readBookEvent(event('snapshot', ...levels))).toEqual({
      kind: 'book',
      symbol: 'BTC-USD',
      data: { isSnapshot: true, levels },
    })
    expect(readBookEvent(event('update', ...levels))).toEqual({
      kind: 'book',
      symbol: 'BTC-USD',
      data: { isSnapshot: false, levels },
      eventMilliseconds: MILLISECONDS,
    })
    expect(readBookEvent(event('update'))).toEqual({
      kind: 'book',
      symbol: 'BTC-USD',
      data: { isSnapshot: false, levels: [] },
    })
  })

  it.each([
    ['no levels', { type: 'update', product_id: 'BTC-USD' }],
    ['levels that are no list', { ...event('update'), updates: {} }],
    ['a level that is no object', event('update', '1')],
    ['a level of no side', event('snapshot', level('ask', '1', '1'))],
    ['a price as a number', event('update', level('bid', 1, '1'))],
    ['a quantity as a number', event('update', level('bid', '1', 1))],
    ['a good level before a bad one', event('update', level('bid', '1', '1'), level('bid', '1', null))],
    ['another type', event('delta', level('bid', '1', '1'))],
  ])('books in messages of Coinbase cannot be read with %s, which concerns that product only', (_what, message) => {
    const reason = `an unreadable l2_data event, type ${message.type}`
    expect(readBookEvent(message)).toEqual({ kind: 'unreadable-book', symbol: 'BTC-USD', reason })
  })

  it.each([
    ['nothing', null],
    ['no product', { type: 'update', updates: [] }],
  ])('a Coinbase message with books that name %s makes its connection untrusted', (_what, message) => {
    expect(readBookEvent(message)).toEqual({ kind: 'unreadable', reason: 'an unreadable l2_data message' })
  })
})

describe('trades in messages of Coinbase', () => {
  const trade = (id: number, members: object = {}) => ({
    product_id: 'BTC-USD',
    trade_id: String(id),
    price: '400.23',
    size: '5.23512000',
    time: EVENT_TIME,
    side: 'SELL',
    ...members,
  })
  const read = (id: number) => ({
    firstId: id,
    lastId: id,
    price: '400.23',
    amount: '5.23512000',
    executedAtMilliseconds: MILLISECONDS,
  })

  it('trades in messages of Coinbase come newest first and are handed on oldest first, product by product', () => {
    const trades = [trade(12), trade(7, { product_id: 'ETH-USD' }), trade(11), trade(10)]
    expect(readTradesEvent({ type: 'update', trades })).toEqual([
      { kind: 'trades', symbol: 'BTC-USD', isRepeat: false, trades: [read(10), read(11), read(12)] },
      { kind: 'trades', symbol: 'ETH-USD', isRepeat: false, trades: [read(7)] },
    ])
    expect(readTradesEvent({ type: 'update', trades: [] })).toEqual([])
  })

  it('trades in messages of Coinbase of a snapshot are repeated', () => {
    expect(readTradesEvent({ type: 'snapshot', trades: [trade(10)] })).toEqual([
      { kind: 'trades', symbol: 'BTC-USD', isRepeat: true, trades: [read(10)] },
    ])
  })

  it.each([
    ['number is no text', { trade_id: 10 }],
    ['number is no number', { trade_id: '1e3' }],
    ['number is too large', { trade_id: '9007199254740992' }],
    ['price is a number', { price: 400.23 }],
    ['size is a number', { size: 5 }],
    ['time is missing', { time: undefined }],
    ['time is none', { time: 'now' }],
  ])('trades in messages of Coinbase are left out, and said to be, where the %s', (_what, members) => {
    const reason = 'an unreadable trade in market_trades'
    expect(readTradesEvent({ type: 'update', trades: [trade(11), trade(10, members)] })).toEqual([
      { kind: 'unreadable-trades', symbol: 'BTC-USD', reason },
      { kind: 'trades', symbol: 'BTC-USD', isRepeat: false, trades: [read(11)] },
    ])
  })

  it.each([
    ['nothing', null],
    ['no trades', { type: 'update' }],
    ['a trade that is no object', { trades: [7] }],
    ['a trade of no product', { trades: [trade(10, { product_id: null })] }],
  ])('trades in messages of Coinbase may concern any product when there is %s', (_what, message) => {
    expect(readTradesEvent(message)).toEqual([{ kind: 'unreadable', reason: 'an unreadable market_trades message' }])
  })
})
