import { describe, expect, it } from 'vitest'
import { KRAKEN } from '../../../../../src/streaming/sources/venues/kraken/protocol.ts'

const { read: readKrakenMessage } = KRAKEN.createProtocol(KRAKEN.exchanges[0])

const bookFrame = (levels: string, rest = '"checksum":1') =>
  `{"channel":"book","type":"update","data":[{"symbol":"BTC/USD","bids":[],"asks":[${levels}],${rest}}]}`

function asksOf(levels: string): unknown {
  const [message] = readKrakenMessage(bookFrame(levels))
  if (message?.kind !== 'book') throw new Error(message?.kind)
  return message.data.asks.map(({ price, amount }) => [price, amount])
}

describe('prices and quantities stay the text that was sent', () => {
  it('prices and quantities stay the text that was sent where a double would not hold them', () => {
    expect(asksOf('{"price":9007199254740993.1,"qty":123456789012345678.12345678}')).toEqual([
      ['9007199254740993.1', '123456789012345678.12345678'],
    ])
  })

  it('prices and quantities stay the text that was sent with trailing zeros', () => {
    expect(asksOf('{"price":63000.0,"qty":0.00005100},{"price":63001.00,"qty":0.00000000}')).toEqual([
      ['63000.0', '0.00005100'],
      ['63001.00', '0.00000000'],
    ])
  })

  it('prices and quantities stay the text that was sent with exponents', () => {
    expect(asksOf('{"price":1e-05,"qty":5e-8},{"price":1.5E+3,"qty":2.5e-06}')).toEqual([
      ['1e-05', '5e-8'],
      ['1.5E+3', '2.5e-06'],
    ])
  })

  it('prices and quantities stay the text that was sent with blanks around the colon, and when the venue quotes them itself', () => {
    expect(asksOf('{"price" : 1.10 , "qty":\n2.20 },{"price":"3.30","qty":"4.40"}')).toEqual([
      ['1.10', '2.20'],
      ['3.30', '4.40'],
    ])
  })

  it('prices and quantities stay the text that was sent beside a text that looks like a member', () => {
    const message = readKrakenMessage(bookFrame('{"price":1.0,"qty":2.0}', '"checksum":7,"note":"\\"price\\":1.0"'))
    const data = { checksum: 7, asks: [{ price: '1.0', amount: '2.0' }] }
    expect(message).toMatchObject([{ kind: 'book', symbol: 'BTC/USD', data }])
  })
})

describe('frames that are no good', () => {
  it.each([
    ['no JSON', '{"channel":"book"'],
    ['a damaged frame of two pairs', '{"channel":"book","data":[{"symbol":"A/B"},{"symbol":"C/D"}'],
    ['a damaged frame of no channel', '{"channel":"bo","data":[{"symbol":"A/B"'],
    ['a damaged list of pairs', '{"channel":"instrument","type":"update","data":{"pairs":[{"symbol":"A/B","st'],
    ['a list', '[1,2]'],
    ['null', 'null'],
    ['a book without data', '{"channel":"book","type":"update"}'],
    ['a book of an unknown type', '{"channel":"book","type":"delta","data":[]}'],
    ['a book without symbol', '{"channel":"book","type":"update","data":[{"bids":[],"asks":[],"checksum":1}]}'],
  ])('a frame with %s is unreadable', (_name, text) => {
    const reason = expect.stringMatching(/^an unreadable message: /)
    expect(readKrakenMessage(text)).toEqual([{ kind: 'unreadable', reason }])
  })

  it.each([
    ['book', 'unreadable-book'],
    ['trade', 'unreadable-trades'],
  ])('a damaged %s frame is of the pair that it still names', (channel, kind) => {
    const text = `{"channel":"${channel}","type":"update","data":[{"symbol":"BTC/USD","bids":[{"pri`
    const reason = `an unreadable ${channel} message: not JSON: SyntaxError`
    expect(readKrakenMessage(text)).toEqual([{ kind, symbol: 'BTC/USD', reason }])
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
    expect(readKrakenMessage(text)).toMatchObject([{ kind: 'unreadable-book', symbol: 'BTC/USD' }])
  })
})

