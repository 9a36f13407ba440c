import { describe, expect, it } from 'vitest'
import { readBinanceMessage } from '../../../../../src/streaming/sources/venues/binance/message.ts'
import type { VenueRequest } from '../../../../../src/streaming/sources/venues/venue-requests.ts'

const REQUESTS: Readonly<Record<number, VenueRequest>> = {
  1: { action: 'subscribe', channel: 'book', symbols: ['BTCUSDT', 'ETHUSDT'] },
  2: { action: 'subscribe', channel: 'trades', symbols: ['BTCUSDT'] },
  3: { action: 'unsubscribe', channel: 'book', symbols: ['BTCUSDT'] },
}

function read(message: unknown) {
  return readBinanceMessage(JSON.stringify(message), (id) => REQUESTS[id as number])
}

const DEPTH = {
  e: 'depthUpdate',
  E: 1_672_515_782_136,
  s: 'BTCUSDT',
  U: 157,
  u: 160,
  b: [['0.0024', '10']],
  a: [['0.0026', '100.00000000']],
}

const TRADE = {
  e: 'aggTrade',
  E: 1,
  s: 'BTCUSDT',
  a: 5,
  p: '0.001',
  q: '100',
  f: 100,
  l: 105,
  T: 1_672_515_782_136,
  m: true,
}

