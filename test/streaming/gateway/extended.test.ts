import { describe, expect, test } from 'vitest'
import { type Attribution, BID, type LevelChange, type MarketEvent } from '../../../src/streaming/market/event.ts'
import type { MarketState } from '../../../src/streaming/sequencing/bus.ts'
import { deepBook, LiveStream, type Message, rebuild, WorkingClock } from './live-stream.ts'

const BOOK = 'market_data'
const TOP = 'market_data.top_of_book'
const EXECUTIONS = 'execution_data'
const change = (amount: number, price = 100) => [{ side: BID, price, amount }] as const

function entry(type: string, params: Record<string, unknown> = {}) {
  return { type, params: { market: 'AAAUSD', ...params } }
}

function startStream(options: ConstructorParameters<typeof LiveStream>[0] = {}) {
  const stream = new LiveStream(options)
  stream.snapshot()
  return {
    stream,
    connect: () => {
      const client = stream.connect({ subprotocol: 'tidegate.v1' })
      const ask = (type: string, ...channels: unknown[]) =>
        client.ask({ type, channels }).map((text) => JSON.parse(text) as Message)
      return { client, ask, subscribe: (...channels: unknown[]) => ask('subscribe', ...channels) }
    },
  }
}

const streamsOf = (messages: readonly Message[]) => messages.map(({ stream }) => stream)
const cursorOf = (messages: readonly Message[]) => messages.at(-1)?.stream?.cursor as string

