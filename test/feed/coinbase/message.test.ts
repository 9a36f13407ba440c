import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CoinbaseMessage } from '../../../src/feed/coinbase/message.ts'
import { createCoinbaseProtocol } from '../../../src/feed/coinbase/protocol.ts'
import { propertySettings } from '../../support/property.ts'

/** What one message says to a protocol that has heard nothing before. */
function read(message: unknown): readonly CoinbaseMessage[] {
  return createCoinbaseProtocol().read(typeof message === 'string' ? message : JSON.stringify(message))
}

const SNAPSHOT = { type: 'snapshot', bids: [['100.00', '1.5']], asks: [['100.01', '2']] }
const update = (...changes: string[][]) => ({ type: 'l2update', changes })

describe('messages of Coinbase', () => {
  it('reads books, with the time of a change, and leaves their numbers text', () => {
    expect(read({ ...SNAPSHOT, product_id: 'BTC-USD', time: '2026-11-20T10:00:00.123456Z' })).toEqual([
      {
        kind: 'book',
        symbol: 'BTC-USD',
        data: { isSnapshot: true, bids: [['100.00', '1.5']], asks: [['100.01', '2']] },
      },
    ])
    const changes = [
      ['buy', '100.00', '0.00000000'],
      ['sell', '100.02', '1e-8'],
    ]
    const message = { type: 'l2update', product_id: 'BTC-USD', changes, time: '2026-11-20T10:00:00.123456Z' }
    const eventMilliseconds = Date.UTC(2026, 10, 20, 10, 0, 0, 123)
    const data = { isSnapshot: false, changes }
    expect(read(message)).toEqual([{ kind: 'book', symbol: 'BTC-USD', data, eventMilliseconds }])
    expect(read({ ...message, time: 'now' })).toEqual([{ kind: 'book', symbol: 'BTC-USD', data }])
  })

  it.each([
    ['no bids', { type: 'snapshot', asks: [] }],
    ['asks that are no list', { type: 'snapshot', bids: [], asks: {} }],
    ['a level that is no list', { type: 'snapshot', bids: ['1'], asks: [] }],
    ['a level of one', { type: 'snapshot', bids: [['1']], asks: [] }],
    ['a price as a number', { type: 'snapshot', bids: [[1, '1']], asks: [] }],
    ['a size as a number', { type: 'snapshot', bids: [], asks: [['1', 1]] }],
    ['no changes', { type: 'l2update' }],
    ['a change of two', { type: 'l2update', changes: [['buy', '1']] }],
    ['a change of no side', { type: 'l2update', changes: [['bid', '1', '1']] }],
    ['a change with a number', { type: 'l2update', changes: [['buy', 1, '1']] }],
    ['a change without size', { type: 'l2update', changes: [['buy', '1', null]] }],
    ['a good change before a bad one', update(['buy', '1', '1'], ['sell', '1'])],
  ])('a book with %s is one that cannot be read', (_what, message) => {
    const reason = `a ${message.type} that cannot be read`
    expect(read({ ...message, product_id: 'BTC-USD' })).toEqual([
      { kind: 'unreadable-book', symbol: 'BTC-USD', reason },
    ])
  })

  const MATCH = {
    type: 'match',
    trade_id: 10,
    maker_order_id: 'm',
    taker_order_id: 't',
    side: 'sell',
    size: '5.23512000',
    price: '400.23',
    product_id: 'BTC-USD',
    sequence: 50,
    time: '2014-11-07T08:19:27.028459Z',
  }
  const TRADE = {
    firstId: 10,
    lastId: 10,
    price: '400.23',
    amount: '5.23512000',
    executedAtMilliseconds: Date.UTC(2014, 10, 7, 8, 19, 27, 28),
  }

  it('a match is a trade, a last_match one that is repeated', () => {
    expect(read(MATCH)).toEqual([{ kind: 'trades', symbol: 'BTC-USD', isRepeat: false, trades: [TRADE] }])
    expect(read({ ...MATCH, type: 'last_match' })).toEqual([
      { kind: 'trades', symbol: 'BTC-USD', isRepeat: true, trades: [TRADE] },
    ])
  })

  it.each([
    ['nothing', ''],
    ['half a message', '{"type":"l2upd'],
    ['a list', []],
    ['null', null],
    ['no type', {}],
    ['a type that is no text', { type: 7 }],
    ['a book of no product', { ...SNAPSHOT, product_id: 7 }],
    ['a match of no product', { ...MATCH, product_id: null }],
    ['a match without number', { ...MATCH, trade_id: '10' }],
    ['a match with a number too large', { ...MATCH, trade_id: 2 ** 53 }],
    ['a match whose price is a number', { ...MATCH, price: 400.23 }],
    ['a match whose size is a number', { ...MATCH, size: 5 }],
    ['a match without time', { ...MATCH, time: undefined }],
    ['a heartbeat without number', { type: 'heartbeat', product_id: 'BTC-USD' }],
    ['a heartbeat of no product', { type: 'heartbeat', last_trade_id: 1 }],
    ['a status without products', { type: 'status', currencies: [] }],
    ['an error that ends the connection', { type: 'error', message: 'ErrSlowConsume' }],
  ])('%s makes the connection one that cannot be trusted', (_what, message) => {
    expect(read(message)).toEqual([{ kind: 'restart', reason: expect.any(String) }])
  })

  it('ignores types that it does not know', () => {
    expect(read({ type: 'ticker', product_id: 'BTC-USD', price: '1' })).toEqual([])
    expect(read({ type: 'something new' })).toEqual([])
  })

  it('names the product of a refusal where the venue does', () => {
    const refusal = { type: 'error', message: 'Failed to subscribe' }
    const reason = 'Failed to subscribe: NO-SUCH is not a valid product'
    expect(read({ ...refusal, reason: 'NO-SUCH is not a valid product' })).toEqual([
      { kind: 'refused', symbol: 'NO-SUCH', reason },
    ])
    expect(read({ ...refusal, reason: ' is not a valid product' })).toEqual([
      { kind: 'refused', reason: 'Failed to subscribe:  is not a valid product' },
    ])
    expect(read({ type: 'error', reason: 7 })).toEqual([{ kind: 'refused', reason: 'no reason given' }])
    const [long] = read({ type: 'error', message: 'x'.repeat(1000) })
    expect(long).toMatchObject({ kind: 'refused', reason: 'x'.repeat(200) })
  })

  it('never throws, whatever it is sent', () => {
    const kinds = ['l2update', 'snapshot', 'match', 'last_match', 'heartbeat', 'status', 'subscriptions', 'error']
    const names = ['product_id', 'changes', 'bids', 'asks', 'trade_id', 'price', 'size', 'time', 'last_trade_id']
    const member = fc.constantFrom(...names, 'products', 'channels', 'message', 'reason')
    const message = fc
      .tuple(fc.constantFrom(...kinds), fc.dictionary(member, fc.jsonValue({ maxDepth: 4 })))
      .map(([type, members]) => JSON.stringify({ ...members, type }))
    const protocol = createCoinbaseProtocol()
    const take = (text: string) => {
      expect(protocol.read(text)).toBeInstanceOf(Array)
    }
    fc.assert(fc.property(fc.oneof(message, fc.string(), fc.json()), take), propertySettings(1000))
  })
})

