import { describe, expect, it } from 'vitest'
import { readBybitMessage } from '../../../../../src/streaming/sources/venues/bybit/message.ts'
import type { VenueRequest } from '../../../../../src/streaming/sources/venues/venue-requests.ts'

const none = () => undefined
const read = (frame: unknown, take: (id: unknown) => VenueRequest | undefined = none) =>
  readBybitMessage(typeof frame === 'string' ? frame : JSON.stringify(frame), take)

/** https://bybit-exchange.github.io/docs/v5/websocket/public/orderbook, shortened */
const BOOK = {
  topic: 'orderbook.50.BTCUSDT',
  type: 'snapshot',
  ts: 1672304484978,
  data: {
    s: 'BTCUSDT',
    b: [['16493.50', '0.006']],
    a: [
      ['16611.00', '0.029'],
      ['16612.00', '0'],
    ],
    u: 18521288,
    seq: 7961638724,
  },
  cts: 1672304484976,
}

/** https://bybit-exchange.github.io/docs/v5/websocket/public/trade, with the identifiers of spot pairs */
const TRADE = {
  T: 1672304486865,
  s: 'BTCUSDT',
  S: 'Buy',
  v: '0.001',
  p: '16578.50',
  L: 'PlusTick',
  i: '2290000000061666327',
  BT: false,
  seq: 1783284617,
}
const TRADES = {
  topic: 'publicTrade.BTCUSDT',
  type: 'snapshot',
  ts: 1672304486868,
  data: [TRADE, { ...TRADE, S: 'Sell', i: '2290000000061666329' }],
}

describe('a frame of Bybit', () => {
  it('a Bybit frame with a book keeps texts, the update id and the depth of the topic', () => {
    expect(read(BOOK)).toEqual([
      {
        kind: 'book',
        symbol: 'BTCUSDT',
        eventMilliseconds: 1672304484978,
        data: {
          isSnapshot: true,
          depth: 50,
          updateId: 18521288,
          bids: [{ price: '16493.50', amount: '0.006' }],
          asks: [
            { price: '16611.00', amount: '0.029' },
            { price: '16612.00', amount: '0' },
          ],
        },
      },
    ])
    expect(read({ ...BOOK, type: 'delta' })).toMatchObject([{ data: { isSnapshot: false } }])
    expect(read({ ...BOOK, topic: 'orderbook.200.BTCUSDT' })).toMatchObject([{ data: { depth: 200 } }])
  })

  it('a Bybit frame with trades keeps identifiers beyond the safe integers, and the side of the taker', () => {
    const trade = { firstId: 0, lastId: 0, price: '16578.50', amount: '0.001', executedAtMilliseconds: 1672304486865 }
    expect(read(TRADES)).toEqual([
      {
        kind: 'trades',
        symbol: 'BTCUSDT',
        isRepeat: false,
        trades: [
          { ...trade, id: '2290000000061666327', side: 'buy' },
          { ...trade, id: '2290000000061666329', side: 'sell' },
        ],
      },
    ])
  })

  it.each([
    ['another pair in the data', { ...BOOK, data: { ...BOOK.data, s: 'ETHUSDT' } }],
    ['no data', { ...BOOK, data: undefined }],
    ['an amount that is a number', { ...BOOK, data: { ...BOOK.data, b: [['1', 2]] } }],
    ['a level that is no list', { ...BOOK, data: { ...BOOK.data, a: ['1'] } }],
    ['no update id', { ...BOOK, data: { ...BOOK.data, u: '1' } }],
    ['an update id below zero', { ...BOOK, data: { ...BOOK.data, u: -1 } }],
    ['another type', { ...BOOK, type: 'partial' }],
  ])('a Bybit frame with a book that has %s costs the pair its book', (_what, frame) => {
    expect(read(frame)).toMatchObject([{ kind: 'unreadable-book', symbol: 'BTCUSDT' }])
  })

  it.each([
    ['another pair', { s: 'ETHUSDT' }],
    ['no identifier', { i: undefined }],
    ['an identifier that is a number', { i: 5 }],
    ['no side', { S: '' }],
    ['a price that is a number', { p: 1 }],
    ['a time that is text', { T: '1672304486865' }],
  ])('a Bybit frame with a trade that has %s may have lost trades', (_what, change) => {
    const frame = { ...TRADES, data: [TRADE, { ...TRADE, ...change }] }
    expect(read(frame)).toMatchObject([{ kind: 'unreadable-trades', symbol: 'BTCUSDT' }])
    expect(read({ ...TRADES, data: {} })).toMatchObject([{ kind: 'unreadable-trades' }])
  })

  it('a Bybit frame that is torn belongs to the pair of its topic', () => {
    const half = (frame: object) => JSON.stringify(frame).slice(0, 60)
    expect(read(half(BOOK))).toMatchObject([{ kind: 'unreadable-book', symbol: 'BTCUSDT' }])
    expect(read(half(TRADES))).toMatchObject([{ kind: 'unreadable-trades', symbol: 'BTCUSDT' }])
    expect(read('{"topic":"tick')).toMatchObject([{ kind: 'unreadable' }])
    expect(read('{"topic":"kline.1.BTCUSDT","da')).toMatchObject([{ kind: 'unreadable' }])
    expect(read('[]')).toMatchObject([{ kind: 'unreadable' }])
    expect(read({ hello: 1 })).toMatchObject([{ kind: 'unreadable' }])
  })

  it('a Bybit frame of another topic, a pong and an accepted request are ignored', () => {
    expect(read({ topic: 'tickers.BTCUSDT', data: {} })).toEqual([])
    expect(read({ success: true, ret_msg: 'pong', conn_id: 'a', req_id: '', op: 'ping' })).toEqual([])
    expect(read({ op: 'pong', args: ['1672916271846'], req_id: '1' })).toEqual([])
    expect(read({ success: true, ret_msg: 'subscribe', conn_id: 'a', req_id: '1', op: 'subscribe' })).toEqual([])
  })

  it('a Bybit frame that refuses a request names the pairs of the request, once', () => {
    const requests = new Map<unknown, VenueRequest>([
      ['7', { action: 'subscribe', channel: 'trades', symbols: ['BTCUSDT', 'XUSDT'] }],
      ['8', { action: 'unsubscribe', channel: 'book', symbols: ['BTCUSDT'] }],
    ])
    const take = (id: unknown) => {
      const request = requests.get(id)
      requests.delete(id)
      return request
    }
    const refusal = (req_id: string) => ({
      success: false,
      ret_msg: 'Invalid symbol',
      conn_id: 'a',
      req_id,
      op: 'subscribe',
    })
    expect(read(refusal('7'), take)).toEqual([
      { kind: 'refused', symbol: 'BTCUSDT', channel: 'trades', reason: 'Invalid symbol', isOfGroup: true },
      { kind: 'refused', symbol: 'XUSDT', channel: 'trades', reason: 'Invalid symbol', isOfGroup: true },
    ])
    expect(read(refusal('7'), take)).toEqual([{ kind: 'refused', reason: 'Invalid symbol' }])
    expect(read(refusal('8'), take)).toEqual([{ kind: 'refused', reason: 'Invalid symbol' }])
  })
})