describe('the exact text of the extended protocol', () => {
  test('the exact text of the extended protocol is the base text with a stream member at the end, and books in the heartbeat', () => {
    const { stream, connect } = startStream({ settings: { heartbeatSeconds: 1 } })
    const plain = stream.connect()
    plain.subscribe('AAAUSD market_data', 'AAAUSD market_data.top_of_book', 'AAAUSD execution_data')
    const { client } = connect()
    const channels = [entry(BOOK), entry(TOP), entry(EXECUTIONS), { type: 'heartbeat' }]
    expect(client.ask({ type: 'subscribe', channels }).slice(1)).toEqual([
      '{"channel":"heartbeat","payload":{"timestamp":"2026-01-01T00:00:00.002000000Z","books":[]}}',
      '{"channel":"market_data","payload":{"market":"AAAUSD","type":"SNAPSHOT","time":"2026-01-01T00:00:00.001Z",' +
        '"bids":[{"price":"1.00","amount":"0.0010"}],"asks":[{"price":"2.00","amount":"0.0020"}]},' +
        '"stream":{"cursor":"KbYAR8_u.1","covers":0}}',
      '{"channel":"market_data.top_of_book","payload":{"market":"AAAUSD","type":"TOP_OF_BOOK",' +
        '"timestamp":"2026-01-01T00:00:00.001000000Z",' +
        '"bids":[{"price":"1.00","amount":"0.0010"}],"asks":[{"price":"2.00","amount":"0.0020"}]},' +
        '"stream":{"cursor":"aYqwKHmr.1","covers":0}}',
    ])
    stream.update(change(15), [{ price: 100, amount: 5 }])
    stream.update(change(16), [{ price: 100, amount: 6 }])
    const extended = client.read()
    const withoutStream = extended.map((text) => text.replace(/,"stream":.*$/, '}').replace(/,"id":"[^"]*"/, ''))
    expect(withoutStream).toEqual(plain.read())
    expect(extended.map((text) => /"stream":(.*)}$/.exec(text)?.[1])).toEqual([
      '{"cursor":"3zWplfC2.1","covers":1}',
      '{"cursor":"KbYAR8_u.2","prev":"KbYAR8_u.1","covers":1}',
      '{"cursor":"aYqwKHmr.2","prev":"aYqwKHmr.1","covers":1}',
      '{"cursor":"3zWplfC2.2","prev":"3zWplfC2.1","covers":1}',
      '{"cursor":"KbYAR8_u.3","prev":"KbYAR8_u.2","covers":1}',
      '{"cursor":"aYqwKHmr.3","prev":"aYqwKHmr.2","covers":1}',
    ])
    stream.clock.advance(1_000)
    const heartbeats = client.read()
    expect(heartbeats).toHaveLength(1)
    expect(JSON.parse(heartbeats[0] as string).payload.books).toEqual([
      {
        market: 'AAAUSD',
        cursor: 'KbYAR8_u.3',
        digest: expect.stringMatching(/^[0-9a-f]{16}$/),
        live: true,
        since: '2026-01-01T00:00:00.001Z',
        origin: 'aOLAjWsn.12',
      },
    ])
  })

  test('a heartbeat confirms no withdrawn book while its replacement waits for the end of an interval', () => {
    const { stream, connect } = startStream({ settings: { heartbeatSeconds: 0.1, staleSeconds: 10 } })
    const { client, subscribe } = connect()
    subscribe(entry(BOOK, { interval_ms: 1_000 }), { type: 'heartbeat' })
    const entries = () =>
      client.readMessages().flatMap(({ payload }) => (payload as unknown as { books?: readonly object[] }).books ?? [])
    stream.lose()
    stream.clock.advance(10_000)
    client.read()
    stream.clock.advance(1_500)
    client.read()
    stream.clock.advance(100)
    expect(entries().at(-1)).toMatchObject({ live: false, cursor: 'KbYAR8_u.2' })
    stream.snapshot()
    stream.clock.advance(100)
    expect(entries()).toEqual([])
    stream.clock.advance(1_000)
    const digest = expect.not.stringMatching(/^0+$/)
    expect(entries().at(-1)).toMatchObject({ live: true, cursor: 'KbYAR8_u.3', digest })
  })

  test('current subscribers of the extended protocol share frames', () => {
    const { stream, connect } = startStream()
    const clients = [connect(), connect(), connect()]
    for (const { subscribe } of clients) subscribe(entry(BOOK, { depth: 1 }), entry(TOP))
    stream.update(change(15))
    stream.clock.settle()
    const [first, ...others] = clients.map(({ client }) => client.transport.writes.at(-1))
    for (const other of others) expect(other).toBe(first)
  })

  test('the base protocol rejects the params of the extended protocol', () => {
    const { stream } = startStream()
    for (const params of [{ depth: 1 }, { interval_ms: 50 }, { attribution: true }, { resume: 'x' }]) {
      const [reply] = stream.connect().ask({ type: 'subscribe', channels: [entry(BOOK, params)] })
      expect(JSON.parse(reply as string).channels[0].error).toBe('UNKNOWN_CHANNEL_PARAMS_CONFIGURATION')
    }
  })

  test('the subscription list echoes depth and interval, and a repeated subscribe has no effect whatever its params', () => {
    const { client, ask, subscribe } = startStream().connect()
    subscribe(entry(BOOK, { depth: 5, interval_ms: 100, resume: 'nothing' }), entry(TOP, { interval_ms: 50 }))
    expect(subscribe(entry(BOOK, { depth: 1 }))[0]?.channels?.[0]).toMatchObject({ error: 'NO_EFFECT_ACTION' })
    expect(client.ask({ type: 'subscription_list' })).toEqual([
      '{"type":"subscription_list","channels":[' +
        '{"type":"market_data","params":{"market":"AAAUSD","depth":5,"interval_ms":100}},' +
        '{"type":"market_data.top_of_book","params":{"market":"AAAUSD","interval_ms":50}}]}',
    ])
    expect(ask('unsubscribe', entry(BOOK))[0]?.channels?.[0]).toMatchObject({ success: true })
  })
})

