import { describe, expect, test } from 'vitest'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { LiveStream, levels } from './live-stream.ts'

/** The messages of the base protocol, byte for byte: clients rely on these texts, so a difference breaks them. */
describe('the exact text of every message of the base protocol', () => {
  const everything = ['AAAUSD market_data', 'AAAUSD market_data.top_of_book', 'AAAUSD execution_data', 'heartbeat']

  test("a subscription's acknowledgement, SNAPSHOT, TOP_OF_BOOK and heartbeat have their exact text", () => {
    const stream = new LiveStream()
    stream.snapshot(
      levels(
        [
          [10_000, 15_000],
          [9_999, 1],
        ],
        [
          [10_001, 123_456_789_012],
          [20_000, 10_000],
        ],
      ),
    )
    stream.clock.advance(0.25)
    expect(stream.connect().subscribe(...everything)).toEqual([
      '{"type":"subscribe","channels":[' +
        '{"type":"market_data","params":{"market":"AAAUSD"},"success":true},' +
        '{"type":"market_data.top_of_book","params":{"market":"AAAUSD"},"success":true},' +
        '{"type":"execution_data","params":{"market":"AAAUSD"},"success":true},' +
        '{"type":"heartbeat","success":true}]}',
      '{"channel":"heartbeat","payload":{"timestamp":"2026-01-01T00:00:00.002250000Z"}}',
      '{"channel":"market_data","payload":{"market":"AAAUSD","type":"SNAPSHOT","time":"2026-01-01T00:00:00.001Z",' +
        '"bids":[{"price":"100.00","amount":"1.5000"},{"price":"99.99","amount":"0.0001"}],' +
        '"asks":[{"price":"100.01","amount":"12345678.9012"},{"price":"200.00","amount":"1.0000"}]}}',
      '{"channel":"market_data.top_of_book","payload":{"market":"AAAUSD","type":"TOP_OF_BOOK",' +
        '"timestamp":"2026-01-01T00:00:00.001000000Z",' +
        '"bids":[{"price":"100.00","amount":"1.5000"}],"asks":[{"price":"100.01","amount":"12345678.9012"}]}}',
    ])
  })

  test('the executions, UPDATE and TOP_OF_BOOK of a batch have their exact text', () => {
    const stream = new LiveStream()
    stream.snapshot(
      levels(
        [
          [10_000, 15_000],
          [9_999, 1],
        ],
        [
          [10_001, 123_456_789_012],
          [20_000, 10_000],
        ],
      ),
    )
    const client = stream.connect()
    client.subscribe(...everything.slice(0, 3))
    stream.clock.advance(0.5)
    const executedAtMilliseconds = Date.UTC(2025, 11, 31, 23, 59, 59, 7)
    stream.update(
      [
        { side: ASK, price: 10_002, amount: 2n ** 60n },
        { side: ASK, price: 20_000, amount: 0 },
        { side: BID, price: 10_000, amount: 0 },
        { side: BID, price: 5, amount: 10_000 },
      ],
      [
        { price: 10_001, amount: 5 },
        { price: 9_000, amount: 10_000, executedAtMilliseconds },
      ],
    )
    expect(client.read()).toEqual([
      '{"channel":"execution_data","payload":{"market":"AAAUSD","price":"100.01","amount":"0.0005",' +
        '"executed_at":"2026-01-01T00:00:00.003Z"}}',
      '{"channel":"execution_data","payload":{"market":"AAAUSD","price":"90.00","amount":"1.0000",' +
        '"executed_at":"2025-12-31T23:59:59.007Z"}}',
      '{"channel":"market_data","payload":{"market":"AAAUSD","type":"UPDATE","time":"2026-01-01T00:00:00.003Z",' +
        '"bids":[{"price":"100.00","amount":"0"},{"price":"0.05","amount":"1.0000"}],' +
        '"asks":[{"price":"100.02","amount":"115292150460684.6976"},{"price":"200.00","amount":"0"}]}}',
      '{"channel":"market_data.top_of_book","payload":{"market":"AAAUSD","type":"TOP_OF_BOOK",' +
        '"timestamp":"2026-01-01T00:00:00.003500000Z",' +
        '"bids":[{"price":"99.99","amount":"0.0001"}],"asks":[{"price":"100.01","amount":"12345678.9012"}]}}',
    ])
  })

  test('a one-sided UPDATE, and a SNAPSHOT and TOP_OF_BOOK with empty sides, have their exact text', () => {
    const stream = new LiveStream()
    stream.snapshot(levels([], [[10_001, 10_000]]))
    const client = stream.connect()
    expect(client.subscribe('AAAUSD market_data', 'AAAUSD market_data.top_of_book').slice(1)).toEqual([
      '{"channel":"market_data","payload":{"market":"AAAUSD","type":"SNAPSHOT","time":"2026-01-01T00:00:00.001Z",' +
        '"bids":[],"asks":[{"price":"100.01","amount":"1.0000"}]}}',
      '{"channel":"market_data.top_of_book","payload":{"market":"AAAUSD","type":"TOP_OF_BOOK",' +
        '"timestamp":"2026-01-01T00:00:00.001000000Z","bids":[],"asks":[{"price":"100.01","amount":"1.0000"}]}}',
    ])
    stream.update([{ side: ASK, price: 10_001, amount: 0 }])
    expect(client.read()).toEqual([
      '{"channel":"market_data","payload":{"market":"AAAUSD","type":"UPDATE","time":"2026-01-01T00:00:00.003Z",' +
        '"bids":[],"asks":[{"price":"100.01","amount":"0"}]}}',
      '{"channel":"market_data.top_of_book","payload":{"market":"AAAUSD","type":"TOP_OF_BOOK",' +
        '"timestamp":"2026-01-01T00:00:00.003000000Z","bids":[],"asks":[]}}',
    ])
    expect(stream.connect().subscribe('AAAUSD market_data')[1]).toBe(
      '{"channel":"market_data","payload":{"market":"AAAUSD","type":"SNAPSHOT","time":"2026-01-01T00:00:00.003Z",' +
        '"bids":[],"asks":[]}}',
    )
  })

  test('an unsubscribe, a subscription_list, a failed entry and a failed request have their exact reply', () => {
    const stream = new LiveStream()
    stream.snapshot()
    const client = stream.connect()
    expect(client.ask({ type: 'subscription_list' })).toEqual(['{"type":"subscription_list","channels":[]}'])
    client.subscribe('AAAUSD execution_data', 'heartbeat')
    expect(client.ask({ type: 'subscription_list' })).toEqual([
      '{"type":"subscription_list","channels":[{"type":"execution_data","params":{"market":"AAAUSD"}},{"type":"heartbeat"}]}',
    ])
    expect(client.unsubscribe('AAAUSD execution_data', 'AAAUSD market_data')).toEqual([
      '{"type":"unsubscribe","channels":[{"type":"execution_data","params":{"market":"AAAUSD"},"success":true},' +
        '{"type":"market_data","params":{"market":"AAAUSD"},"success":false,"error":"NO_EFFECT_ACTION",' +
        '"message":"the channel is not subscribed"}]}',
    ])
    expect(client.ask('{"type":"subscribe"}')).toEqual([
      '{"type":"error","error":"MALFORMED_REQUEST","message":"channels must be an array of objects"}',
    ])
  })
})
