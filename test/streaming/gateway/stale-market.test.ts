/** What clients see of a market whose sources are lost: who waits, what is withdrawn, what comes back. */
import { describe, expect, test } from 'vitest'
import { BID } from '../../../src/streaming/market/event.ts'
import {
  deepBook,
  type LiveClient,
  LiveStream,
  type LiveStreamOptions,
  levels,
  type Message,
  rebuild,
} from './live-stream.ts'

const BOOK = 'AAAUSD market_data'
const TOP = 'AAAUSD market_data.top_of_book'
const EXECUTIONS = 'AAAUSD execution_data'
const bid = (price: number, amount: number) => [{ side: BID, price, amount }] as const

/** What a message is, in short: `ack`, `SNAPSHOT`, `UPDATE`, `TOP_OF_BOOK`, `execution`. */
function kinds(messages: readonly Message[]): string[] {
  return messages.map(({ channel, payload }) => {
    if (channel === undefined) return 'ack'
    return channel === 'execution_data' ? 'execution' : (payload.type ?? channel)
  })
}

function parsed(texts: readonly string[]): Message[] {
  return texts.map((text) => JSON.parse(text) as Message)
}

/** A live market that is withdrawn after 10 s without a source, and a client that holds its book and top. */
function start(options: LiveStreamOptions = {}): { stream: LiveStream; client: LiveClient } {
  const stream = new LiveStream({ ...options, settings: { staleSeconds: 10, ...options.settings } })
  stream.snapshot()
  const client = stream.connect()
  client.subscribe(BOOK, TOP, EXECUTIONS)
  return { stream, client }
}

const EMPTY = { bids: [], asks: [] }
const REMOVED = { bids: [{ price: '1.00', amount: '0' }], asks: [{ price: '2.00', amount: '0' }] }
const RESTORED = { bids: [{ price: '1.00', amount: '0.0010' }], asks: [{ price: '2.00', amount: '0.0020' }] }

describe('a market that lost its sources', () => {
  test('a market that lost its sources keeps its book for current subscribers, and continues with one UPDATE', () => {
    const { stream, client } = start()
    stream.lose()
    stream.update(bid(100, 999))
    expect(client.read()).toEqual([])
    stream.snapshot(levels([[90, 3]], [[190, 5]]))
    const messages = client.readMessages()
    expect(kinds(messages)).toEqual(['UPDATE', 'TOP_OF_BOOK'])
    expect(messages[0]?.payload.bids).toEqual([
      { price: '1.00', amount: '0' },
      { price: '0.90', amount: '0.0003' },
    ])
  })

  test('the same book again from a returned source sends no message', () => {
    const { stream, client } = start()
    stream.lose()
    stream.snapshot()
    stream.clock.advance(60_000)
    expect(client.read()).toEqual([])
  })

  test('a market that lost its sources lets new subscribers wait for their SNAPSHOT and first TOP_OF_BOOK', () => {
    const { stream, client } = start()
    stream.lose()
    const late = stream.connect()
    expect(kinds(parsed(late.subscribe(BOOK, TOP, EXECUTIONS)))).toEqual(['ack'])
    stream.update([], [{ price: 150, amount: 1 }])
    for (const reader of [client, late]) expect(kinds(reader.readMessages())).toEqual(['execution'])
    stream.clock.advance(5_000)
    stream.snapshot()
    expect(kinds(late.readMessages())).toEqual(['SNAPSHOT', 'TOP_OF_BOOK'])
    expect(client.read()).toEqual([])
  })

  test.each([
    ['the book', BOOK, TOP],
    ['the top', TOP, BOOK],
  ])(
    'a market that lost its sources keeps %s current for its holders, while the other one is waited for',
    (_, held, later) => {
      const { stream } = start()
      const client = stream.connect()
      client.subscribe(held)
      stream.lose()
      expect(kinds(parsed(client.subscribe(later)))).toEqual(['ack'])
      stream.clock.advance(10_000)
      expect(client.readMessages().map(({ payload }) => payload)).toMatchObject([held === BOOK ? REMOVED : EMPTY])
      stream.snapshot()
      const first = held === BOOK ? 'UPDATE' : 'SNAPSHOT'
      expect(kinds(client.readMessages()).sort()).toEqual([first, 'TOP_OF_BOOK'].sort())
    },
  )
})