describe('the rest of the protocol', () => {
  it('the list of Kraken pairs is read without those that lack precisions', () => {
    const pairs = [
      { symbol: 'BTC/USD', status: 'online', price_precision: 1, qty_precision: 8, qty_min: 0.00005 },
      { symbol: 'ODD/USD', status: 'online', price_precision: 'one', qty_precision: 8 },
      { symbol: 'NEG/USD', status: 'online', price_precision: -1, qty_precision: 8 },
      ...[
        ['A/USD', 'post_only'],
        ['B/USD', 'delisted'],
        ['C/USD', 'work_in_progress'],
        ['D/USD', undefined],
        ['E/USD', 'limit_only'],
        ['F/USD', 'reduce_only'],
      ].map(([symbol, status]) => ({ symbol, status, price_precision: 1, qty_precision: 8 })),
    ]
    const decimals = { priceDecimals: 1, amountDecimals: 8 }
    const listings = [
      { symbol: 'BTC/USD', status: 'online', state: 'open', ...decimals },
      { symbol: 'A/USD', status: 'post_only', state: 'restricted', ...decimals },
      { symbol: 'B/USD', status: 'delisted', state: 'gone', ...decimals },
      { symbol: 'C/USD', status: 'work_in_progress', state: 'gone', ...decimals },
      { symbol: 'D/USD', status: 'unknown', state: 'restricted', ...decimals },
      { symbol: 'E/USD', status: 'limit_only', state: 'restricted', instrument: 'OPEN', ...decimals },
      { symbol: 'F/USD', status: 'reduce_only', state: 'restricted', instrument: 'OPEN', ...decimals },
    ]
    const frame = (type: string) => JSON.stringify({ channel: 'instrument', type, data: { pairs } })
    expect(readKrakenMessage(frame('snapshot'))).toEqual([{ kind: 'listings', isComplete: true, listings }])
    expect(readKrakenMessage(frame('update'))).toEqual([{ kind: 'listings', isComplete: false, listings }])
  })

  it('acknowledgements of the book channel are read with the depth they name', () => {
    const frame = (method: string, result: object) => JSON.stringify({ method, result, success: true })
    expect(readKrakenMessage(frame('subscribe', { channel: 'book', depth: 25, symbol: 'BTC/USD' }))).toEqual([
      { kind: 'acknowledged', symbol: 'BTC/USD', depth: 25 },
    ])
    expect(readKrakenMessage(frame('unsubscribe', { channel: 'book', depth: 'all', symbol: 'BTC/USD' }))).toEqual([
      { kind: 'acknowledged', symbol: 'BTC/USD' },
    ])
    expect(readKrakenMessage(frame('subscribe', { channel: 'instrument' }))).toEqual([])
    expect(readKrakenMessage(frame('subscribe', { channel: 'trade', symbol: 'BTC/USD' }))).toEqual([])
  })

  it("refusals are read with or without a symbol, and the venue's text about them is cut", () => {
    const refusal = { error: 'Currency pair not supported X/Y', method: 'subscribe', success: false, symbol: 'X/Y' }
    const refused = { kind: 'refused', symbol: 'X/Y', reason: refusal.error }
    expect(readKrakenMessage(JSON.stringify(refusal))).toEqual([{ ...refused, channel: 'book' }])
    expect(readKrakenMessage(JSON.stringify({ ...refusal, req_id: 1 }))).toEqual([{ ...refused, channel: 'trades' }])
    expect(readKrakenMessage(JSON.stringify({ ...refusal, method: 'unsubscribe' }))).toEqual([
      { kind: 'refused', reason: refusal.error },
    ])
    expect(readKrakenMessage(`{"error":"${'x'.repeat(5000)}","success":false}`)).toEqual([
      { kind: 'refused', reason: 'x'.repeat(200) },
    ])
  })

  it('trades are read by their pair, exactly as they were sent, and unreadable ones are left out', () => {
    const trade = (symbol: string, id: number | string) =>
      `{"symbol":"${symbol}","side":"buy","price":63000.10,"qty":0.00100000,"ord_type":"limit","trade_id":${id},"timestamp":"2026-01-01T00:00:00.123456Z"}`
    const data = [trade('A/B', 7), trade('C/D', 90), trade('A/B', 8), trade('A/B', '"nine"'), '{"symbol":"A/B"}', '1']
    const read = (id: number) => {
      const executedAtMilliseconds = Date.UTC(2026, 0, 1, 0, 0, 0, 123)
      return { firstId: id, lastId: id, price: '63000.10', amount: '0.00100000', side: 'buy', executedAtMilliseconds }
    }
    expect(readKrakenMessage(`{"channel":"trade","type":"snapshot","data":[${data.join()}]}`)).toEqual([
      { kind: 'trades', symbol: 'A/B', isRepeat: true, trades: [read(7), read(8)] },
      { kind: 'trades', symbol: 'C/D', isRepeat: true, trades: [read(90)] },
    ])
    expect(readKrakenMessage(`{"channel":"trade","type":"update","data":[${data[1]}]}`)).toEqual([
      { kind: 'trades', symbol: 'C/D', isRepeat: false, trades: [read(90)] },
    ])
  })

  it.each([
    ['online', true],
    ['maintenance', false],
    ['cancel_only', false],
    ['post_only', false],
  ])('a Kraken message that the venue is %s is read', (status, isOpen) => {
    const frame = `{"channel":"status","type":"update","data":[{"system":"${status}"}]}`
    expect(readKrakenMessage(frame)).toEqual([{ kind: 'status', isOpen, status }])
  })

  it.each([
    '{"channel":"heartbeat"}',
    '{"channel":"status","type":"update","data":[]}',
    '{"method":"pong","time_in":"x","time_out":"y"}',
    '{}',
  ])('a Kraken message of the kind %s is a mere sign of life', (text) => {
    expect(readKrakenMessage(text)).toEqual([])
  })
})
