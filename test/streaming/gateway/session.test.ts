import { describe, expect, test } from 'vitest'
import { BID } from '../../../src/streaming/market/event.ts'
import { type LiveClient, LiveStream, levels, type Message, rebuild } from './live-stream.ts'

const BOOK = 'AAAUSD market_data'
const TOP = 'AAAUSD market_data.top_of_book'
const EXECUTIONS = 'AAAUSD execution_data'

/** What a message is, in short: `ack`, `SNAPSHOT`, `UPDATE`, `TOP_OF_BOOK`, `execution`, `heartbeat`. */
function kinds(texts: readonly string[]): string[] {
  return texts.map((text) => {
    const { channel, type, payload } = JSON.parse(text) as Message
    if (channel === undefined) return type === 'error' ? 'error' : 'ack'
    if (channel === 'heartbeat') return 'heartbeat'
    return channel === 'execution_data' ? 'execution' : (payload.type as string)
  })
}

function outcomes(reply: string | undefined): unknown[] {
  return (JSON.parse(reply as string) as Message).channels?.map(({ success, error }) => error ?? success) as unknown[]
}

function liveClient(): { stream: LiveStream; client: LiveClient } {
  const stream = new LiveStream()
  stream.snapshot()
  return { stream, client: stream.connect() }
}

const bid = (price: number, amount: number) => [{ side: BID, price, amount }] as const
const trade = { price: 150, amount: 1 }

