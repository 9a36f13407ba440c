import { describe, expect, it } from 'vitest'
import { readKrakenMessage } from '../../src/feed/kraken-message.ts'

const bookFrame = (levels: string, rest = '"checksum":1') =>
  `{"channel":"book","type":"update","data":[{"symbol":"BTC/USD","bids":[],"asks":[${levels}],${rest}}]}`

function asksOf(levels: string): unknown {
  const message = readKrakenMessage(bookFrame(levels))
  if (message.kind !== 'book') throw new Error(message.kind)
  const [book] = message.books
  return book !== undefined && 'asks' in book ? book.asks.map(({ price, quantity }) => [price, quantity]) : book
}

describe('prices and quantities stay the text that was sent', () => {
  it('where a double would not hold them', () => {
    expect(asksOf('{"price":9007199254740993.1,"qty":123456789012345678.12345678}')).toEqual([
      ['9007199254740993.1', '123456789012345678.12345678'],
    ])
  })

  it('with trailing zeros', () => {
    expect(asksOf('{"price":63000.0,"qty":0.00005100},{"price":63001.00,"qty":0.00000000}')).toEqual([
      ['63000.0', '0.00005100'],
      ['63001.00', '0.00000000'],
    ])
  })

  it('with exponents', () => {
    expect(asksOf('{"price":1e-05,"qty":5e-8},{"price":1.5E+3,"qty":2.5e-06}')).toEqual([
      ['1e-05', '5e-8'],
      ['1.5E+3', '2.5e-06'],
    ])
  })

  it('with blanks around the colon, and when the venue quotes them itself', () => {
    expect(asksOf('{"price" : 1.10 , "qty":\n2.20 },{"price":"3.30","qty":"4.40"}')).toEqual([
      ['1.10', '2.20'],
      ['3.30', '4.40'],
    ])
  })

  it('beside a text that looks like a member', () => {
    const message = readKrakenMessage(bookFrame('{"price":1.0,"qty":2.0}', '"checksum":7,"note":"\\"price\\":1.0"'))
    expect(message).toMatchObject({ kind: 'book', books: [{ checksum: 7, asks: [{ price: '1.0', quantity: '2.0' }] }] })
  })
})

describe('frames that are no good', () => {
  it.each([
    ['no JSON', '{"channel":"book"'],
    ['a list', '[1,2]'],
    ['null', 'null'],
    ['a book without data', '{"channel":"book","type":"update"}'],
    ['a book of an unknown type', '{"channel":"book","type":"delta","data":[]}'],
    ['a book without symbol', '{"channel":"book","type":"update","data":[{"bids":[],"asks":[],"checksum":1}]}'],
  ])('%s is unreadable', (_name, text) => {
    expect(readKrakenMessage(text).kind).toBe('unreadable')
  })

  it.each([
    ['a level without quantity', bookFrame('{"price":1.0}')],
    ['a price that is no number', bookFrame('{"price":true,"qty":1.0}')],
    ['a missing checksum', bookFrame('{"price":1.0,"qty":1.0}', '"timestamp":"x"')],
    [
      'sides that are no list',
      '{"channel":"book","type":"update","data":[{"symbol":"BTC/USD","bids":{},"checksum":1}]}',
    ],
  ])('%s makes the book of that symbol unreadable', (_name, text) => {
    expect(readKrakenMessage(text)).toMatchObject({ kind: 'book', books: [{ unreadableSymbol: 'BTC/USD' }] })
  })
})

describe('the rest of the protocol', () => {
  it('reads the list of pairs and leaves out those without precisions', () => {
    const pairs = [
      { symbol: 'BTC/USD', status: 'online', price_precision: 1, qty_precision: 8, qty_min: 0.00005 },
      { symbol: 'ODD/USD', status: 'online', price_precision: 'one', qty_precision: 8 },
      { symbol: 'NEG/USD', status: 'online', price_precision: -1, qty_precision: 8 },
    ]
    expect(readKrakenMessage(JSON.stringify({ channel: 'instrument', type: 'snapshot', data: { pairs } }))).toEqual({
      kind: 'instrument',
      isSnapshot: true,
      listings: [{ symbol: 'BTC/USD', status: 'online', pricePrecision: 1, quantityPrecision: 8 }],
    })
  })

  it('reads acknowledgements of the book channel and the depth they name', () => {
    const frame = (method: string, result: object) => JSON.stringify({ method, result, success: true })
    expect(readKrakenMessage(frame('subscribe', { channel: 'book', depth: 25, symbol: 'BTC/USD' }))).toEqual({
      kind: 'acknowledged',
      symbol: 'BTC/USD',
      depth: 25,
    })
    expect(readKrakenMessage(frame('unsubscribe', { channel: 'book', depth: 'all', symbol: 'BTC/USD' }))).toEqual({
      kind: 'acknowledged',
      symbol: 'BTC/USD',
      depth: undefined,
    })
    expect(readKrakenMessage(frame('subscribe', { channel: 'instrument' })).kind).toBe('other')
  })

  it('reads refusals, with or without a symbol, and cuts what the venue says about them', () => {
    expect(
      readKrakenMessage(
        '{"error":"Currency pair not supported X/Y","method":"subscribe","success":false,"symbol":"X/Y"}',
      ),
    ).toEqual({ kind: 'refused', method: 'subscribe', symbol: 'X/Y', reason: 'Currency pair not supported X/Y' })
    expect(readKrakenMessage(`{"error":"${'x'.repeat(5000)}","success":false}`)).toEqual({
      kind: 'refused',
      method: 'unknown',
      symbol: undefined,
      reason: 'x'.repeat(200),
    })
  })

  it.each([
    '{"channel":"heartbeat"}',
    '{"channel":"status","type":"update","data":[{"system":"online"}]}',
    '{"method":"pong","time_in":"x","time_out":"y"}',
    '{}',
  ])('takes %s as nothing that moves a book', (text) => {
    expect(readKrakenMessage(text)).toEqual({ kind: 'other' })
  })
})
