import { describe, expect, test } from 'vitest'
import { sessionDocument } from '../../../src/streaming/gateway/connection-document.ts'
import type { MarketStream } from '../../../src/streaming/gateway/market-stream.ts'
import { BID } from '../../../src/streaming/market/event.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { type LiveClient, LiveStream, WorkingClock } from './live-stream.ts'

const LIST = { type: 'subscription_list' }

function heartbeatTimes(texts: readonly string[]): number[] {
  return texts
    .filter((text) => text.startsWith('{"channel":"heartbeat"'))
    .map((text) => Date.parse(JSON.parse(text).payload.timestamp))
}

describe('requests that come fast', () => {
  test('fast requests are answered at the allowed rate, all of them, in order, and reading stops until then', () => {
    const stream = new LiveStream({ settings: { inboundPerSecond: 50, inboundBurst: 10 } })
    const client = stream.connect()
    for (let number = 0; number < 60; number++) client.receive(`{"type":"subscribe","channels":[{"type":${number}}]}`)
    expect(client.transport.isReading).toBe(false)
    const answered = (): number[] => client.read().map((text) => JSON.parse(text).channels[0].type)
    // Each costs 1.02: the message, and a fiftieth for its entry.
    expect(answered()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
    stream.clock.advance(3)
    expect(answered()).toEqual([])
    stream.clock.advance(1)
    expect(answered()).toEqual([9])
    stream.clock.advance(20)
    expect(answered()).toEqual([10])
    stream.clock.advance(480)
    expect(answered()).toHaveLength(23)
    expect(client.transport.isReading).toBe(false)
    stream.clock.advance(600)
    expect(answered().at(-1)).toBe(59)
    expect(client.transport.isReading).toBe(true)
    // The bucket fills again, up to the burst and no further.
    stream.clock.advance(60_000)
    for (let number = 0; number < 12; number++) client.receive(LIST)
    expect(client.read()).toHaveLength(10)
  })

  test('requests cost by their entries, also those that fail and those that a list shows', () => {
    const stream = new LiveStream({ settings: { inboundPerSecond: 50, inboundBurst: 100 } })
    stream.snapshot()
    const request = (type: string, count: number) => ({ type, channels: new Array(count).fill({ type: 'heartbeat' }) })
    const answeredAtOnce = (client: LiveClient, sent: object): number => {
      for (let count = 0; count < 200; count++) client.receive(sent)
      return client.read().filter((text) => !text.includes('"channel":')).length
    }
    expect(answeredAtOnce(stream.connect(), request('subscribe', 450))).toBe(10)
    expect(answeredAtOnce(stream.connect(), request('unsubscribe', 100))).toBe(34)
    // Refused as a whole, because of the number or of an entry: its entries were read all the same.
    expect(answeredAtOnce(stream.connect(), request('subscribe', 1_001))).toBe(5)
    expect(answeredAtOnce(stream.connect(), { type: 'subscribe', channels: new Array(450).fill(null) })).toBe(10)
    const lists = stream.connect()
    lists.ask({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    stream.clock.advance(60_000)
    lists.read()
    expect(answeredAtOnce(lists, LIST)).toBe(98)
  })

  test('fast requests that are long delay the others for the time of one, not of eight', () => {
    const clock = new WorkingClock()
    const stream = new LiveStream({ clock })
    const [long, short] = [stream.connect({ name: 'long' }), stream.connect({ name: 'short' })]
    clock.workMilliseconds = 2
    for (let count = 0; count < 8; count++) long.receive(LIST)
    short.receive(LIST)
    for (let tick = 0; tick < 4; tick++) clock.endTick()
    expect(stream.writeOrder.indexOf('short')).toBe(1)
  })

  test('a burst of 1,000 is answered at once', () => {
    const client = new LiveStream().connect()
    for (let number = 0; number < 1_001; number++) client.receive(LIST)
    expect(client.read()).toHaveLength(1_000)
  })

  test.each([1, 7, 8, 9, 16, 24])('reading continues after %i requests in one read', (count) => {
    const client = new LiveStream().connect()
    for (let number = 0; number < count; number++) client.receive(LIST)
    expect(client.transport.isReading).toBe(false)
    expect(client.read()).toHaveLength(count)
    expect(client.transport.isReading).toBe(true)
  })
})

describe('control frames', () => {
  test('a ping is answered with its data', () => {
    const client = new LiveStream().connect()
    client.session.receivePing(Buffer.from('abc'))
    client.session.receivePong(Buffer.alloc(0))
    expect(client.transport.pongs).toEqual([Buffer.from('abc')])
  })

  test('a flood of control frames is closed with 1008, and many over a long time are not', () => {
    const stream = new LiveStream()
    const [steady, flood] = [stream.connect(), stream.connect()]
    for (let second = 0; second < 5; second++) {
      for (let count = 0; count < 100; count++) steady.session.receivePong(Buffer.alloc(0))
      stream.clock.advance(1_000)
    }
    expect(steady.transport.closed).toBeUndefined()
    for (let count = 0; count < 101; count++) flood.session.receivePing(Buffer.from('x'))
    expect(flood.transport.closed).toEqual({ code: 1008, reason: 'too many control frames' })
    expect(flood.transport.pongs).toHaveLength(100)
  })

  test('the last ping that a blocked connection cannot answer is answered when it can', () => {
    const { stream, client } = blockedClient()
    for (const data of ['a', 'b']) client.session.receivePing(Buffer.from(data))
    expect(client.transport.pongs).toEqual([])
    client.read()
    stream.clock.advance(1)
    expect(client.transport.pongs).toEqual([Buffer.from('b')])
  })
})

/** The client answers the last ping, or one before it. */
function answerPing({ session, transport }: LiveClient, before = 0): void {
  session.receivePong(transport.pingData.at(-1 - before) as Buffer)
}

describe('a client that reads nothing', () => {
  test('a client that reads nothing is shown as not reading after two missed pongs, is counted, and is not closed', async () => {
    const stream = new LiveStream()
    const [paused, reading] = [stream.connect(), stream.connect()]
    const shown = () => [paused, reading].map(({ session }) => session.isPeerReading)
    // The first ping is sent at once.
    for (const expected of [true, false, false]) {
      stream.clock.advance(15_100)
      answerPing(reading)
      expect(shown()).toEqual([expected, true])
    }
    expect(await stream.registry.metrics()).toContain('tidegate_connections_not_reading 1')
    expect(await stream.registry.metrics()).toContain('tidegate_connections_behind 0')
    expect(paused.session.isLagging).toBe(false)
    expect(paused.transport.isOpen).toBe(true)
    answerPing(paused)
    expect(shown()).toEqual([true, true])
    expect(await stream.registry.metrics()).toContain('tidegate_connections_not_reading 0')
  })

  test('a client that reads nothing is shown with the age of its last pong and the round trip, once there is one', () => {
    const stream = new LiveStream()
    const client = stream.connect()
    const shown = () => {
      const { reading, pong_age_ms, round_trip_ms } = sessionDocument(client.session)
      return { reading, pong_age_ms, round_trip_ms }
    }
    stream.clock.advance(15_000)
    expect(shown()).toEqual({ reading: true })
    stream.clock.advance(40.6)
    answerPing(client)
    stream.clock.advance(2_000)
    expect(shown()).toEqual({ reading: true, pong_age_ms: 2_000, round_trip_ms: expect.closeTo(40, -2) })
    // A pong that comes after the next ping still has its own round trip.
    const { round_trip_ms } = shown()
    stream.clock.advance(30_000)
    answerPing(client, 1)
    expect(shown().round_trip_ms).toBeGreaterThan(15_000)
    expect(round_trip_ms).toBeLessThan(100)
  })

  test('a client that reads nothing does not count as reading because of pongs that answer no ping', () => {
    const stream = new LiveStream()
    const client = stream.connect()
    for (let period = 0; period < 4; period++) {
      stream.clock.advance(15_100)
      client.session.receivePong(Buffer.alloc(0))
      client.session.receivePong(Buffer.alloc(4))
    }
    expect(client.session.isPeerReading).toBe(false)
    expect(client.session.pongAgeMilliseconds).toBeUndefined()
  })

  test('a client that reads nothing is shown as not reading while it lags too, and a slow one that lags is not', () => {
    const { stream, client } = blockedClient()
    stream.clock.advance(50_000)
    expect([client.session.isLagging, client.session.isPeerReading]).toEqual([true, false])
    const slow = blockedClient()
    for (let period = 0; period < 5; period++) {
      slow.stream.clock.advance(15_100)
      slow.stream.update([], [{ price: 1, amount: 1 }])
      // It takes one write, and more waits.
      slow.client.transport.drain()
      expect(slow.client.session.isPeerReading).toBe(true)
    }
  })
})

/** A client with executions, and what else is named, whose socket queues more than the high-water mark. */
function blockedClient(...more: readonly string[]): { stream: LiveStream; client: LiveClient } {
  const stream = new LiveStream({ settings: { outboxBytesMax: 2_000 } })
  stream.snapshot()
  const client = stream.connect({ kernelBytes: 1_000 })
  client.subscribe('AAAUSD execution_data', ...more)
  for (let count = 0; count < 30; count++) stream.update([], [{ price: 1, amount: 1 }])
  expect(client.transport.queuedBytes).toBeGreaterThan(2_000)
  expect(client.transport.isReading).toBe(false)
  return { stream, client }
}

describe('silence', () => {
  test('a silent connection is pinged every ping_seconds and dropped when nothing arrives', () => {
    const stream = new LiveStream()
    const [silent, alive] = [stream.connect(), stream.connect()]
    stream.clock.advance(60_000)
    expect(silent.transport.pings).toBe(4)
    stream.clock.advance(800_000)
    expect(silent.transport.isOpen).toBe(true)
    alive.session.receivePong(Buffer.alloc(0))
    stream.clock.advance(60_000)
    expect(silent.transport.isOpen).toBe(false)
    expect(silent.transport.closed).toBeUndefined()
    expect(alive.transport.isOpen).toBe(true)
    // A request is a sign of life as well.
    alive.ask(LIST)
    stream.clock.advance(890_000)
    expect(alive.transport.isOpen).toBe(true)
    stream.clock.advance(40_000)
    expect(alive.transport.isOpen).toBe(false)
  })

  test('a connection whose close has begun is neither pinged nor dropped for its silence', () => {
    const stream = new LiveStream()
    const client = stream.connect()
    let cuts = 0
    client.transport.cut = () => {
      cuts += 1
    }
    client.session.close('operator')
    stream.clock.advance(1_000_000)
    expect([client.transport.pings, cuts]).toEqual([0, 0])
  })

  test('the silence of a connection is not measured while the socket is not read, and restarts when it is', () => {
    const { stream, client } = blockedClient()
    const { pings } = client.transport
    stream.clock.advance(5_000_000)
    expect(client.transport.isOpen).toBe(true)
    expect(client.transport.pings).toBe(pings)
    client.read()
    expect(client.transport.isReading).toBe(true)
    stream.clock.advance(880_000)
    expect(client.transport.isOpen).toBe(true)
    stream.clock.advance(40_000)
    expect(client.transport.isOpen).toBe(false)
  })
})

describe('heartbeats', () => {
  test('heartbeats come right after the acknowledgement, then one period apart', () => {
    const stream = new LiveStream()
    stream.clock.advance(12_345)
    const client = stream.connect()
    expect(heartbeatTimes(client.subscribe('heartbeat'))).toEqual([Date.UTC(2026, 0, 1) + 12_345])
    const times: number[] = []
    for (let count = 0; count < 500; count++) {
      stream.clock.advance(10)
      times.push(...heartbeatTimes(client.read()))
    }
    expect(times.length).toBe(5)
    for (let index = 1; index < times.length; index++)
      expect(Number(times[index]) - Number(times[index - 1])).toBe(1_000)
    expect(Number(times[0]) - (Date.UTC(2026, 0, 1) + 12_345)).toBeLessThanOrEqual(1_020)
  })

  test('heartbeats are spread over the period, and those of one slot share one frame', () => {
    const stream = new LiveStream()
    const clients = Array.from({ length: 100 }, () => stream.connect())
    for (const client of clients) client.subscribe('heartbeat')
    stream.clock.advance(10_000)
    const heartbeats = new Map<number, number>()
    for (const client of clients) client.read()
    stream.clock.advance(1_000)
    for (const client of clients) {
      for (const time of heartbeatTimes(client.read())) heartbeats.set(time, (heartbeats.get(time) ?? 0) + 1)
    }
    expect(heartbeats.size).toBe(50)
    expect([...new Set(heartbeats.values())]).toEqual([2])
    expect(clients[0]?.transport.writes.at(-1)).toBe(clients[50]?.transport.writes.at(-1))
  })

  test('heartbeats are skipped while the connection is blocked, not sent later', () => {
    const { stream, client } = blockedClient('heartbeat')
    client.taken()
    stream.clock.advance(10_000)
    expect(heartbeatTimes(client.read()).length).toBeLessThanOrEqual(1)
    stream.clock.advance(1_000)
    expect(heartbeatTimes(client.read())).toHaveLength(1)
  })

  test('heartbeats are skipped while the socket is saturated, though below the high-water mark', () => {
    const stream = new LiveStream({ settings: { outboxBytesMax: 200_000 } })
    stream.snapshot()
    const client = stream.connect({ kernelBytes: 1_000 })
    client.subscribe('heartbeat', 'AAAUSD execution_data')
    const executions = Array.from({ length: 150 }, () => ({ price: 1, amount: 1 }))
    stream.update([], executions)
    stream.update([], executions)
    expect(client.transport.isSaturated).toBe(true)
    const writes = client.transport.writes.length
    stream.clock.advance(10_000)
    expect(client.transport.writes.length).toBe(writes)
  })
})

describe('an expired token', () => {
  const expiresAt = Date.UTC(2026, 0, 1) + 3_600_000

  test('an expired token ends nothing by default', () => {
    const stream = new LiveStream()
    const client = stream.connect({ expiresAt })
    for (let minutes = 0; minutes < 120; minutes++) {
      stream.clock.advance(60_000)
      client.session.receivePong(Buffer.alloc(0))
    }
    expect(client.transport.isOpen).toBe(true)
  })

  test('an expired token closes with 4001 where configured, when it expires', () => {
    const stream = new LiveStream({ settings: { closesExpired: true } })
    const [client, gone] = [stream.connect({ expiresAt }), stream.connect({ expiresAt })]
    gone.transport.cut()
    gone.session.end()
    client.subscribe('heartbeat')
    for (const wait of [1_800_000 - 1, 1_800_000 - 1]) {
      stream.clock.advance(1)
      client.session.receivePong(Buffer.alloc(0))
      stream.clock.advance(wait)
      // Read it so that its heartbeats do not pile up.
      if (client.transport.isOpen) client.read()
    }
    expect(client.transport.closed).toEqual({ code: 4001, reason: 'token expired' })
    expect(gone.transport.closed).toBeUndefined()
  })

  test('a token valid for months is not cut short by the longest timer there is', () => {
    const day = 86_400_000
    const waits: { delay: number; callback: () => void }[] = []
    const clock = new (class extends VirtualClock {
      override schedule(delay: number, callback: () => void) {
        waits.push({ delay, callback })
        return super.schedule(delay, callback)
      }
    })()
    const stream = new LiveStream({ clock, settings: { closesExpired: true } })
    const client = stream.connect({ expiresAt: Date.UTC(2026, 0, 1) + 60 * day })
    const passed: number[] = []
    while (client.transport.closed === undefined) {
      const wait = waits.findLast(({ delay }) => delay > day)
      clock.stepWall(Number(wait?.delay))
      passed.push(Number(wait?.delay))
      wait?.callback()
    }
    expect(passed.reduce((sum, wait) => sum + wait)).toBe(60 * day)
    // What setTimeout takes at most; more would fire at once.
    expect(Math.max(...passed)).toBeLessThan(2 ** 31)
    expect(client.transport.closed?.code).toBe(4001)
  })
})

describe('a bug of ours', () => {
  const request = (type: string) => ({ type: 'subscribe', channels: [{ type, params: { market: 'AAAUSD' } }] })
  const broken = (): never => {
    throw new Error('the test breaks this')
  }

  test('an internal bug costs the request, not the connection', async () => {
    const stream = new LiveStream()
    stream.snapshot()
    const client = stream.connect()
    const { market } = stream.hub
    stream.hub.market = broken
    expect(client.ask(request('market_data'))).toEqual([
      '{"type":"error","error":"INTERNAL_SERVER_ERROR","message":"Unexpected server error"}',
    ])
    stream.hub.market = market
    expect(client.ask(request('market_data'))).toHaveLength(2)
    expect(await stream.registry.metrics()).toContain('tidegate_stream_internal_errors_total 1')
  })

  test('an internal bug in one entry costs that entry, which can be tried again', () => {
    const stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'] })
    stream.snapshot()
    stream.snapshot(undefined, 'BBBUSD')
    const client = stream.connect()
    const market = stream.hub.market('AAAUSD') as MarketStream
    const { subscribe } = market
    market.subscribe = broken
    const [reply] = client.subscribe('AAAUSD market_data', 'BBBUSD market_data')
    const channels = JSON.parse(reply as string).channels
    expect(channels[0]).toEqual({
      type: 'market_data',
      params: { market: 'AAAUSD' },
      success: false,
      error: 'INTERNAL_SERVER_ERROR',
      message: 'Unexpected server error',
    })
    expect(channels[1].success).toBe(true)
    expect(JSON.parse(client.ask(LIST)[0] as string).channels).toHaveLength(1)
    market.subscribe = subscribe
    const again = client.subscribe('AAAUSD market_data')
    expect(JSON.parse(again[0] as string).channels[0].success).toBe(true)
    expect(again).toHaveLength(2)
  })

  test('an internal bug in catching up closes that connection with 1011 and no other', () => {
    const stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'] })
    stream.snapshot()
    stream.snapshot(undefined, 'BBBUSD')
    const [client, other] = [stream.connect(), stream.connect()]
    other.subscribe('BBBUSD market_data')
    const market = stream.hub.market('AAAUSD') as MarketStream
    market.channelOf('market_data').catchUp = broken
    client.subscribe('AAAUSD market_data')
    expect(client.transport.closed).toEqual({ code: 1011, reason: 'internal error' })
    stream.update([{ side: BID, price: 100, amount: 5 }], [], 'BBBUSD')
    expect(other.read()).toHaveLength(1)
  })
})

describe('the end of a connection', () => {
  test("data stops before a connection's close frame; nothing is answered or counted after it", async () => {
    const stream = new LiveStream()
    stream.snapshot()
    const client = stream.connect()
    client.subscribe('AAAUSD market_data', 'heartbeat')
    client.receive(LIST)
    client.session.close('operator')
    expect(client.transport.closed).toEqual({ code: 1001, reason: 'closed by the operator' })
    expect(client.transport.cutAfterMilliseconds).toEqual([5_000])
    const writes = client.transport.writes.length
    client.receive(LIST)
    client.session.receivePing(Buffer.from('x'))
    client.session.close('revoked')
    stream.update([{ side: BID, price: 100, amount: 5 }])
    stream.clock.advance(5_000)
    expect(client.transport.writes.length).toBe(writes)
    expect(client.transport.closed?.code).toBe(1001)
    client.session.end()
    client.session.end()
    expect(stream.hub.sessions.size).toBe(0)
    expect(stream.hub.useOf('client').connections).toBe(0)
    const metrics = await stream.registry.metrics()
    expect(metrics).toMatch(/tidegate_subscriptions\{channel="market_data"\} 0/)
    expect(metrics).toMatch(/tidegate_subscriptions\{channel="heartbeat"\} 0/)
    expect(metrics).toMatch(/tidegate_closes_total\{cause="operator"\} 1/)
    expect(metrics).not.toMatch(/tidegate_closes_total\{cause="revoked"\} [1-9]/)
  })

  test('a lagging session whose connection ends is no longer counted as lagging', async () => {
    const { stream, client } = blockedClient()
    expect(await stream.registry.metrics()).toContain('tidegate_connections_behind 1')
    client.session.close('operator')
    expect(await stream.registry.metrics()).toContain('tidegate_connections_behind 0')
    expect(stream.hub.market('AAAUSD')?.subscriptions).toEqual([])
  })

  test.each(['tokenRevoked', 'revoked'] as const)('a connection that ends as %s is cut after one second', (cause) => {
    const client = new LiveStream().connect()
    client.session.close(cause)
    expect(client.transport.cutAfterMilliseconds).toEqual([1_000])
  })
})
