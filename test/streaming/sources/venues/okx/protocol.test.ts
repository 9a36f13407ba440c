import { describe, expect, it } from 'vitest'
import { OKX } from '../../../../../src/streaming/sources/venues/okx/protocol.ts'

const protocol = OKX.createProtocol({ restUrl: '' })

describe('requests of OKX', () => {
  it('OKX requests name all pairs of a channel at once', () => {
    expect(protocol.requests('subscribe', 'book', ['BTC-USDT', 'ETH-USDT'], 400)).toEqual([
      {
        op: 'subscribe',
        args: [
          { channel: 'books', instId: 'BTC-USDT' },
          { channel: 'books', instId: 'ETH-USDT' },
        ],
      },
    ])
    expect(protocol.requests('unsubscribe', 'trades', ['BTC-USDT'], 400)).toEqual([
      { op: 'unsubscribe', args: [{ channel: 'trades', instId: 'BTC-USDT' }] },
    ])
    expect(protocol.requests('subscribe', 'book', [], 400)).toEqual([])
  })

  it('OKX requests stay below 64 KiB, with every pair in exactly one of them', () => {
    const symbols = Array.from({ length: 5000 }, (_, index) => `ASSET${index}-USDT`)
    const requests = protocol.requests('subscribe', 'trades', symbols, 400) as { args: { instId: string }[] }[]
    expect(requests.length).toBeGreaterThan(1)
    for (const request of requests) expect(Buffer.byteLength(JSON.stringify(request))).toBeLessThan(65_536)
    expect(requests.flatMap(({ args }) => args.map(({ instId }) => instId))).toEqual(symbols)
  })

  it('OKX requests ask for the list of spot pairs and for the state of the venue', () => {
    const { listings } = protocol
    expect('requests' in listings && listings.requests()).toEqual([
      { op: 'subscribe', args: [{ channel: 'instruments', instType: 'SPOT' }, { channel: 'status' }] },
    ])
  })

  it('OKX requests ask whether OKX is alive before OKX gives up the connection', () => {
    expect(protocol.keepAlive?.text).toBe('ping')
    expect(protocol.keepAlive?.milliseconds).toBeLessThan(30_000)
    expect(protocol.silenceMilliseconds).toBeGreaterThan(protocol.keepAlive?.milliseconds ?? Infinity)
  })
})