describe("Coinbase's list of products", () => {
  const LISTING = {
    symbol: 'BTC-USD',
    priceDecimals: 2,
    amountDecimals: 8,
    finestAmountDecimals: 8,
    status: 'online',
    state: 'open',
  }
  const product = (members: object) => ({
    id: 'BTC-USD',
    quote_increment: '0.01',
    base_increment: '0.00000001',
    status: 'online',
    post_only: false,
    limit_only: false,
    cancel_only: false,
    ...members,
  })
  const listed = (members: object) => {
    const [message] = read({ type: 'status', currencies: [], products: [product(members)] })
    if (message?.kind !== 'listings') throw new Error('no listings')
    expect(message.isComplete).toBe(true)
    return message.listings
  }

  it('makes decimals of increments', () => {
    expect(listed({})).toEqual([LISTING])
    for (const [increment, decimals] of [
      ['1', 0],
      ['10', 0],
      ['1.00', 0],
      ['0.5', 1],
      ['0.0500', 2],
      ['0.000000000000000001', 18],
    ] as const) {
      expect(listed({ quote_increment: increment })).toMatchObject([{ priceDecimals: decimals, amountDecimals: 8 }])
      expect(listed({ base_increment: increment })).toMatchObject([{ priceDecimals: 2, amountDecimals: decimals }])
    }
  })

  it.each(['', 'x', '-0.01', '0.01x', '0.0000000000000000001', 0.01, null])(
    'leaves out a product whose increment is %j',
    (increment) => {
      expect(listed({ quote_increment: increment })).toEqual([])
      expect(listed({ base_increment: increment })).toEqual([])
    },
  )

  it.each([
    ['online', {}, 'open', 'online'],
    ['limit orders only', { limit_only: true }, 'open', 'limit_only'],
    ['post only', { post_only: true, limit_only: true }, 'restricted', 'post_only'],
    ['cancel only', { cancel_only: true }, 'restricted', 'cancel_only'],
    ['in an auction', { auction_mode: true }, 'restricted', 'auction_mode'],
    ['disabled', { trading_disabled: true, post_only: true }, 'restricted', 'trading_disabled'],
    ['offline', { status: 'offline' }, 'restricted', 'offline'],
    ['of an unknown status', { status: 'dreaming' }, 'restricted', 'dreaming'],
    ['of no status', { status: null }, 'restricted', 'unknown'],
    ['internal', { status: 'internal' }, 'gone', 'internal'],
    ['delisted', { status: 'delisted', trading_disabled: true }, 'gone', 'delisted'],
  ])('a product that is %s', (_what, members, state, status) => {
    expect(listed(members)).toEqual([{ ...LISTING, status, state }])
  })
})
