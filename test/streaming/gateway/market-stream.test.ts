import { describe, expect, test } from 'vitest'
import { BID } from '../../../src/streaming/market/event.ts'
import { Random } from '../../support/random.ts'
import { LiveStream, levels, type Message } from './live-stream.ts'

const BOOK = 'AAAUSD market_data'
const change = (amount: number) => [{ side: BID, price: 100, amount }] as const

test('sessions that subscribe and unsubscribe in any order get their subscribed data, and leave no subscription', () => {
  for (let seed = 1; seed <= 5; seed++) {
    const random = new Random(seed)
    const stream = new LiveStream()
    stream.snapshot()
    const clients = Array.from({ length: 12 }, () => ({ client: stream.connect(), subscribed: false }))
    for (let step = 0; step < 200; step++) {
      const one = random.pick(clients)
      if (one.subscribed) one.client.unsubscribe(BOOK)
      else one.client.subscribe(BOOK)
      stream.clock.advance(3)
      one.client.read()
      one.subscribed = !one.subscribed
      stream.update(change(1_000 + step))
      for (const [index, { client, subscribed }] of clients.entries()) {
        expect(client.read().length, `seed ${seed}, step ${step}, client ${index}`).toBe(subscribed ? 1 : 0)
      }
    }
    for (const { client, subscribed } of clients) if (subscribed) client.session.close('operator')
    expect(stream.hub.market('AAAUSD')?.subscriptions).toEqual([])
  }
})

test('a session that has unsubscribed is not closed when the market becomes stale', () => {
  const stream = new LiveStream({ settings: { staleSeconds: 5, closesStale: true } })
  stream.snapshot()
  const client = stream.connect()
  client.subscribe(BOOK)
  client.unsubscribe(BOOK)
  stream.lose()
  stream.clock.advance(20_000)
  expect(client.transport.closed).toBeUndefined()
})

test('a market that becomes live a tick after its commit sends its SNAPSHOT then', () => {
  const stream = new LiveStream()
  const client = stream.connect()
  client.subscribe(BOOK)
  stream.sequencers.get('AAAUSD')?.stop()
  const commit = {
    type: 'commit',
    market: 'AAAUSD',
    epoch: 'e1',
    version: 1,
    milliseconds: 1,
    nanoseconds: 0,
    receivedMilliseconds: 1,
    changes: levels([[100, 10]], []),
    executions: [],
    executionNumber: 0,
  } as const
  stream.bus.publish(commit)
  expect(client.read()).toEqual([])
  stream.bus.publish({ type: 'status', market: 'AAAUSD', epoch: 'e1', version: 1, live: true, reason: '' })
  expect(client.read()).toHaveLength(1)
})

test('when a market starts over, all subscribers get a later SNAPSHOT, and no UPDATE continues the earlier book', () => {
  const stream = new LiveStream()
  stream.snapshot()
  const [current, slow] = [stream.connect(), stream.connect({ kernelBytes: 10 })]
  for (const client of [current, slow]) client.subscribe(BOOK, 'AAAUSD market_data.top_of_book')
  stream.update(change(50))
  const [before] = current.readMessages()
  stream.offer([{ side: BID, price: 101, amount: 3 }])
  stream.sequencers.get('AAAUSD')?.startOver('the test says so')
  stream.clock.advance(2)
  expect(stream.rebuilds).toEqual(['AAAUSD: the test says so'])
  const [book, ...rest] = current.readMessages()
  expect(book?.payload).toMatchObject({
    type: 'SNAPSHOT',
    bids: [
      { price: '1.01', amount: '0.0003' },
      { price: '1.00', amount: '0.0050' },
    ],
    asks: [{ price: '2.00', amount: '0.0020' }],
  })
  expect(String(book?.payload.time) > String(before?.payload.time)).toBe(true)
  expect(rest.map(({ channel, payload }) => [channel, payload.bids])).toEqual([
    ['market_data.top_of_book', [{ price: '1.01', amount: '0.0003' }]],
  ])
  expect(slow.readMessages().map(({ payload }) => payload.type)).toContain('SNAPSHOT')
  stream.update(change(0))
  expect(current.readMessages().map(({ payload }) => payload.type)).toEqual(['UPDATE'])
})

describe('between two ticks', () => {
  test("a commit between a connection's wake-up and its catch-up is sent once", () => {
    const stream = new LiveStream({ depth: 0, settings: { outboxBytesMax: 2_000 } })
    stream.snapshot()
    const client = stream.connect({ kernelBytes: 1_000 })
    client.subscribe(BOOK, 'AAAUSD execution_data')
    for (let amount = 1_000; client.transport.isReading; amount++) stream.update(change(amount))
    stream.update([{ side: BID, price: 90, amount: 5 }], [{ price: 1, amount: 1 }])
    stream.clock.advance(2)
    client.transport.drain()
    // Committed at the end of this tick, before the hub comes to the connection that is woken up now.
    stream.offer(change(7), [{ price: 1, amount: 2 }])
    while (!client.transport.isReading) {
      client.transport.flush()
      client.transport.drain()
    }
    // Before them comes what had been queued when the connection blocked.
    const messages = client
      .read()
      .slice(-3)
      .map((text) => JSON.parse(text) as Message)
    expect(messages.map(({ payload }) => payload.amount ?? payload.bids)).toEqual([
      '0.0001',
      '0.0002',
      [
        { price: '1.00', amount: '0.0007' },
        { price: '0.90', amount: '0.0005' },
      ],
    ])
  })
})
