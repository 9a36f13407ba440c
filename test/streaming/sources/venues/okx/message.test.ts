import { describe, expect, it } from 'vitest'
import { readOkxMessage } from '../../../../../src/streaming/sources/venues/okx/message.ts'

const read = (frame: object) => readOkxMessage(JSON.stringify(frame))

const bookArg = { channel: 'books', instId: 'BTC-USDT' }
const tradesArg = { channel: 'trades', instId: 'BTC-USDT' }

/** As in the documentation. */
const book = {
  asks: [['8476.98', '415', '0', '13']],
  bids: [['8476.97', '256', '0', '12'], ['8475.50', '0.00000001', '0', '1']], // biome-ignore format: one side
  ts: '1597026383085',
  checksum: 0,
  prevSeqId: 123456,
  seqId: 123457,
}

const trade = {
  instId: 'BTC-USDT',
  tradeId: '130639474',
  px: '42219.9',
  sz: '0.12060306',
  side: 'buy',
  ts: '1630048897897',
  count: '3',
  source: '0',
  seqId: 1234,
}

describe('a book', () => {
  it('a book keeps prices and amounts as the text that was sent', () => {
    expect(read({ arg: bookArg, action: 'update', data: [book] })).toEqual([
      {
        kind: 'book',
        symbol: 'BTC-USDT',
        eventMilliseconds: 1597026383085,
        data: {
          isSnapshot: false,
          asks: [{ price: '8476.98', amount: '415' }],
          bids: [
            { price: '8476.97', amount: '256' },
            { price: '8475.50', amount: '0.00000001' },
          ],
          sequence: { id: 123457, previous: 123456 },
          eventMilliseconds: 1597026383085,
        },
      },
    ])
  })

  it('a book of an older server has a checksum and no sequence ids', () => {
    const { prevSeqId: _previous, seqId: _id, ...older } = { ...book, checksum: -855196043 }
    const [message] = read({ arg: bookArg, action: 'snapshot', data: [older] })
    expect(message).toMatchObject({ kind: 'book', data: { isSnapshot: true, checksum: -855196043 } })
    expect(message).not.toHaveProperty('data.sequence')
  })

  it('an OKX book may have checksum and sequence ids, and no time', () => {
    const { ts: _ts, ...timeless } = { ...book, checksum: 7 }
    const [message] = read({ arg: bookArg, action: 'update', data: [timeless] })
    expect(message).toMatchObject({ data: { checksum: 7, sequence: { id: 123457, previous: 123456 } } })
    expect(message).not.toHaveProperty('eventMilliseconds')
  })

  const without = (name: string) => Object.fromEntries(Object.entries(book).filter(([key]) => key !== name))
  it.each([
    ['without bids', without('bids')],
    ['without asks', without('asks')],
    ['with a side that is no list', { ...book, asks: { 1: 2 } }],
    ['with a level that is no list', { ...book, asks: ['1', '2'] }],
    ['with a level without amount', { ...book, asks: [['1']] }],
    ['with a price that is a number', { ...book, bids: [[8476.97, '256', '0', '12']] }],
    ['with an amount that is a number', { ...book, bids: [['8476.97', 256, '0', '12']] }],
    ['with half a chain', without('prevSeqId')],
    ['with the other half of a chain', without('seqId')],
    ['with a sequence id that is text', { ...book, seqId: '123457' }],
    ['with a sequence id that no double holds', { ...book, seqId: 2 ** 53 }],
    ['with a checksum that is no integer', { ...book, checksum: 1.5 }],
    ['with neither checksum nor sequence ids', { ...book, prevSeqId: undefined, seqId: undefined }],
    ['that is no object', 7],
  ])('a book %s is unreadable, and its pair is named', (_name, entry) => {
    expect(read({ arg: bookArg, action: 'update', data: [entry] })).toMatchObject([
      { kind: 'unreadable-book', symbol: 'BTC-USDT' },
    ])
  })

  it('a book without an action that is known, or without data, is unreadable', () => {
    const unreadable = [{ kind: 'unreadable-book', symbol: 'BTC-USDT' }]
    expect(read({ arg: bookArg, data: [book] })).toMatchObject(unreadable)
    expect(read({ arg: bookArg, action: 'replace', data: [book] })).toMatchObject(unreadable)
    expect(read({ arg: bookArg, action: 'update', data: [] })).toMatchObject(unreadable)
  })
})

