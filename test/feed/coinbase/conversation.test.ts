import { describe, expect, it } from 'vitest'
import { createCoinbaseProtocol } from '../../../src/feed/coinbase/protocol.ts'
import { VenueTrades } from '../../../src/feed/venue-trades.ts'

/** A connection on which the trades of these products are asked for, and nothing is acknowledged. */
function connected(...products: string[]) {
  const protocol = createCoinbaseProtocol()
  const connect = () => {
    if ('requests' in protocol.listings) protocol.listings.requests()
    protocol.requests('subscribe', 'trades', products, 0)
  }
  connect()
  return { ...protocol, connect }
}

const subscribed = (...products: string[]) =>
  JSON.stringify({
    type: 'subscriptions',
    channels: [
      { name: 'status' },
      { name: 'matches', product_ids: products },
      { name: 'heartbeat', product_ids: ['X-Y'] },
    ],
  })

describe('trades of Coinbase', () => {
  const LIST = JSON.stringify({ type: 'status', products: [] })
  const listings = { kind: 'listings', isComplete: true, listings: [] }
  const refused = (symbol: string) => ({
    kind: 'refused',
    symbol,
    channel: 'trades',
    reason: 'they are not among what is subscribed',
  })

  it('are refused when they are not among what is subscribed seconds later, once for each request', () => {
    const { read, requests } = connected('BTC-USD', 'ETH-USD', 'SOL-USD')
    read(subscribed('BTC-USD'))
    expect(read(LIST)).toEqual([listings])
    requests('unsubscribe', 'trades', ['SOL-USD'], 0)
    expect(read(LIST)).toEqual([listings, refused('ETH-USD')])
    expect(read(LIST)).toEqual([listings])
    requests('subscribe', 'trades', ['ETH-USD'], 0)
    expect(read(LIST)).toEqual([listings])
    expect(read(LIST)).toEqual([listings, refused('ETH-USD')])
    requests('subscribe', 'trades', ['ETH-USD'], 0)
    read(subscribed('BTC-USD', 'ETH-USD'))
    for (let list = 0; list < 3; list++) expect(read(LIST)).toEqual([listings])
  })

  it('are asked for anew on each connection', () => {
    const { read, connect } = connected('BTC-USD')
    read(subscribed('BTC-USD'))
    connect()
    expect(read(LIST)).toEqual([listings])
    expect(read(LIST)).toEqual([listings, refused('BTC-USD')])
  })
})

describe('heartbeats of Coinbase', () => {
  const heartbeat = (lastId: number, product = 'BTC-USD') =>
    JSON.stringify({ type: 'heartbeat', sequence: 90, last_trade_id: lastId, product_id: product, time: 'x' })
  const proof = (lastId: number, symbol = 'BTC-USD') => [{ kind: 'traded-up-to', symbol, lastId }]

  it('prove what the one before counted, product by product', () => {
    const { read } = connected('BTC-USD', 'ETH-USD')
    expect(read(subscribed('BTC-USD', 'ETH-USD'))).toEqual([])
    expect(read(heartbeat(20))).toEqual([])
    expect(read(heartbeat(7, 'ETH-USD'))).toEqual([])
    expect(read(heartbeat(23))).toEqual(proof(20))
    expect(read(heartbeat(23))).toEqual(proof(23))
    expect(read(heartbeat(8, 'ETH-USD'))).toEqual(proof(7, 'ETH-USD'))
  })

  it('prove nothing before they are acknowledged, and nothing from one connection to the next', () => {
    const { read, requests, connect } = connected('BTC-USD')
    expect(read(heartbeat(20))).toEqual([])
    expect(read(heartbeat(21))).toEqual([])
    read(subscribed('BTC-USD'))
    expect(read(heartbeat(22))).toEqual([])
    expect(read(heartbeat(22))).toEqual(proof(22))
    // Another product comes and goes: what is known stays.
    requests('subscribe', 'trades', ['ETH-USD'], 0)
    read(subscribed('BTC-USD', 'ETH-USD'))
    requests('unsubscribe', 'trades', ['ETH-USD'], 0)
    expect(read(heartbeat(9, 'ETH-USD'))).toEqual([])
    expect(read(heartbeat(9, 'ETH-USD'))).toEqual([])
    expect(read(heartbeat(22))).toEqual(proof(22))
    connect()
    expect(read(heartbeat(25))).toEqual([])
    read(subscribed('BTC-USD'))
    expect(read(heartbeat(30))).toEqual([])
    expect(read(heartbeat(30))).toEqual(proof(30))
    read(subscribed())
    read(subscribed('BTC-USD'))
    expect(read(heartbeat(31))).toEqual([])
  })

  it('take no match for missing that they overtake, and miss the last one that was left out', () => {
    const { read } = connected('BTC-USD')
    const numbers = new VenueTrades('BTC-USD')
    const told: string[] = []
    const take = (text: string) => {
      for (const message of read(text)) {
        const steps =
          message.kind === 'trades'
            ? numbers.take(message.trades, message.isRepeat)
            : message.kind === 'traded-up-to'
              ? numbers.tradedUpTo(message.lastId)
              : []
        for (const step of steps) told.push(step.kind === 'trades' ? `${step.trades[0]?.firstId}` : step.reason)
      }
    }
    const match = (id: number, type = 'match') => {
      const time = `2026-11-20T10:00:${String(id).padStart(2, '0')}Z`
      return JSON.stringify({ type, trade_id: id, product_id: 'BTC-USD', price: '1', size: '1', time })
    }
    read(subscribed('BTC-USD'))
    for (const text of [match(10, 'last_match'), match(11), heartbeat(12), match(12), heartbeat(12)]) take(text)
    expect(told).toEqual(['11', '12'])
    for (const text of [match(14), heartbeat(15), heartbeat(15), match(16)]) take(text)
    expect(told.slice(2)).toEqual(['trade 13 of BTC-USD is missing', '14', 'trade 15 of BTC-USD is missing', '16'])
  })
})

describe('the list of products of Coinbase', () => {
  it('reads a list that is repeated only once, and one that differs anew', () => {
    const PRODUCT = { id: 'BTC-USD', quote_increment: '0.01', base_increment: '0.00000001', status: 'online' }
    const protocol = createCoinbaseProtocol()
    const list = (members: object) => JSON.stringify({ type: 'status', products: [{ ...PRODUCT, ...members }, 7, {}] })
    const first = protocol.read(list({}))
    expect(protocol.read(list({}))).toBe(first)
    const second = protocol.read(list({ post_only: true }))
    expect(second).toMatchObject([{ listings: [{ status: 'post_only' }] }])
    expect(protocol.read(list({}))).toEqual(first)
  })
})
