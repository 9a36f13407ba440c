import { describe, expect, it } from 'vitest'
import {
  type BitstampChannel,
  readBitstampMessage,
} from '../../../../../src/streaming/sources/venues/bitstamp/message.ts'

const read = (frame: unknown, take: (name: string) => BitstampChannel | undefined = () => undefined) =>
  readBitstampMessage(typeof frame === 'string' ? frame : JSON.stringify(frame), take)

/** https://www.bitstamp.net/websocket/v2/, Live full order book */
const BOOK = {
  data: {
    timestamp: '1643643584',
    microtimestamp: '1643643584684047',
    bids: [['38416', '0.00280000']],
    asks: [['38420.50', '0.00000000']],
  },
  channel: 'diff_order_book_btcusd',
  event: 'data',
}
/** The same page, Live ticker */
const TRADE = {
  data: {
    id: 212337562,
    timestamp: '1643643584',
    amount: 0.0028,
    amount_str: '0.00280000',
    price: 38416,
    price_str: '38416',
    type: 0,
    microtimestamp: '1643643584587000',
    buy_order_id: 1452870310379521,
    sell_order_id: 1452870310363136,
  },
  channel: 'live_trades_btcusd',
  event: 'trade',
}
const tradeWith = (change: object) => ({ ...TRADE, data: { ...TRADE.data, ...change } })

describe('a frame of Bitstamp', () => {
  it('a Bitstamp frame with changes of a book keeps texts and the time in microseconds', () => {
    expect(read(BOOK)).toEqual([
      {
        kind: 'book',
        symbol: 'btcusd',
        eventMilliseconds: 1643643584684,
        data: {
          isSnapshot: false,
          microseconds: 1643643584684047,
          bids: [{ price: '38416', amount: '0.00280000' }],
          asks: [{ price: '38420.50', amount: '0.00000000' }],
        },
      },
    ])
  })

  it('a Bitstamp frame with a trade keeps its identifier and the texts of its numbers', () => {
    expect(read(TRADE)).toEqual([
      {
        kind: 'trades',
        symbol: 'btcusd',
        isRepeat: false,
        trades: [
          {
            firstId: 0,
            lastId: 0,
            id: '212337562',
            side: 'buy',
            price: '38416',
            amount: '0.00280000',
            executedAtMilliseconds: 1643643584587,
          },
        ],
      },
    ])
  })

  it.each([
    ['the later order sells', { type: 1, buy_order_id: 5, sell_order_id: 6 }, 'sell'],
    ['the later order buys', { type: 0, buy_order_id: 6, sell_order_id: 5 }, 'buy'],
    ['the later order is not the one that the type names', { type: 0, buy_order_id: 5, sell_order_id: 6 }, undefined],
    ['the orders have no ids', { buy_order_id: undefined }, undefined],
    ['the type is unknown', { type: 2 }, undefined],
  ])('a Bitstamp frame with a trade names the side of the taker where %s', (_what, change, side) => {
    const [message] = read(tradeWith(change))
    expect(message?.kind === 'trades' && message.trades[0]?.side).toBe(side)
  })

  it.each([
    ['no time', { microtimestamp: undefined }],
    ['a time that is a number', { microtimestamp: 1643643584684047 }],
    ['an amount that is a number', { bids: [['1', 2]] }],
    ['no asks', { asks: undefined }],
  ])('a Bitstamp frame with a book that has %s costs the pair its book', (_what, change) => {
    const frame = { ...BOOK, data: { ...BOOK.data, ...change } }
    expect(read(frame)).toMatchObject([{ kind: 'unreadable-book', symbol: 'btcusd' }])
  })

  it.each([
    ['no identifier', { id: undefined }],
    ['an identifier that is text', { id: '5' }],
    ['only a number as its price', { price_str: undefined }],
    ['no time', { microtimestamp: 'x' }],
  ])('a Bitstamp frame with a trade that has %s may have lost trades', (_what, change) => {
    expect(read(tradeWith(change))).toMatchObject([{ kind: 'unreadable-trades', symbol: 'btcusd' }])
  })

  it('a Bitstamp frame that is torn belongs to its pair where it still names it', () => {
    expect(read('{"channel":"diff_order_book_btcusd","data":{"bi')).toMatchObject([
      { kind: 'unreadable-book', symbol: 'btcusd' },
    ])
    expect(read('{"channel":"live_trades_btcusd","data":{"bi')).toMatchObject([{ kind: 'unreadable-trades' }])
    expect(read(JSON.stringify(BOOK).slice(0, 60))).toMatchObject([{ kind: 'unreadable' }])
    expect(read('[]')).toMatchObject([{ kind: 'unreadable' }])
    expect(read({ event: 'data', data: {} })).toMatchObject([{ kind: 'unreadable' }])
    expect(read({ event: 'trade', data: {} })).toMatchObject([{ kind: 'unreadable' }])
  })

  it('a Bitstamp frame of another channel or event is ignored', () => {
    expect(read({ event: 'data', channel: 'order_book_btcusd', data: {} })).toEqual([])
    expect(read({ event: 'trade', channel: 'private-live_trades_btcusd-1', data: {} })).toEqual([])
    expect(read({ event: 'order_created', channel: 'live_orders_btcusd', data: {} })).toEqual([])
    expect(read({ event: 'bts:heartbeat', channel: '', data: { status: 'success' } })).toEqual([])
    expect(read({ event: 'bts:unsubscription_succeeded', channel: 'live_trades_btcusd', data: {} })).toEqual([])
  })

  it('a Bitstamp frame that asks for a new connection ends this one', () => {
    expect(read({ event: 'bts:request_reconnect', channel: '', data: '' })).toEqual([
      { kind: 'restart', reason: 'the venue asks for a new connection' },
    ])
  })

  it('a Bitstamp frame that answers a subscription names its pair', () => {
    const book = () => ({ channel: 'book', symbol: 'btcusd' }) as const
    const trades = () => ({ channel: 'trades', symbol: 'btcusd' }) as const
    const succeeded = { event: 'bts:subscription_succeeded', channel: 'diff_order_book_btcusd', data: {} }
    expect(read(succeeded, book)).toEqual([{ kind: 'acknowledged', symbol: 'btcusd' }])
    expect(read(succeeded, trades)).toEqual([])
    const error = { event: 'bts:error', channel: '', data: { code: null, message: 'Bad subscription string.' } }
    expect(read(error, trades)).toEqual([
      { kind: 'refused', channel: 'trades', symbol: 'btcusd', reason: 'Bad subscription string.' },
    ])
    expect(read({ ...error, data: { code: 4009 } })).toEqual([
      { kind: 'refused', reason: 'no reason given (code 4009)' },
    ])
  })
})
