/** One connection in detail: what each of its markets was sent, as the operator API shows it. */
import { beforeEach, describe, expect, it } from 'vitest'
import { sessionDetails } from '../../../src/streaming/gateway/connection-document.ts'
import { ASK } from '../../../src/streaming/market/event.ts'
import { deepBook, LiveStream } from './live-stream.ts'

let stream: LiveStream
beforeEach(() => {
  stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'], depth: 0, settings: { heartbeatSeconds: 1 } })
})

const marketData = (market: string, params: object = {}) => ({ type: 'market_data', params: { market, ...params } })
const versionOf = (symbol: string) => stream.hub.market(symbol)?.replica.version

describe('a connection in detail', () => {
  it('a connection in detail has each market with its channels, as they were chosen', () => {
    stream.snapshot()
    stream.snapshot(undefined, 'BBBUSD')
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    client.ask({
      type: 'subscribe',
      channels: [
        marketData('AAAUSD', { depth: 10, interval_ms: 100, attribution: true }),
        { type: 'execution_data', params: { market: 'AAAUSD' } },
        { type: 'market_data.top_of_book', params: { market: 'BBBUSD' } },
      ],
    })
    const { heartbeat, market_count, markets } = sessionDetails(client.session)
    expect([heartbeat, market_count]).toEqual([false, 2])
    expect(markets).toEqual([
      {
        market: 'AAAUSD',
        channels: [{ type: 'market_data', depth: 10, interval_ms: 100, attribution: true }, { type: 'execution_data' }],
        behind: false,
        version: versionOf('AAAUSD'),
        current_version: versionOf('AAAUSD'),
      },
      // Without market_data there is no book whose version could be sent.
      {
        market: 'BBBUSD',
        channels: [{ type: 'market_data.top_of_book' }],
        behind: false,
        current_version: versionOf('BBBUSD'),
      },
    ])
  })

  it('a connection in detail has the last digest of a heartbeat, with cursor and time, until the book is unsubscribed', () => {
    stream.snapshot()
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    client.subscribe('AAAUSD market_data', 'heartbeat')
    stream.clock.advance(1_000)
    const statuses = client
      .read()
      .map((text) => JSON.parse(text))
      .filter(({ channel }) => channel === 'heartbeat')
      .flatMap(({ payload }) => payload.books.map((book: object) => ({ ...book, timestamp: payload.timestamp })))
    const { digest, cursor, timestamp } = statuses.at(-1)
    expect(digest).toMatch(/^[0-9a-f]{16}$/)
    const sent_at = `${timestamp.slice(0, 23)}Z`
    expect(sessionDetails(client.session)).toMatchObject({
      heartbeat: true,
      markets: [{ market: 'AAAUSD', last_digest: { digest, cursor, sent_at } }],
    })
    // A book that changes after the heartbeat leaves its digest as it was sent.
    stream.update([{ side: ASK, price: 300, amount: 7 }])
    stream.clock.settle()
    const [changed] = sessionDetails(client.session).markets
    expect(changed?.last_digest).toEqual({ digest, cursor, sent_at })
    expect(changed?.version).toBe(versionOf('AAAUSD'))
    client.unsubscribe('AAAUSD market_data')
    client.subscribe('AAAUSD execution_data')
    expect(sessionDetails(client.session).markets[0]).not.toHaveProperty('last_digest')
  })

  it('a connection in detail counts conflated updates, and shows the version that a lagging client holds', () => {
    stream = new LiveStream({ markets: ['AAAUSD'], depth: 0, settings: { outboxBytesMax: 2_000 } })
    stream.snapshot(deepBook(200, 5))
    const slow = stream.connect({ kernelBytes: 10 })
    slow.receive({ type: 'subscribe', channels: [marketData('AAAUSD')] })
    stream.clock.settle()
    const held = versionOf('AAAUSD')
    for (let change = 1; change <= 5; change++) {
      stream.update([{ side: ASK, price: 10_000_001, amount: 5 + change }])
      stream.clock.settle()
    }
    expect(sessionDetails(slow.session)).toMatchObject({
      behind: true,
      conflated_messages: 0,
      markets: [{ behind: true, version: held, current_version: (held ?? 0) + 5 }],
    })
    slow.read()
    expect(sessionDetails(slow.session)).toMatchObject({
      behind: false,
      conflated_messages: 1,
      markets: [{ behind: false, version: versionOf('AAAUSD'), current_version: versionOf('AAAUSD') }],
    })
  })

  it('a connection in detail lists at most 500 markets, and counts all', () => {
    const markets = Array.from({ length: 501 }, (_, index) => `M${String(index).padStart(3, '0')}USD`)
    stream = new LiveStream({ markets })
    const client = stream.connect()
    client.subscribe(...markets.map((market) => `${market} market_data`))
    const { market_count, markets: shown } = sessionDetails(client.session)
    expect([market_count, shown.length]).toEqual([501, 500])
    // Of a market without a book nothing was sent.
    expect(shown[0]).toEqual({
      market: 'M000USD',
      channels: [{ type: 'market_data' }],
      behind: false,
      current_version: 0,
    })
  })
})