describe('after stale_seconds', () => {
  test('a stale market removes every level with one UPDATE and empties TOP_OF_BOOK; one UPDATE restores the book', () => {
    const { stream, client } = start()
    stream.lose()
    stream.clock.advance(9_999)
    expect(client.read()).toEqual([])
    stream.clock.advance(1)
    const withdrawn = client.readMessages()
    expect(kinds(withdrawn)).toEqual(['UPDATE', 'TOP_OF_BOOK'])
    expect(withdrawn[0]?.payload).toMatchObject(REMOVED)
    expect(withdrawn[1]?.payload).toMatchObject(EMPTY)
    stream.clock.advance(600_000)
    expect(client.read()).toEqual([])
    stream.snapshot()
    const restored = client.readMessages()
    expect(kinds(restored)).toEqual(['UPDATE', 'TOP_OF_BOOK'])
    for (const { payload } of restored) expect(payload).toMatchObject(RESTORED)
    expect(String(restored[0]?.payload.time) > String(withdrawn[0]?.payload.time)).toBe(true)
    expect(client.transport.closed).toBeUndefined()
  })

  test('new subscribers wait until a source is trusted, and never see an empty SNAPSHOT', () => {
    const { stream } = start()
    stream.lose()
    const early = stream.connect()
    early.subscribe(BOOK, TOP)
    stream.clock.advance(10_000)
    const late = stream.connect()
    late.subscribe(BOOK, TOP)
    stream.clock.advance(60_000)
    expect([...early.readMessages(), ...late.readMessages()]).toEqual([])
    stream.snapshot()
    for (const reader of [early, late]) {
      const messages = reader.readMessages()
      expect(kinds(messages)).toEqual(['SNAPSHOT', 'TOP_OF_BOOK'])
      for (const { payload } of messages) expect(payload).toMatchObject(RESTORED)
    }
  })

  test('further reports of the same loss, and refused books, do not delay the stale market', () => {
    const { stream, client } = start()
    stream.lose()
    stream.clock.advance(6_000)
    stream.lose()
    stream.snapshot(levels([[300, 1]], [[200, 1]]))
    stream.clock.advance(3_997)
    expect(client.read()).toEqual([])
    stream.clock.advance(1)
    expect(kinds(client.readMessages())).toEqual(['UPDATE', 'TOP_OF_BOOK'])
  })

  test('a source that is back in time prevents a stale market; the next loss is counted from its own beginning', () => {
    const { stream, client } = start()
    stream.lose()
    stream.clock.advance(9_000)
    stream.snapshot()
    stream.clock.advance(5_000)
    stream.lose()
    stream.clock.advance(9_000)
    expect(client.read()).toEqual([])
    stream.clock.advance(1_000)
    expect(kinds(client.readMessages())).toEqual(['UPDATE', 'TOP_OF_BOOK'])
  })

  test('a subscriber that lagged meanwhile gets the difference: to no book, to another one, or none', () => {
    const { stream } = start({ depth: 0, settings: { outboxBytesMax: 2_000 } })
    const asleep = () => {
      const client = stream.connect({ kernelBytes: 1_000 })
      const book = rebuild(parsed(client.subscribe(BOOK)))
      for (let amount = 1_000; client.transport.isReading; amount++) stream.update(bid(100, amount))
      return { client, book }
    }
    const [toNothing, toOther] = [asleep(), asleep()]
    stream.lose()
    stream.clock.advance(10_000)
    rebuild(toNothing.client.readMessages(), toNothing.book)
    expect([...toNothing.book]).toEqual([])
    stream.snapshot(levels([[101, 7]], [[200, 20]]))
    for (const { client, book } of [toNothing, toOther]) {
      rebuild(client.readMessages(), book)
      expect([...book].sort()).toEqual([
        ['1.01', '0.0007'],
        ['2.00', '0.0020'],
      ])
    }
  })

  test('a book that the journal does not reach is replaced by an empty SNAPSHOT, then by the UPDATE', () => {
    const { stream } = start({ depth: 0, settings: { outboxBytesMax: 2_000 } })
    const client = stream.connect({ kernelBytes: 1_000 })
    client.subscribe(BOOK)
    for (let amount = 1_000; client.transport.isReading; amount++) stream.update(bid(100, amount))
    for (let amount = 1; amount <= 8; amount++) stream.snapshot(deepBook(1_000, amount))
    stream.lose()
    client.readMessages()
    stream.clock.advance(10_000)
    const [withdrawn, ...rest] = client.readMessages()
    expect(withdrawn?.payload).toMatchObject({ type: 'SNAPSHOT', ...EMPTY })
    expect(rest).toEqual([])
    stream.snapshot()
    expect(client.readMessages().map(({ payload }) => payload)).toMatchObject([{ type: 'UPDATE', ...RESTORED }])
  })

  test('a book that was found to be wrong is withdrawn completely, whatever a subscriber holds', () => {
    const { stream, client } = start()
    stream.sequencers.get('AAAUSD')?.startOver('the test says so')
    stream.lose()
    stream.clock.advance(10_000)
    expect(client.readMessages().map(({ payload }) => payload)).toMatchObject([
      { type: 'SNAPSHOT', ...EMPTY },
      { type: 'TOP_OF_BOOK', ...EMPTY },
    ])
    stream.snapshot()
    expect(kinds(client.readMessages())).toEqual(['UPDATE', 'TOP_OF_BOOK'])
  })

  test('a deep book is withdrawn and restored in fragments', () => {
    const { stream } = start({ depth: 0 })
    stream.snapshot(deepBook(5_000, 3))
    const client = stream.connect()
    const book = rebuild(parsed(client.subscribe(BOOK)))
    expect(book.size).toBe(10_000)
    stream.lose()
    const late = stream.connect()
    late.subscribe(BOOK)
    stream.clock.advance(10_000)
    const withdrawn = client.readMessages()
    expect(kinds(withdrawn)).toEqual(['UPDATE'])
    expect(rebuild(withdrawn, book).size).toBe(0)
    stream.snapshot([...deepBook(5_000, 3), ...bid(1, 1)])
    expect(rebuild(client.readMessages(), book).size).toBe(10_001)
    // Not the one that was made before the loss, with an UPDATE that completes it.
    expect(kinds(late.readMessages())).toEqual(['SNAPSHOT'])
  })
})