describe('attribution', () => {
  const shares = (type: 'all' | 'some', ...venues: [string, number][]): Attribution => {
    return { type, levels: [{ side: BID, price: 100, venues }] }
  }
  const divided = (amount: number, ...venues: [string, number][]): MarketEvent => {
    return { type: 'update', changes: change(amount), executions: [], attribution: shares('some', ...venues) }
  }

  test('attribution names the venues of every level, and sends a level of which only the division between venues changed', () => {
    const { stream, connect } = startStream({ settings: { heartbeatSeconds: 0.1 } })
    const offer = (event: MarketEvent) => {
      stream.sequencers.get('AAAUSD')?.offer(event)
      stream.clock.advance(2)
    }
    const [plain, { client, subscribe }] = [connect(), connect()]
    const levels = [{ side: BID, price: 100, amount: 15 }] as const
    offer({ type: 'snapshot', levels, attribution: shares('all', ['kraken', 10], ['coinbase', 5]) })
    plain.subscribe(entry(BOOK), { type: 'heartbeat' })
    const [reply, snapshot] = subscribe(entry(BOOK, { attribution: true }))
    expect(reply?.channels?.[0]).toMatchObject({ success: true, params: { attribution: true } })
    const venues = [
      ['kraken', '0.0010'],
      ['coinbase', '0.0005'],
    ]
    expect(snapshot?.payload.bids).toEqual([{ price: '1.00', amount: '0.0015', venues }])
    plain.client.read()
    offer(divided(15, ['kraken', 15]))
    expect(plain.client.readMessages().filter(({ channel }) => channel === BOOK)).toEqual([])
    const [update] = client.readMessages()
    expect(update?.payload.bids).toEqual([{ price: '1.00', amount: '0.0015', venues: [['kraken', '0.0015']] }])
    expect(update?.stream).toMatchObject({ prev: snapshot?.stream?.cursor, covers: 1 })
    subscribe({ type: 'heartbeat' })
    stream.clock.advance(100)
    const digests = [plain.client, client].map((reader) => {
      const heartbeat = reader.readMessages().at(-1) as { payload: { books?: { digest: string }[] } } | undefined
      return heartbeat?.payload.books?.[0]?.digest
    })
    expect(digests[0]).toMatch(/^[0-9a-f]{16}$/)
    expect(digests[1]).toBe(digests[0])
    offer(divided(0))
    const last = client.readMessages().findLast(({ channel }) => channel === BOOK)
    expect(last?.payload.bids).toEqual([{ price: '1.00', amount: '0' }])
  })

  test('attribution is part of a cursor: a book without venues does not continue with them', () => {
    const { stream, connect } = startStream()
    const [, snapshot] = connect().subscribe(entry(BOOK))
    stream.update(change(15))
    stream.clock.settle()
    const resume = snapshot?.stream?.cursor
    const [, plain] = connect().subscribe(entry(BOOK, { resume }))
    expect(plain?.payload.type).toBe('UPDATE')
    const [, attributed] = connect().subscribe(entry(BOOK, { resume, attribution: true }))
    expect(attributed?.payload.type).toBe('SNAPSHOT')
    expect(attributed?.stream?.prev).toBeUndefined()
  })
})

describe('depth', () => {
  test('a depth limits the book; changes beyond it are neither sent nor counted', () => {
    const { stream, connect } = startStream({ depth: 10 })
    const { client, subscribe } = connect()
    const [, snapshot] = subscribe(entry(BOOK, { depth: 1 }))
    expect(snapshot?.payload).toMatchObject({ bids: [{ price: '1.00' }], asks: [{ price: '2.00' }] })
    stream.update(change(5, 99))
    expect(client.read()).toEqual([])
    stream.update(change(7, 101))
    const [update] = client.readMessages()
    expect(update?.payload.bids).toEqual([
      { price: '1.01', amount: '0.0007' },
      { price: '1.00', amount: '0' },
    ])
    expect(update?.stream).toMatchObject({ prev: snapshot?.stream?.cursor, covers: 1 })
  })

  test('a view without subscribers is kept for a minute, so that a client that reconnects can resume', () => {
    const { stream, connect } = startStream()
    const first = connect()
    const cursor = cursorOf(first.subscribe(entry(BOOK, { depth: 1 })))
    first.client.session.end()
    stream.clock.advance(59_000)
    stream.update(change(15))
    const second = connect()
    const [, update] = second.subscribe(entry(BOOK, { depth: 1, resume: cursor }))
    expect(update).toMatchObject({ payload: { type: 'UPDATE' }, stream: { prev: cursor, covers: 1 } })
    second.client.session.end()
    stream.clock.advance(60_000)
    stream.update(change(16))
    const [, snapshot] = connect().subscribe(entry(BOOK, { depth: 1, resume: cursorOf([update as Message]) }))
    expect(snapshot?.payload.type).toBe('SNAPSHOT')
  })
})