describe('messages of Binance', () => {
  it('a book change from Binance is read as the text that was sent', () => {
    const { U: firstUpdateId, u: lastUpdateId, b: bids, a: asks, E: eventMilliseconds } = DEPTH
    const data = { kind: 'diff', firstUpdateId, lastUpdateId, bids, asks }
    expect(read({ stream: 'btcusdt@depth@100ms', data: DEPTH })).toEqual([
      { kind: 'book', symbol: 'BTCUSDT', data, eventMilliseconds },
    ])
  })

  it('a Binance aggregate trade is read with its number, which is also its id', () => {
    const trade = {
      firstId: TRADE.a,
      lastId: TRADE.a,
      // The buyer was the maker.
      side: 'sell',
      price: '0.001',
      amount: '100',
      executedAtMilliseconds: 1_672_515_782_136,
    }
    expect(read({ stream: 'btcusdt@aggTrade', data: TRADE })).toEqual([
      { kind: 'trades', symbol: 'BTCUSDT', isRepeat: false, trades: [trade] },
    ])
    expect(read({ stream: 'btcusdt@aggTrade', data: { ...TRADE, m: false } })).toMatchObject([
      { trades: [{ side: 'buy' }] },
    ])
    const { m: _m, ...without } = TRADE
    expect(read({ stream: 'btcusdt@aggTrade', data: without })).toMatchObject([
      { trades: [expect.not.objectContaining({ side: expect.anything() })] },
    ])
  })

  it.each([
    ['no symbol', { s: 7 }],
    ['numbers in the wrong order', { U: 161 }],
    ['a number as text', { u: '160' }],
    ['a number beyond what is exact', { u: 2 ** 53 }],
    ['no bids', { b: undefined }],
    ['a level that is no list', { a: [{}] }],
    ['a price as a number', { b: [[0.0024, '10']] }],
    ['a level without an amount', { b: [['0.0024']] }],
  ])('a Binance message with unreadable changes of a pair reports them: %s', (_, wrong) => {
    expect(read({ stream: 'btcusdt@depth@100ms', data: { ...DEPTH, ...wrong } })).toEqual([
      { kind: 'unreadable-book', symbol: 'BTCUSDT', reason: 'an unreadable book message' },
    ])
  })

  it.each([
    ['no price', { p: undefined }],
    ['an amount as a number', { q: 100 }],
    ['a number as text', { a: '5' }],
    ['no time', { T: null }],
  ])('an unreadable Binance trade is left out, and the next number proves it to be missing: %s', (_, wrong) => {
    expect(read({ stream: 'btcusdt@aggTrade', data: { ...TRADE, ...wrong } })).toEqual([
      { kind: 'unreadable-trades', symbol: 'BTCUSDT', reason: 'an unreadable trade' },
    ])
  })

  it.each([
    ['torn in its name', '{"stream":"btcusdt@dep', 'not JSON: SyntaxError'],
    ['of a stream that was not requested', '{"stream":"btcusdt@kline","da', 'not JSON: SyntaxError'],
    ['empty', '', 'not JSON: SyntaxError'],
    ['no object', '[1]', 'not a JSON object'],
    ['null', 'null', 'not a JSON object'],
  ])('a Binance frame that is %s may concern any pair', (_, text, reason) => {
    expect(readBinanceMessage(text, () => undefined)).toEqual([{ kind: 'unreadable', reason }])
  })

  it.each([
    ['depth@100ms', 'unreadable-book'],
    ['aggTrade', 'unreadable-trades'],
  ])('a damaged Binance frame of %s concerns the pair that it still names', (stream, kind) => {
    const text = `{"stream":"btcusdt@${stream}","data":{"e":"dep`
    const reason = 'not JSON: SyntaxError'
    expect(readBinanceMessage(text, () => undefined)).toEqual([{ kind, symbol: 'BTCUSDT', reason }])
  })

  it.each([
    ['the end of the server', '{"e":"serverShutdown","E":1}', 'the venue is about to close the connection'],
    [
      'the end of the server on the combined stream',
      '{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1}}',
      'the venue is about to close the connection',
    ],
  ])('a Binance connection is not trusted behind a frame that is %s', (_, text, reason) => {
    expect(readBinanceMessage(text, () => undefined)).toEqual([{ kind: 'restart', reason }])
  })

  it.each([
    ['an answer to the question what is subscribed', { result: ['btcusdt@aggTrade'], id: 0 }],
    ['a stream that was not requested', { stream: 'btcusdt@bookTicker', data: {} }],
    ['a stream without data', { stream: 'btcusdt@kline_1m' }],
    ['the end of the trades', { result: null, id: 3 }],
    ['the beginning of the trades', { result: null, id: 2 }],
    ['an answer to a request of an earlier connection', { result: null, id: 99 }],
    ['something new', { hello: 1 }],
  ])('a Binance message of the kind %s is a mere sign of life', (_, message) => {
    expect(read(message)).toEqual([])
  })

  it('a Binance acknowledgement is for each pair that the request named', () => {
    expect(read({ result: null, id: 1 })).toEqual([
      { kind: 'acknowledged', symbol: 'BTCUSDT' },
      { kind: 'acknowledged', symbol: 'ETHUSDT' },
    ])
  })

  it.each([
    ['in a member of its own', { error: { code: 2, msg: 'Invalid request' }, id: 2 }],
    ['at the top', { code: 2, msg: 'Invalid request', id: 2 }],
  ])('a Binance refusal %s is for each pair that the request named', (_, message) => {
    expect(read(message)).toEqual([
      { kind: 'refused', symbol: 'BTCUSDT', channel: 'trades', reason: 'Invalid request (code 2)', isOfGroup: false },
    ])
    expect(read(JSON.parse(JSON.stringify(message).replace('"id":2', '"id":1')))).toMatchObject([
      { symbol: 'BTCUSDT', channel: 'book', isOfGroup: true },
      { symbol: 'ETHUSDT', channel: 'book', isOfGroup: true },
    ])
  })

  it('a Binance refusal of an unknown request is reported, and its reason is cut', () => {
    const reason = `${'x'.repeat(200)} (code unknown)`
    expect(read({ error: { msg: 'x'.repeat(5_000) }, id: null })).toEqual([{ kind: 'refused', reason }])
    expect(read({ error: {}, id: 3 })).toEqual([{ kind: 'refused', reason: 'no reason given (code unknown)' }])
  })
})