describe('trades', () => {
  it('a trade of OKX stands for as many numbers as were matched, the last of which is named', () => {
    expect(read({ arg: tradesArg, data: [trade] })).toEqual([
      {
        kind: 'trades',
        symbol: 'BTC-USDT',
        isRepeat: false,
        trades: [
          {
            firstId: 130639472,
            lastId: 130639474,
            price: '42219.9',
            amount: '0.12060306',
            side: 'buy',
            executedAtMilliseconds: 1630048897897,
          },
        ],
      },
    ])
  })

  it('trades of an older server stand for one each, and come in the order of the message', () => {
    const { count: _count, ...older } = trade
    expect(read({ arg: tradesArg, data: [older, { ...older, tradeId: '130639475' }] })).toMatchObject([
      {
        trades: [
          { firstId: 130639474, lastId: 130639474 },
          { firstId: 130639475, lastId: 130639475 },
        ],
      },
    ])
  })

  it.each([
    ['a number that is no text', { tradeId: 130639474 }],
    ['a number that no double holds', { tradeId: '9007199254740993' }],
    ['a count of nothing', { count: '0' }],
    ['a negative count', { count: '-1' }],
    ['more matches than there were trades', { tradeId: '1', count: '3' }],
    ['a price that is a number', { px: 42219.9 }],
    ['no amount', { sz: undefined }],
    ['no time', { ts: '' }],
  ])('trades with %s are left out: the next number proves that they are missing', (_name, members) => {
    expect(read({ arg: tradesArg, data: [{ ...trade, ...members }] })).toEqual([
      { kind: 'unreadable-trades', symbol: 'BTC-USDT', reason: 'unreadable trades' },
    ])
  })
})

describe('the list of instruments', () => {
  const instrument = { instType: 'SPOT', instId: 'BTC-USDT', tickSz: '0.1', lotSz: '0.00000001', state: 'live' }
  const listingOf = (members: object) => {
    const [message] = read({
      arg: { channel: 'instruments', instType: 'SPOT' },
      data: [{ ...instrument, ...members }],
    })
    return message?.kind === 'listings' ? message.listings[0] : message
  }

  it('the instrument list of OKX gives precisions and states; it never says itself that it is complete', () => {
    const other = { ...instrument, instId: 'ETH-USDT', tickSz: '0.01', lotSz: '0.000001', state: 'suspend' }
    expect(read({ arg: { channel: 'instruments', instType: 'SPOT' }, data: [instrument, other] })).toEqual([
      {
        kind: 'listings',
        isComplete: false,
        listings: [
          { symbol: 'BTC-USDT', priceDecimals: 1, amountDecimals: 8, status: 'live', state: 'open' },
          { symbol: 'ETH-USDT', priceDecimals: 2, amountDecimals: 6, status: 'suspend', state: 'restricted' },
        ],
      },
    ])
  })

  it.each([
    ['1', 0],
    ['10', 0],
    ['1.0', 0],
    ['0.5', 1],
    ['0.10', 1],
    ['0.000000000000000001', 18],
  ])('the instrument list of OKX reads a step of %s as %i decimals', (tickSz, priceDecimals) => {
    expect(listingOf({ tickSz })).toMatchObject({ priceDecimals })
  })

  it.each(['', '0', '0.0', '1e-8', '-0.1', '0.0000000000000000001', 0.1, undefined])(
    'the instrument list of OKX leaves out an instrument with a step of %j',
    (step) => {
      expect(listingOf({ tickSz: step })).toBeUndefined()
      expect(listingOf({ lotSz: step })).toBeUndefined()
    },
  )

  it.each([
    ['live', 'open'],
    ['suspend', 'restricted'],
    ['post_only', 'restricted'],
    ['test', 'restricted'],
    ['something new', 'restricted'],
    ['preopen', 'gone'],
    ['expired', 'gone'],
  ])('the instrument list of OKX reads %s as %s', (status, state) => {
    expect(listingOf({ state: status })).toMatchObject({ status, state })
  })

  it('the instrument list of OKX reads a test pair as one that is not traded', () => {
    expect(listingOf({ state: 'test' })).toMatchObject({ instrument: 'CLOSED' })
    expect(listingOf({ state: 'suspend' })).not.toHaveProperty('instrument')
  })
})

describe('the state of the venue', () => {
  const statusOf = (members: object) =>
    read({ arg: { channel: 'status' }, data: [{ serviceType: '5', title: 'Upgrade', ...members }] })

  it.each([
    ['ongoing', false],
    ['pre_open', false],
    ['scheduled', true],
    ['completed', true],
    ['canceled', true],
  ])('a maintenance of OKX that is %s makes it open: %s', (state, isOpen) => {
    expect(statusOf({ state })).toEqual([{ kind: 'status', isOpen, status: `${state}: Upgrade` }])
    expect(statusOf({ state, serviceType: '0', title: undefined })).toEqual([
      { kind: 'status', isOpen, status: `${state}: maintenance` },
    ])
  })

  it("a maintenance of OKX's bots or block trades does not close the venue", () => {
    expect(statusOf({ state: 'ongoing', serviceType: '7' })).toEqual([])
    expect(statusOf({ state: undefined })).toEqual([])
  })
})