describe('resume', () => {
  test('a resume gives the changes since its cursor once, and nothing when there are none', () => {
    const { stream, connect } = startStream({ depth: 10 })
    const first = connect()
    const start = first.subscribe(entry(BOOK), entry(TOP)).slice(1)
    const [book, top] = streamsOf(start).map((member) => member?.cursor)
    first.client.session.end()
    expect(connect().subscribe(entry(BOOK, { resume: book }), entry(TOP, { resume: top }))).toHaveLength(1)
    for (const amount of [11, 12, 13]) stream.update([...change(amount), ...change(amount, 90)])
    const again = connect()
    const came = again.subscribe(entry(BOOK, { resume: book }), entry(TOP, { resume: top })).slice(1)
    expect(came.map(({ payload }) => payload.type)).toEqual(['UPDATE', 'TOP_OF_BOOK'])
    expect(streamsOf(came)).toMatchObject([
      { prev: book, covers: 3 },
      { prev: top, covers: 3 },
    ])
    stream.update(change(14))
    expect(streamsOf(again.client.readMessages())).toMatchObject([
      { prev: came[0]?.stream?.cursor, covers: 1 },
      { prev: came[1]?.stream?.cursor, covers: 1 },
    ])
  })

  test('an UPDATE after a repaired gap between processes covers 0: the number of its commits is not known', () => {
    const { stream, connect } = startStream({ depth: 10 })
    const { client, subscribe } = connect()
    const cursor = cursorOf(subscribe(entry(BOOK)))
    const state = stream.replicas.get('AAAUSD')?.state('', 0) as MarketState
    const [first, ...others] = state.levels as [LevelChange, ...LevelChange[]]
    const levels = [{ ...first, amount: Number(first.amount) + 1 }, ...others]
    const [version, milliseconds] = [state.version + 2, state.milliseconds + 1]
    stream.bus.publish({ ...state, version, milliseconds, levels })
    stream.clock.endTick()
    expect(streamsOf(client.readMessages())).toMatchObject([{ prev: cursor, covers: 0 }])
    client.session.end()
    // A message for the same position on another connection.
    const [, update] = connect().subscribe(entry(BOOK, { resume: cursor }))
    expect(update).toMatchObject({ payload: { type: 'UPDATE' }, stream: { prev: cursor, covers: 0 } })
  })

  test('a resume with an unknown cursor, or one of another epoch, depth, market or future time, gives a SNAPSHOT', () => {
    const { stream, connect } = startStream({ markets: ['AAAUSD', 'BBBUSD'] })
    stream.snapshot(undefined, 'BBBUSD')
    const mine = cursorOf(connect().subscribe(entry(BOOK)))
    const cut = cursorOf(connect().subscribe(entry(BOOK, { depth: 1 })))
    const other = cursorOf(connect().subscribe({ type: BOOK, params: { market: 'BBBUSD' } }))
    for (const resume of ['', 'x', 'x.1', cut, other, mine.replace(/\.\d+$/, '.0'), mine.replace(/\.\d+$/, '.99')]) {
      const [reply, message, ...rest] = connect().subscribe(entry(BOOK, { resume }))
      expect(reply?.channels?.[0]).not.toHaveProperty('resumed')
      expect(message).toMatchObject({ payload: { type: 'SNAPSHOT' } })
      expect(message?.stream).not.toHaveProperty('prev')
      expect(rest).toEqual([])
    }
    stream.removeMarket('AAAUSD')
    stream.addMarket('AAAUSD')
    stream.snapshot()
    const [, message] = connect().subscribe(entry(BOOK, { resume: mine }))
    expect(message).toMatchObject({ payload: { type: 'SNAPSHOT' } })
  })

  test('a resume of executions is exact while they are kept, else the acknowledgement reports the loss', () => {
    const { stream, connect } = startStream({ executionsKept: 5 })
    const first = connect()
    first.subscribe(entry(EXECUTIONS))
    stream.update([], [{ price: 100, amount: 1 }])
    const cursor = cursorOf(first.client.readMessages())
    first.client.session.end()
    for (let amount = 2; amount <= 6; amount++) stream.update([], [{ price: 100, amount }])
    const [reply, ...replayed] = connect().subscribe(entry(EXECUTIONS, { resume: cursor }))
    expect(reply?.channels?.[0]).toMatchObject({ success: true, resumed: true })
    expect(replayed.map(({ payload }) => payload.amount)).toEqual([2, 3, 4, 5, 6].map((last) => `0.000${last}`))
    expect(replayed[0]?.stream?.prev).toBe(cursor)
    stream.update([], [{ price: 100, amount: 7 }])
    const late = connect()
    const [refused, ...nothing] = late.subscribe(entry(EXECUTIONS, { resume: cursor }))
    expect(refused?.channels?.[0]).toMatchObject({ success: true, resumed: false })
    expect(nothing).toEqual([])
    stream.update([], [{ price: 100, amount: 8 }])
    const [next] = late.client.readMessages()
    expect(next).toMatchObject({ payload: { amount: '0.0008' }, stream: { covers: 1 } })
    expect(next?.stream).not.toHaveProperty('prev')
  })

  test('a resume on the same connection gives an UPDATE that is later than the data sent before', () => {
    const { stream, connect } = startStream()
    const { client, ask, subscribe } = connect()
    const old = cursorOf(subscribe(entry(BOOK)))
    stream.update(change(15))
    const [before] = client.readMessages()
    ask('unsubscribe', entry(BOOK))
    const [, ...came] = subscribe(entry(BOOK, { resume: old }))
    stream.clock.advance(2)
    const [update, ...rest] = [...came, ...client.readMessages()]
    expect(rest).toEqual([])
    expect(update?.stream).toMatchObject({ prev: old, covers: 1 })
    expect(String(update?.payload.time) > String(before?.payload.time)).toBe(true)
  })
})