describe('stream.stale_action', () => {
  test("stale_action close closes the market's subscribers with 4002 once, and they wait when they come back", () => {
    const settings = { staleSeconds: 10, closesStale: true }
    const stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'], settings })
    stream.snapshot()
    stream.snapshot(undefined, 'BBBUSD')
    const [client, other] = [stream.connect(), stream.connect()]
    client.subscribe(EXECUTIONS)
    other.subscribe('BBBUSD market_data', 'heartbeat')
    stream.lose()
    stream.clock.advance(6_000)
    // Every further report of the same loss is no new beginning.
    stream.lose()
    stream.clock.advance(3_999)
    expect(client.transport.closed).toBeUndefined()
    stream.clock.advance(1)
    expect(client.transport.closed).toEqual({ code: 4002, reason: 'market data stale' })
    expect(other.transport.closed).toBeUndefined()
    const back = stream.connect()
    back.subscribe(BOOK)
    stream.clock.advance(100_000)
    expect(back.transport.closed).toBeUndefined()
    stream.snapshot()
    expect(kinds(back.readMessages())).toEqual(['SNAPSHOT'])
    stream.lose()
    stream.clock.advance(10_000)
    expect(back.transport.closed?.code).toBe(4002)
  })

  test('stale_action close ends no session when the source is back in time', () => {
    const { stream, client } = start({ settings: { closesStale: true } })
    stream.lose()
    stream.clock.advance(9_000)
    stream.snapshot()
    stream.clock.advance(100_000)
    expect(client.transport.closed).toBeUndefined()
    expect(client.read()).toEqual([])
  })

  test('stale_action keep, or 0 seconds, keeps the last book, and new subscribers wait all the same', () => {
    const { stream, client } = start({ settings: { staleSeconds: 0 } })
    stream.lose()
    stream.clock.advance(1_000_000)
    expect(client.read()).toEqual([])
    const late = stream.connect()
    expect(kinds(parsed(late.subscribe(BOOK, TOP)))).toEqual(['ack'])
    stream.snapshot()
    expect(kinds(late.readMessages())).toEqual(['SNAPSHOT', 'TOP_OF_BOOK'])
    expect(client.read()).toEqual([])
  })
})

