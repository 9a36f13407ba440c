/**
 * Markets that are added and removed while clients are connected: the messages of each client, their order, and what
 * remains.
 */
import { describe, expect, test } from 'vitest'
import { BID, type LevelChange } from '../../../src/streaming/market/event.ts'
import { LiveStream, levels, rebuild } from './live-stream.ts'

const ENDED = (market: string, ...types: string[]) => ({
  type: 'unsubscribe',
  channels: types.map((type) => ({
    type,
    params: { market },
    success: true,
    message: 'the market was removed: it is no longer served',
  })),
})

const metricOf = async (stream: LiveStream, name: string) => {
  const text = await stream.registry.metrics()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1),
  )
}

describe('a market that goes', () => {
  test('a removed market is notified once to each of its subscribers, with its channels, and to no other session', () => {
    const stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'] })
    stream.snapshot()
    stream.snapshot(levels([[100, 10]], [[200, 20]]), 'BBBUSD')
    const [both, one, other, none] = [stream.connect(), stream.connect(), stream.connect(), stream.connect()]
    both.subscribe('AAAUSD market_data', 'BBBUSD market_data', 'AAAUSD execution_data', 'heartbeat')
    one.subscribe('AAAUSD market_data.top_of_book')
    other.subscribe('BBBUSD market_data')
    none.subscribe('heartbeat')
    stream.removeMarket('AAAUSD')
    expect(both.readMessages()).toEqual([ENDED('AAAUSD', 'market_data', 'execution_data')])
    expect(one.readMessages()).toEqual([ENDED('AAAUSD', 'market_data.top_of_book')])
    expect(other.readMessages()).toEqual([])
    expect(none.readMessages()).toEqual([])
  })

  test('a changed market is notified as such, and can be subscribed again in the same tick', () => {
    const stream = new LiveStream()
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('AAAUSD market_data')
    stream.addMarket('AAAUSD', stream.removeMarket('AAAUSD', 'changed'))
    const [ended] = client.readMessages()
    expect(ended).toMatchObject({
      type: 'unsubscribe',
      channels: [{ success: true, message: 'the market was changed: subscribe again' }],
    })
    const [reply = ''] = client.subscribe('AAAUSD market_data')
    expect(JSON.parse(reply).channels).toEqual([{ type: 'market_data', params: { market: 'AAAUSD' }, success: true }])
  })

  test('a removed market leaves nothing behind in the list, the metrics or the subscriptions', async () => {
    const stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'] })
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('AAAUSD market_data', 'BBBUSD market_data', 'AAAUSD execution_data')
    expect(await metricOf(stream, 'tidegate_subscriptions{channel="market_data"}')).toBe(2)
    stream.removeMarket('AAAUSD')
    client.read()
    expect(await metricOf(stream, 'tidegate_subscriptions{channel="market_data"}')).toBe(1)
    expect(await metricOf(stream, 'tidegate_subscriptions{channel="execution_data"}')).toBe(0)
    expect(client.session.subscriptionCount).toBe(1)
    expect(client.ask({ type: 'subscription_list' })).toEqual([
      '{"type":"subscription_list","channels":[{"type":"market_data","params":{"market":"BBBUSD"}}]}',
    ])
    for (const answer of [client.subscribe('AAAUSD market_data'), client.unsubscribe('AAAUSD market_data')]) {
      const [reply] = answer.map((text) => JSON.parse(text))
      expect(reply.channels[0]).toMatchObject({ success: false, error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION' })
    }
  })

  test('a removed market sends no data after the notice, not even commits of the same tick', () => {
    const stream = new LiveStream()
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('AAAUSD market_data', 'AAAUSD execution_data')
    stream.clock.advance(1)
    stream.offer([{ side: BID, price: 100, amount: 7 }], [{ price: 100, amount: 3 }])
    stream.clock.endTick()
    stream.removeMarket('AAAUSD')
    stream.clock.advance(1_000)
    expect(client.readMessages()).toEqual([ENDED('AAAUSD', 'market_data', 'execution_data')])
  })

  test('a removed market is notified to a lagging subscriber when it drains, after the fragments being written', () => {
    const many = Array.from(
      { length: 6_000 },
      (_, rank): LevelChange => ({ side: BID, price: 10_000 - rank, amount: rank + 1 }),
    )
    const stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'], depth: 0 })
    stream.snapshot(many)
    stream.snapshot(levels([[100, 10]], [[200, 20]]), 'BBBUSD')
    const client = stream.connect({ kernelBytes: 4_096 })
    client.receive({
      type: 'subscribe',
      channels: ['AAAUSD', 'BBBUSD'].map((market) => ({ type: 'market_data', params: { market } })),
    })
    stream.clock.settle()
    expect(client.transport.queuedBytes).toBeGreaterThan(0)
    const written = client.transport.writes.length
    stream.removeMarket('AAAUSD')
    stream.update([{ side: BID, price: 100, amount: 7 }], [], 'BBBUSD')
    expect(client.transport.writes.length).toBe(written)
    const messages = client.readMessages()
    expect(messages.map(({ type, payload }) => type ?? `${payload.market} ${payload.type}`)).toEqual([
      'subscribe',
      'BBBUSD SNAPSHOT',
      'AAAUSD SNAPSHOT',
      'unsubscribe',
      'BBBUSD UPDATE',
    ])
    expect(rebuild(messages.slice(2, 3)).size).toBe(many.length)
  })

  test('a removed market is notified before waiting requests are answered', () => {
    const stream = new LiveStream()
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('AAAUSD market_data')
    client.receive({ type: 'unsubscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    stream.removeMarket('AAAUSD')
    const [notice, answered] = client.readMessages()
    expect(notice).toEqual(ENDED('AAAUSD', 'market_data'))
    expect(answered?.channels?.[0]).toMatchObject({ success: false })
  })

  test('a removed market is not notified to a closing session', () => {
    const stream = new LiveStream()
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('AAAUSD market_data')
    client.session.close('operator')
    const { length } = client.transport.writes
    stream.removeMarket('AAAUSD')
    expect(client.transport.writes.length).toBe(length)
  })

  test('a removed market does not close its subscribers as stale later', () => {
    const stream = new LiveStream({ settings: { staleSeconds: 5, closesStale: true } })
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('AAAUSD market_data')
    stream.lose()
    stream.removeMarket('AAAUSD')
    stream.clock.advance(60_000)
    expect(client.transport.closed).toBeUndefined()
  })
})

describe('a market that comes', () => {
  test('an added market can be subscribed at once, and sends its SNAPSHOT when it is live', () => {
    const stream = new LiveStream()
    const client = stream.connect()
    stream.addMarket('BBBUSD')
    expect(client.subscribe('BBBUSD market_data')).toEqual([
      '{"type":"subscribe","channels":[{"type":"market_data","params":{"market":"BBBUSD"},"success":true}]}',
    ])
    stream.snapshot(levels([[100, 10]], [[200, 20]]), 'BBBUSD')
    expect(client.readMessages().map(({ payload }) => payload.type)).toEqual(['SNAPSHOT'])
  })

  test.each(['who had unsubscribed', 'from whom it was taken'])(
    'a market that is added again starts with later times, also for a client %s',
    (whom) => {
      const stream = new LiveStream()
      stream.snapshot()
      const client = stream.connect()
      client.subscribe('AAAUSD market_data', 'AAAUSD market_data.top_of_book', 'AAAUSD execution_data')
      if (whom === 'who had unsubscribed') {
        client.unsubscribe('AAAUSD market_data', 'AAAUSD market_data.top_of_book', 'AAAUSD execution_data')
      }
      stream.update([{ side: BID, price: 100, amount: 7 }])
      // The wall clock is set back while the market is away.
      stream.clock.stepWall(-3_600_000)
      stream.addMarket('AAAUSD', stream.removeMarket('AAAUSD'))
      client.read()
      expect(client.subscribe('AAAUSD market_data')).toHaveLength(1)
      stream.snapshot(levels([[50, 1]], [[60, 1]]))
      stream.update([{ side: BID, price: 50, amount: 2 }])
      const messages = client.readMessages()
      expect(messages.map(({ payload }) => payload.type)).toEqual(['SNAPSHOT', 'UPDATE'])
      expect(Object.fromEntries(rebuild(messages))).toEqual({ '0.50': '0.0002', '0.60': '0.0001' })
      expect((messages[0]?.payload.time as string) > '2026-01-01T00:00:00.002Z').toBe(true)
    },
  )
})