describe('interval_ms', () => {
  test('interval_ms sends changes on common ticks, shared, and nothing in between', () => {
    const { stream, connect } = startStream()
    const clients = [connect(), connect()]
    stream.clock.advance(8)
    for (const { subscribe } of clients) subscribe(entry(BOOK, { interval_ms: 100 }), entry(TOP, { interval_ms: 50 }))
    const times: Record<string, number[]> = { [BOOK]: [], [TOP]: [] }
    let amount = 100
    while (stream.clock.monotonicMilliseconds() < 400) {
      stream.update(change(amount++))
      for (const { channel } of clients[0]?.client.readMessages() ?? []) {
        times[channel as string]?.push(stream.clock.monotonicMilliseconds())
      }
    }
    expect(times[BOOK]).toEqual([100, 200, 300, 400])
    expect(times[TOP]).toEqual([50, 100, 150, 200, 250, 300, 350, 400])
    const writes = clients.map(({ client }) => client.transport.writes.slice(-2))
    for (const [index, frame] of (writes[0] ?? []).entries()) expect(writes[1]?.[index]).toBe(frame)
    const came = clients[1]?.client.readMessages() ?? []
    const updates = came.filter(({ channel }) => channel === BOOK)
    expect(updates.map((message) => message.stream?.covers)).toEqual([45, 50, 50, 50])
    stream.clock.advance(1_000)
    expect(clients[0]?.client.read()).toEqual([])
  })

  test('a change that was undone is not sent, and the next message still names the previous one', () => {
    const { stream, connect } = startStream()
    const { client, subscribe } = connect()
    const cursor = cursorOf(subscribe(entry(BOOK, { interval_ms: 50 })))
    stream.update(change(15))
    stream.update(change(10))
    stream.clock.advance(50)
    expect(client.read()).toEqual([])
    stream.update(change(16))
    stream.clock.advance(50)
    expect(streamsOf(client.readMessages())).toMatchObject([{ prev: cursor, covers: 3 }])
  })

  test('interval_ms has one tick after a stall', () => {
    const clock = new WorkingClock()
    const { stream, connect } = startStream({ clock })
    const { client, subscribe } = connect()
    subscribe(entry(BOOK, { interval_ms: 50 }))
    stream.update(change(15))
    clock.stall(500)
    clock.advance(50)
    expect(client.read()).toHaveLength(1)
  })
})