describe('events', () => {
  it('subscription events of OKX acknowledge books, and nothing else', () => {
    const acknowledged = [{ kind: 'acknowledged', symbol: 'BTC-USDT' }]
    expect(read({ event: 'subscribe', arg: bookArg, connId: 'a4d3ae55' })).toEqual(acknowledged)
    expect(read({ event: 'unsubscribe', arg: bookArg })).toEqual(acknowledged)
    expect(read({ event: 'subscribe', arg: tradesArg })).toEqual([])
    expect(read({ event: 'subscribe', arg: { channel: 'instruments', instType: 'SPOT' } })).toEqual([])
  })

  it('refusal events of OKX name a pair, for its book or its trades', () => {
    const msg = (channel: string) =>
      `Wrong URL or channel:${channel},instId:BTC-USDX doesn't exist. Please use the correct URL, channel and parameters`
    expect(read({ event: 'error', code: '60018', msg: msg('books') })).toEqual([
      { kind: 'refused', symbol: 'BTC-USDX', channel: 'book', reason: `60018: ${msg('books')}` },
    ])
    expect(read({ event: 'error', code: '60018', msg: msg('trades') })).toMatchObject([
      { symbol: 'BTC-USDX', channel: 'trades' },
    ])
    expect(read({ event: 'error', code: '64000', msg: 'no', arg: tradesArg })).toMatchObject([
      { kind: 'refused', symbol: 'BTC-USDT', channel: 'trades' },
    ])
  })

  it('refusal events of OKX without a pair refuse a whole request', () => {
    expect(read({ event: 'error', code: '60012', msg: 'Invalid request' })).toEqual([
      { kind: 'refused', reason: '60012: Invalid request' },
    ])
    expect(read({ event: 'error' })).toEqual([{ kind: 'refused', reason: 'unknown: unknown' }])
    const long = read({ event: 'error', code: '60012', msg: 'x'.repeat(5000) })
    expect(long).toEqual([{ kind: 'refused', reason: `60012: ${'x'.repeat(200)}` }])
    expect(read({ event: 'channel-conn-count-error', channel: 'books', connCount: '30' })).toEqual([
      { kind: 'refused', reason: 'too many connections subscribe books' },
    ])
  })

  it('a refusal of the state of OKX harms no book', () => {
    expect(read({ event: 'error', code: '60018', msg: "Wrong URL or channel:status doesn't exist." })).toEqual([])
  })

  it("an event of OKX about a connection's used-up requests begins the next connection", () => {
    expect(read({ event: 'error', code: '60014', msg: 'Requests too frequent' })).toEqual([
      { kind: 'restart', reason: '60014: Requests too frequent' },
    ])
  })

  it('an event of OKX about the end of the connection begins the next one', () => {
    const msg = 'The connection will soon be closed for a service upgrade. Please reconnect.'
    expect(read({ event: 'notice', code: '64008', msg })).toEqual([{ kind: 'restart', reason: `notice 64008: ${msg}` }])
  })

  it('unknown events of OKX have no messages', () => {
    expect(read({ event: 'channel-conn-count', channel: 'books', connCount: '2', connId: 'abcd' })).toEqual([])
    expect(read({ event: 'something new' })).toEqual([])
  })
})

describe('frames', () => {
  it('OKX frames that are heartbeats, or of an unknown channel, have no messages', () => {
    expect(readOkxMessage('pong')).toEqual([])
    expect(read({ arg: { channel: 'tickers', instId: 'BTC-USDT' }, data: [{}] })).toEqual([])
  })

  it.each([
    ['no JSON', '{"arg":{"channel":"books"'],
    ['a list', '[1,2]'],
    ['null', 'null'],
    ['a text', '"pong"'],
    ['an empty object', '{}'],
    ['data without channel', '{"arg":{},"data":[]}'],
    ['data of nothing', '{"data":[]}'],
    ['a channel without data', '{"arg":{"channel":"books","instId":"BTC-USDT"}}'],
    ['a book of no pair', '{"arg":{"channel":"books"},"action":"update","data":[]}'],
    ['trades of no pair', '{"arg":{"channel":"trades"},"data":[]}'],
  ])('OKX frames that are %s may concern any pair', (_name, text) => {
    expect(readOkxMessage(text)).toMatchObject([{ kind: 'unreadable' }])
  })

  it.each([
    ['books', 'unreadable-book'],
    ['trades', 'unreadable-trades'],
  ])('damaged OKX frames of the channel %s concern the instrument that they still name', (channel, kind) => {
    const text = `{"arg":{"channel":"${channel}","instId":"BTC-USDT"},"data":[{"px`
    expect(readOkxMessage(text)).toEqual([{ kind, symbol: 'BTC-USDT', reason: 'not JSON: SyntaxError' }])
  })

  it('damaged OKX frames of a channel of the whole venue may concern any pair', () => {
    const text = '{"arg":{"channel":"instruments"},"data":[{"instId":"BTC-USDT"'
    expect(readOkxMessage(text)).toMatchObject([{ kind: 'unreadable' }])
  })
})
