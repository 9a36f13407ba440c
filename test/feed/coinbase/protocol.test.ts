import { describe, expect, it } from 'vitest'
import { createCoinbaseProtocol } from '../../../src/feed/coinbase/protocol.ts'

describe('requests to Coinbase', () => {
  const { requests, listings } = createCoinbaseProtocol()
  const products = (count: number) => Array.from({ length: count }, (_, index) => `P${index}-USD`)

  it('asks for the list of products, and for books, matches and heartbeats product by product', () => {
    expect('requests' in listings && listings.requests()).toEqual([
      { type: 'subscribe', channels: [{ name: 'status' }] },
    ])
    expect(requests('subscribe', 'book', ['BTC-USD', 'ETH-EUR'], Infinity)).toEqual([
      { type: 'subscribe', channels: [{ name: 'level2_batch', product_ids: ['BTC-USD'] }] },
      { type: 'subscribe', channels: [{ name: 'level2_batch', product_ids: ['ETH-EUR'] }] },
    ])
    expect(requests('unsubscribe', 'trades', ['BTC-USD'], Infinity)).toEqual([
      {
        type: 'unsubscribe',
        channels: [
          { name: 'matches', product_ids: ['BTC-USD'] },
          { name: 'heartbeat', product_ids: ['BTC-USD'] },
        ],
      },
    ])
  })

  it('sends the list, all books and all trades at once', () => {
    const { requestRate } = createCoinbaseProtocol()
    const count = (channel: 'book' | 'trades') => requests('subscribe', channel, products(997), 0).length
    expect(1 + count('book') + count('trades')).toBeLessThanOrEqual(requestRate?.burst ?? 0)
  })

  it.each([0, 1, 40, 41, 79, 80, 81, 997])(
    'asks for %i products with at most 40 requests, each product once',
    (count) => {
      const asked = requests('subscribe', 'book', products(count), Infinity) as {
        channels: { product_ids: string[] }[]
      }[]
      const parts = asked.map(({ channels }) => channels[0]?.product_ids ?? [])
      expect(parts.flat()).toEqual(products(count))
      expect(parts.length).toBeLessThanOrEqual(40)
      expect(Math.max(0, ...parts.map((part) => part.length))).toBe(Math.ceil(count / 40))
    },
  )
})