describe('with the extended protocol', () => {
  const market = (params: object = {}) => ({ type: 'market_data', params: { market: 'AAAUSD', ...params } })
  const startExtended = () => {
    const { stream } = start({ settings: { heartbeatSeconds: 1 } })
    const connect = (params: object = {}) => {
      const client = stream.connect({ subprotocol: 'tidegate.v1' })
      const messages = parsed(client.ask({ type: 'subscribe', channels: [market(params), { type: 'heartbeat' }] }))
      return { client, messages }
    }
    return { stream, connect }
  }
  const booksOf = (messages: readonly Message[]) =>
    messages.flatMap(({ channel, payload }) =>
      channel === 'heartbeat' ? (payload as unknown as { books: readonly Record<string, unknown>[] }).books : [],
    )
  const dataOf = (messages: readonly Message[]) => messages.filter(({ channel }) => channel === 'market_data')

  test('heartbeats report since when a book has been live, or not, and confirm no book without a source', () => {
    const { stream, connect } = startExtended()
    const { client, messages } = connect()
    const cursor = dataOf(messages)[0]?.stream?.cursor
    stream.clock.advance(1_000)
    const digest = expect.stringMatching(/^[0-9a-f]{16}$/)
    const live = {
      market: 'AAAUSD',
      cursor,
      digest,
      live: true,
      since: '2026-01-01T00:00:00.001Z',
      origin: 'aOLAjWsn.4',
    }
    expect(booksOf(client.readMessages())).toEqual([live])
    stream.lose()
    const stale = { market: 'AAAUSD', cursor, live: false, since: '2026-01-01T00:00:01.002Z' }
    stream.clock.advance(1_000)
    expect(booksOf(client.readMessages())).toEqual([stale])
    stream.clock.advance(9_000)
    const withdrawn = client.readMessages()
    expect(kinds(dataOf(withdrawn))).toEqual(['UPDATE'])
    const emptied = dataOf(withdrawn)[0]?.stream?.cursor
    stream.clock.advance(1_000)
    expect(booksOf(client.readMessages())).toEqual([{ ...stale, cursor: emptied }])
    stream.snapshot()
    stream.clock.advance(1_000)
    const restored = client.readMessages()
    expect(dataOf(restored).map(({ stream }) => stream)).toEqual([{ cursor: expect.any(String), covers: 0 }])
    expect(booksOf(restored).at(-1)).toMatchObject({ live: true, since: '2026-01-01T00:00:12.003Z' })
  })

  test.each(['the sequencer', 'a follower', 'a follower that had heard executions of a later epoch'])(
    'every prev names a received message when %s withdraws the book',
    (who) => {
      const stream = new LiveStream({ settings: { staleSeconds: 10 } })
      stream.snapshot()
      const client = stream.connect({ subprotocol: 'tidegate.v1' })
      const first = parsed(client.subscribe(BOOK, TOP)).filter(({ stream: own }) => own !== undefined)
      for (let amount = 1; amount < 9; amount++) stream.update([...bid(100, amount)])
      const before = client.readMessages()
      const replica = stream.replicas.get('AAAUSD')
      const state = replica?.state('', 0)
      if (replica === undefined || state === undefined) throw new Error('the market is not followed')
      const later = (epoch: string, version: number) =>
        ({ ...state, epoch, version, milliseconds: replica.instant.milliseconds + 1, executions: [] }) as const
      stream.lose()
      if (who === 'the sequencer') stream.clock.advance(10_000)
      else {
        if (who !== 'a follower') {
          stream.bus.publish({ ...later('zz', 1), levels: [], hasBook: false, live: false })
        }
        const { milliseconds } = replica.instant
        stream.bus.publish({ type: 'withdrawal', market: 'AAAUSD', milliseconds: milliseconds + 1, nanoseconds: 0 })
        stream.clock.advance(1_000)
      }
      const withdrawn = client.readMessages()
      expect(withdrawn.map(({ payload }) => payload.type)).toEqual([
        who === 'the sequencer' ? 'UPDATE' : 'SNAPSHOT',
        'TOP_OF_BOOK',
      ])
      if (who === 'the sequencer') stream.snapshot()
      else stream.bus.publish(later(who === 'a follower' ? state.epoch : 'zz', state.version + 1))
      stream.clock.advance(1_000)
      const restored = client.readMessages()
      expect(restored).toHaveLength(2)
      for (const { stream: own } of restored) expect(own).toEqual({ cursor: expect.any(String), covers: 0 })
      const last = new Map<string, string>()
      for (const { channel = '', stream: own } of [...first, ...before, ...withdrawn]) {
        expect(own?.prev).toBe(last.get(channel))
        last.set(channel, own?.cursor ?? '')
      }
    },
  )

  test.each(['before the withdrawal', 'after it'])(
    'a resume %s gives the difference, and the book comes back',
    (when) => {
      const { stream, connect } = startExtended()
      const { client, messages } = connect()
      const book = rebuild(messages)
      const cursor = dataOf(messages)[0]?.stream?.cursor
      stream.update(bid(100, 11))
      client.session.end()
      stream.lose()
      if (when === 'after it') stream.clock.advance(10_000)
      const resumed = connect({ resume: cursor })
      rebuild(resumed.messages, book)
      expect(kinds(dataOf(resumed.messages))).toEqual(['UPDATE'])
      stream.clock.advance(10_000)
      rebuild(resumed.client.readMessages(), book)
      expect([...book]).toEqual([])
      stream.snapshot()
      rebuild(resumed.client.readMessages(), book)
      expect([...book]).toEqual([
        ['1.00', '0.0010'],
        ['2.00', '0.0020'],
      ])
    },
  )

  test('an unknown cursor does not make a new subscriber one that holds a book', () => {
    const { stream, connect } = startExtended()
    stream.lose()
    const { client } = connect({ resume: 'AAAAAAAA.1' })
    stream.clock.advance(20_000)
    expect(dataOf(client.readMessages())).toEqual([])
    stream.snapshot()
    expect(kinds(dataOf(client.readMessages()))).toEqual(['SNAPSHOT'])
  })

  test('a throttled subscriber with a depth has its book withdrawn and restored at the ends of intervals', () => {
    const { stream, connect } = startExtended()
    stream.snapshot(
      levels(
        [
          [100, 10],
          [99, 9],
        ],
        [[200, 20]],
      ),
    )
    const { client, messages } = connect({ depth: 1, interval_ms: 500 })
    const book = rebuild(messages)
    stream.lose()
    stream.clock.advance(10_600)
    const withdrawn = dataOf(client.readMessages())
    expect(withdrawn.map(({ payload }) => payload)).toMatchObject([{ type: 'UPDATE', ...REMOVED }])
    stream.snapshot(
      levels(
        [
          [100, 10],
          [99, 9],
        ],
        [[200, 20]],
      ),
    )
    stream.clock.advance(600)
    expect([...rebuild(dataOf(client.readMessages()), rebuild(withdrawn, book))].sort()).toEqual([
      ['1.00', '0.0010'],
      ['2.00', '0.0020'],
    ])
  })
})