describe('a large book', () => {
  test('a large book is sent in fragments, with the previous cursor when the market starts over', () => {
    const { stream, connect } = startStream({ depth: 0 })
    stream.snapshot(deepBook(3_000, 15_000))
    const { client, subscribe } = connect()
    const [, snapshot] = subscribe(entry(BOOK), { type: 'heartbeat' }).filter(({ channel }) => channel !== 'heartbeat')
    expect(rebuild([snapshot as Message]).size).toBe(6_000)
    stream.sequencers.get('AAAUSD')?.startOver('the test says so')
    stream.sequencers.get('AAAUSD')?.offer({ type: 'snapshot', levels: deepBook(3_000, 16_000) })
    stream.clock.advance(2)
    const [again] = client.readMessages().filter(({ channel }) => channel === BOOK)
    expect(again).toMatchObject({
      payload: { type: 'SNAPSHOT' },
      stream: { prev: snapshot?.stream?.cursor, covers: 0 },
    })
    expect(rebuild([again as Message]).size).toBe(6_000)
  })

  test('a large book gets its digest in slices', () => {
    const { stream, connect } = startStream({ depth: 0, settings: { heartbeatSeconds: 1 } })
    stream.snapshot(deepBook(3_000, 15_000))
    const { client, subscribe } = connect()
    subscribe(entry(BOOK), { type: 'heartbeat' })
    const books: unknown[] = []
    for (let heartbeat = 0; heartbeat < 3; heartbeat++) {
      stream.clock.advance(1_000)
      books.push(...client.read().map((text) => JSON.parse(text).payload.books.length))
    }
    expect(books.slice(0, 3)).toEqual([0, 1, 1])
  })
})

test('both protocols serve a market side by side that is removed or becomes stale', () => {
  const { stream, connect } = startStream({ settings: { staleSeconds: 5, closesStale: true } })
  const gone = connect()
  gone.subscribe(entry(BOOK, { depth: 1, interval_ms: 50 }), entry(EXECUTIONS))
  expect(stream.hub.market('AAAUSD')?.subscriptions).toHaveLength(1)
  stream.removeMarket('AAAUSD')
  const end = '"success":true,"message":"the market was removed: it is no longer served"}'
  expect(gone.client.read()).toEqual([
    '{"type":"unsubscribe","channels":[' +
      `{"type":"market_data","params":{"market":"AAAUSD","depth":1,"interval_ms":50},${end},` +
      `{"type":"execution_data","params":{"market":"AAAUSD"},${end}]}`,
  ])
  stream.addMarket('AAAUSD', stream.clock.wallInstant().milliseconds)
  stream.snapshot()
  const stale = connect()
  stale.subscribe(entry(BOOK))
  stream.lose()
  stream.clock.advance(6_000)
  expect(stale.client.transport.closed?.code).toBe(4002)
  stale.client.session.end()
  gone.client.session.end()
  expect(stream.hub.market('AAAUSD')?.subscriptions).toEqual([])
})

test('a lagging subscriber that missed a change and its undoing gets the next change with its last cursor as prev', () => {
  const stream = new LiveStream({ settings: { outboxBytesMax: 2_000 } })
  stream.snapshot()
  const client = stream.connect({ subprotocol: 'tidegate.v1', kernelBytes: 1_000 })
  client.ask({ type: 'subscribe', channels: [entry(BOOK)] })
  let amount = 1_000
  while (client.transport.isReading) stream.update(change(++amount))
  stream.update(change(5))
  stream.update(change(amount))
  const cursor = cursorOf(client.readMessages())
  stream.update(change(6))
  expect(streamsOf(client.readMessages())).toMatchObject([{ prev: cursor, covers: 3 }])
})