describe('subscribe', () => {
  test('a subscribe is acknowledged first, then come the SNAPSHOT and the top, and nothing of executions', () => {
    const { client } = liveClient()
    expect(kinds(client.subscribe(EXECUTIONS, TOP, BOOK))).toEqual(['ack', 'SNAPSHOT', 'TOP_OF_BOOK'])
  })

  test('each channel can be subscribed alone', () => {
    const { stream, client } = liveClient()
    expect(kinds(client.subscribe(TOP))).toEqual(['ack', 'TOP_OF_BOOK'])
    expect(kinds(stream.connect().subscribe(BOOK))).toEqual(['ack', 'SNAPSHOT'])
    expect(kinds(stream.connect().subscribe(EXECUTIONS))).toEqual(['ack'])
    expect(kinds(stream.connect().subscribe('heartbeat'))).toEqual(['ack', 'heartbeat'])
  })

  test('subscribe gives each channel only its own data', () => {
    const stream = new LiveStream()
    stream.snapshot()
    const [book, top, executions] = [stream.connect(), stream.connect(), stream.connect()]
    book.subscribe(BOOK)
    top.subscribe(TOP)
    executions.subscribe(EXECUTIONS)
    stream.update(bid(100, 11), [trade])
    stream.update(bid(99, 5))
    expect(kinds(book.read())).toEqual(['UPDATE', 'UPDATE'])
    expect(kinds(top.read())).toEqual(['TOP_OF_BOOK'])
    expect(kinds(executions.read())).toEqual(['execution'])
  })

  test('a repeated subscribe of a channel has no effect, also twice in one request', () => {
    const { stream, client } = liveClient()
    const first = client.subscribe(BOOK, BOOK, TOP)
    expect(outcomes(first[0])).toEqual([true, 'NO_EFFECT_ACTION', true])
    expect(kinds(first)).toEqual(['ack', 'SNAPSHOT', 'TOP_OF_BOOK'])
    const again = client.subscribe(BOOK, TOP)
    expect(outcomes(again[0])).toEqual(['NO_EFFECT_ACTION', 'NO_EFFECT_ACTION'])
    expect(kinds(again)).toEqual(['ack'])
    stream.update(bid(100, 12))
    expect(kinds(client.read())).toEqual(['UPDATE', 'TOP_OF_BOOK'])
  })

  test('the subscription limit is named, counts heartbeat, and gives way again', () => {
    const stream = new LiveStream({ settings: { subscriptionsMax: 3 } })
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('heartbeat', BOOK, TOP)
    const [reply] = client.subscribe(EXECUTIONS, BOOK)
    expect((JSON.parse(reply as string) as Message).channels?.[0]).toEqual({
      type: 'execution_data',
      params: { market: 'AAAUSD' },
      success: false,
      error: 'NO_EFFECT_ACTION',
      message: 'the limit of 3 subscriptions per connection is reached',
    })
    client.unsubscribe('heartbeat')
    expect(outcomes(client.subscribe(EXECUTIONS)[0])).toEqual([true])
    expect(outcomes(client.subscribe('heartbeat')[0])).toEqual(['NO_EFFECT_ACTION'])
  })

  test('all forms of a heartbeat subscribe are one subscription, listed without params', () => {
    const { client } = liveClient()
    const channels = [{ type: 'heartbeat', params: {} }, { type: 'heartbeat' }, { type: 'heartbeat', params: null }]
    const replies = client.ask({ type: 'subscribe', channels })
    expect(outcomes(replies[0])).toEqual([true, 'NO_EFFECT_ACTION', 'NO_EFFECT_ACTION'])
    expect(kinds(replies)).toEqual(['ack', 'heartbeat'])
    expect(client.ask({ type: 'subscription_list' })).toEqual([
      '{"type":"subscription_list","channels":[{"type":"heartbeat"}]}',
    ])
    expect(outcomes(client.ask({ type: 'unsubscribe', channels: channels.slice(2) })[0])).toEqual([true])
    expect(outcomes(client.ask({ type: 'unsubscribe', channels: channels.slice(1) })[0])).toEqual([
      'NO_EFFECT_ACTION',
      'NO_EFFECT_ACTION',
    ])
  })

  test('a failed entry leaves the others alone and is not listed', () => {
    const { client } = liveClient()
    const replies = client.subscribe('AAAUSD nothing', BOOK, 'ZZZUSD market_data')
    expect(outcomes(replies[0])).toEqual(['UNKNOWN_CHANNEL', true, 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'])
    expect(kinds(replies)).toEqual(['ack', 'SNAPSHOT'])
    expect(outcomes(client.unsubscribe('ZZZUSD market_data', 'AAAUSD nothing')[0])).toEqual([
      'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
      'UNKNOWN_CHANNEL',
    ])
    expect(JSON.parse(client.ask({ type: 'subscription_list' })[0] as string).channels).toHaveLength(1)
  })

  test('all channels of a market start from one version while it moves', () => {
    const stream = new LiveStream()
    stream.snapshot()
    for (let round = 0; round < 20; round++) {
      stream.offer(bid(100, 100 + round), [{ price: 150, amount: round + 1 }])
      const client = stream.connect()
      client.receive({ type: 'subscribe', channels: [BOOK, TOP, EXECUTIONS].map((name) => asEntry(name)) })
      stream.offer(bid(100, 200 + round), [{ price: 150, amount: round + 1_001 }])
      stream.clock.advance(1)
      const messages = client.readMessages()
      const book = messages.filter(({ channel }) => channel === 'market_data')
      const top = messages.find(({ channel }) => channel === 'market_data.top_of_book')
      expect(book[0]?.payload.type).toBe('SNAPSHOT')
      const lastTime = book.at(-1)?.payload.time?.slice(0, 23)
      expect(top?.payload.timestamp?.slice(0, 23)).toBe(lastTime)
      expect(top?.payload.bids).toEqual([{ price: '1.00', amount: rebuild(messages).get('1.00') }])
      // An execution is there exactly when it belongs to a later version than the one that the book started from.
      expect(messages.filter(({ channel }) => channel === 'execution_data')).toHaveLength(book.length - 1)
    }
  })
})

function asEntry(name: string): unknown {
  const [market, type] = name.split(' ')
  return { type, params: { market } }
}

describe('unsubscribe', () => {
  test("unsubscribe ends a channel's data with its acknowledgement; other channels continue", () => {
    const { stream, client } = liveClient()
    client.subscribe(BOOK, TOP, EXECUTIONS, 'heartbeat')
    stream.offer(bid(100, 12), [trade])
    client.receive({ type: 'unsubscribe', channels: [{ type: 'heartbeat' }, asEntry(BOOK), asEntry(EXECUTIONS)] })
    const texts = client.read()
    expect(kinds(texts)).toEqual(['execution', 'UPDATE', 'TOP_OF_BOOK', 'ack'])
    stream.clock.advance(2_000)
    stream.update(bid(100, 13), [trade])
    expect(kinds(client.read())).toEqual(['TOP_OF_BOOK'])
  })

  test('an unsubscribe of the same channel twice in one request has an effect once', () => {
    const { client } = liveClient()
    client.subscribe(BOOK)
    expect(outcomes(client.unsubscribe(BOOK, BOOK)[0])).toEqual([true, 'NO_EFFECT_ACTION'])
  })

  test('a subscribe and an unsubscribe within one tick are two acknowledgements and nothing else', () => {
    const { stream, client } = liveClient()
    client.receive({ type: 'subscribe', channels: [asEntry(BOOK), asEntry(TOP)] })
    client.receive({ type: 'unsubscribe', channels: [asEntry(BOOK), asEntry(TOP)] })
    expect(kinds(client.read())).toEqual(['ack', 'ack'])
    stream.update(bid(100, 12))
    expect(client.read()).toEqual([])
  })

  test('a SNAPSHOT after an unsubscribe is strictly later, also when nothing happened in between', () => {
    const { stream, client } = liveClient()
    let last = JSON.parse(client.subscribe(BOOK)[1] as string) as Message
    for (let round = 0; round < 3; round++) {
      client.unsubscribe(BOOK)
      client.receive({ type: 'subscribe', channels: [asEntry(BOOK)] })
      stream.clock.advance(2)
      const [, again] = client.readMessages()
      expect(again?.payload.type).toBe('SNAPSHOT')
      expect(String(again?.payload.time) > String(last.payload.time)).toBe(true)
      expect(again?.payload.bids).toEqual(last.payload.bids)
      last = again as Message
    }
  })

  test('a SNAPSHOT after an unsubscribe is strictly later than the UPDATEs before it', () => {
    const { stream, client } = liveClient()
    client.subscribe(BOOK)
    for (let round = 0; round < 3; round++) {
      stream.update(bid(100, 20 + round))
      stream.update(bid(100, 12 + round))
      const update = client.readMessages().at(-1)
      expect(update?.payload.type).toBe('UPDATE')
      client.unsubscribe(BOOK)
      client.receive({ type: 'subscribe', channels: [asEntry(BOOK)] })
      stream.clock.advance(2)
      const [, snapshot] = client.readMessages()
      expect(snapshot?.payload.type).toBe('SNAPSHOT')
      expect(String(snapshot?.payload.time) > String(update?.payload.time)).toBe(true)
    }
  })

  test('subscribing again without a later commit sends the same SNAPSHOT again', () => {
    const { stream, client } = liveClient()
    client.subscribe(BOOK)
    stream.sequencers.get('AAAUSD')?.stop()
    client.unsubscribe(BOOK)
    expect(kinds(client.subscribe(BOOK))).toEqual(['ack', 'SNAPSHOT'])
  })
})

describe('a market without a book', () => {
  test('a market without a book is subscribed all the same, and the SNAPSHOT follows when it is live', () => {
    const stream = new LiveStream()
    const client = stream.connect()
    expect(kinds(client.subscribe(BOOK, TOP, EXECUTIONS))).toEqual(['ack'])
    stream.update(bid(100, 1), [trade])
    stream.lose()
    expect(kinds(client.read())).toEqual(['execution'])
    stream.snapshot(levels([[101, 7]], []))
    const messages = client.readMessages()
    expect(messages.map(({ payload }) => payload.type)).toEqual(['SNAPSHOT', 'TOP_OF_BOOK'])
    expect([...rebuild(messages)]).toEqual([['1.01', '0.0007']])
  })

  test('an empty book of a live market is a SNAPSHOT', () => {
    const stream = new LiveStream()
    const client = stream.connect()
    client.subscribe(BOOK)
    stream.snapshot([])
    expect(kinds(client.read())).toEqual(['SNAPSHOT'])
  })
})
