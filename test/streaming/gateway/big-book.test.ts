import { describe, expect, test } from 'vitest'
import { ASK, BID, type LevelChange } from '../../../src/streaming/market/event.ts'
import { deepBook, type LiveClient, LiveStream, type Message, rebuild, WorkingClock } from './live-stream.ts'

const BOOK = 'AAAUSD market_data'
const TOP = 'AAAUSD market_data.top_of_book'
const EXECUTIONS = 'AAAUSD execution_data'
const LEVELS = 20_000
const FRAGMENT_BYTES = 65_536

/** One change far from the top, with an amount that tells which one it was. */
const change = (amount: number): LevelChange => ({ side: BID, price: 9_990_000, amount })

/** Changes of the `count` best bids. */
function wide(count: number, amount: number): LevelChange[] {
  return Array.from({ length: count }, (_, index) => ({ side: BID, price: 9_999_999 - index, amount }))
}

function bigStream(markets = ['AAAUSD']): { stream: LiveStream; clock: WorkingClock } {
  const clock = new WorkingClock()
  const stream = new LiveStream({ depth: 0, markets, clock, settings: { outboxBytesMax: 262_144 } })
  for (const symbol of markets) stream.snapshot(deepBook(LEVELS, 5), symbol)
  return { stream, clock }
}

/** The frames of what was written: opcode, FIN, payload bytes. */
function frames(writes: readonly Buffer[]): { opcode: number; last: boolean; bytes: number }[] {
  return writes.map((write) => {
    const [first, second] = [write.readUInt8(0), write.readUInt8(1)]
    const header = second < 126 ? 2 : second === 126 ? 4 : 10
    return { opcode: first & 0x0f, last: (first & 0x80) !== 0, bytes: write.length - header }
  })
}

function kinds(messages: readonly Message[]): string[] {
  return messages.map(({ channel, type, payload }) => {
    if (channel === undefined) return type as string
    return channel === 'execution_data' ? 'execution' : (payload.type as string)
  })
}

/** Ends ticks until `done`, and returns how many that took. */
function ticksUntil(clock: WorkingClock, done: () => boolean): number {
  for (let ticks = 0; ticks < 200; ticks++) {
    if (done()) return ticks
    clock.endTick()
  }
  throw new Error('200 ticks were not enough')
}

/** Ends one tick in which the peer reads all that comes. */
function tick(stream: LiveStream, client: LiveClient): Message[] {
  stream.clock.endTick()
  client.transport.flush()
  client.transport.drain()
  return client.taken().map((text) => JSON.parse(text) as Message)
}

function expectExact(stream: LiveStream, book: ReadonlyMap<string, string>): void {
  const fresh = rebuild(
    stream
      .connect()
      .subscribe(BOOK)
      .map((text) => JSON.parse(text) as Message),
  )
  expect(book.size).toBe(fresh.size)
  for (const [price, amount] of fresh) if (book.get(price) !== amount) expect([price, book.get(price)]).toBe(amount)
}

describe('the SNAPSHOT of a large book', () => {
  test('a large SNAPSHOT comes in fragments of at most 64 KiB, each after the one before was handed to the kernel', () => {
    const { stream } = bigStream()
    const client = stream.connect({ kernelBytes: FRAGMENT_BYTES + 20 })
    client.receive({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    stream.clock.settle()
    client.transport.flush()
    client.transport.drain()
    const { writes } = client.transport
    let before = writes.length
    for (let amount = 100; frames(writes).at(-1)?.last === false; amount++) {
      // One fragment, and the acknowledgement before the first.
      expect(client.transport.queuedBytesMost).toBeLessThanOrEqual(FRAGMENT_BYTES + 200)
      // Meanwhile the market moves and a request comes; none of it may fall between two fragments.
      stream.offer([change(amount)])
      stream.clock.advance(2)
      if (amount === 105) client.receive({ type: 'subscription_list' })
      expect(writes.length).toBe(before)
      client.transport.drain()
      stream.clock.settle()
      expect(writes.length).toBeLessThanOrEqual(before + 1)
      before = writes.length
    }
    const sent = frames(writes.slice(1))
    expect(sent.length).toBeGreaterThan(20)
    expect(sent.map(({ opcode }) => opcode)).toEqual([1, ...new Array(sent.length - 1).fill(0)])
    expect(sent.slice(0, -1).every(({ bytes, last }) => bytes === FRAGMENT_BYTES && !last)).toBe(true)
    expect(sent.at(-1)?.bytes).toBeLessThanOrEqual(FRAGMENT_BYTES)
    const messages = client.readMessages()
    expect(kinds(messages)).toEqual(['subscribe', 'SNAPSHOT', 'subscription_list', 'UPDATE'])
    expectExact(stream, rebuild(messages))
  })

  test('heartbeats are skipped while fragments are under way', () => {
    const { stream } = bigStream()
    const client = stream.connect({ kernelBytes: FRAGMENT_BYTES + 20 })
    client.subscribe('heartbeat')
    client.receive({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    stream.clock.settle()
    const { length } = client.transport.writes
    stream.clock.advance(10_000)
    expect(client.transport.writes.length).toBe(length)
    expect(kinds(client.readMessages())).toEqual(['subscribe', 'SNAPSHOT'])
  })

  test('a large SNAPSHOT is encoded in slices over several ticks, while other sessions get messages in their own tick', () => {
    const { stream, clock } = bigStream(['AAAUSD', 'BBBUSD'])
    const [joiner, other, sameMarket] = [stream.connect(), stream.connect(), stream.connect()]
    other.subscribe('BBBUSD market_data')
    sameMarket.subscribe(EXECUTIONS)
    clock.workMilliseconds = 1.5
    joiner.receive({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    let ticks = 0
    for (; joiner.transport.writes.length < 2; ticks++) {
      stream.offer([{ side: ASK, price: 10_000_001, amount: 100 + ticks }], [], 'BBBUSD')
      stream.offer([change(100 + ticks)], [{ price: 1, amount: 1 + ticks }])
      clock.stall(2)
      // One tick for the commit, and at its end the write.
      stream.clock.endTick()
      expect(kinds(tick(stream, other)), `tick ${ticks}`).toEqual(['UPDATE'])
      expect(kinds(tick(stream, sameMarket)), `tick ${ticks}`).toEqual(['execution'])
      expect(ticks).toBeLessThan(100)
    }
    expect(ticks).toBeGreaterThan(1)
    clock.workMilliseconds = 0
    const messages = joiner.readMessages()
    expect(kinds(messages)).toEqual(['subscribe', 'SNAPSHOT', 'UPDATE'])
    expectExact(stream, rebuild(messages))
  })

  test('large SNAPSHOTs of several markets share the time of a tick', () => {
    const markets = ['AAAUSD', 'BBBUSD', 'CCCUSD', 'DDDUSD']
    const { stream, clock } = bigStream(markets)
    const clients = markets.map(() => stream.connect())
    clock.workMilliseconds = 1.5
    for (const [index, client] of clients.entries()) {
      client.receive({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: markets[index] } }] })
    }
    const finished = clients.map((client) => ticksUntil(clock, () => client.transport.writes.length > 1))
    const all = finished.reduce((sum, ticks) => sum + ticks)
    // Ten slices per market, two or three per tick: together they need what each alone needs, not all in one tick.
    expect(all).toBeGreaterThan(10)
    // And they advance together, none waits for all the others.
    expect(finished[0]).toBeGreaterThan(5)
  })

  test('a large SNAPSHOT is encoded once for fifty new subscribers, who also share the UPDATE that completes it', () => {
    const { stream } = bigStream()
    const clients: LiveClient[] = []
    const books: Map<string, string>[] = []
    for (let index = 0; index < 50; index++) {
      stream.update([change(1_000 + index)])
      const pair = [stream.connect(), stream.connect()] as const
      for (const client of pair) {
        client.receive({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
      }
      for (const client of pair) {
        const texts = client.read()
        // Parsed are a few: a hundred books of 40,000 levels would only take time.
        expect(texts.map((text) => /"type":"(\w+)"/.exec(text)?.[1])).toEqual(
          index === 0 ? ['subscribe', 'SNAPSHOT'] : ['subscribe', 'SNAPSHOT', 'UPDATE'],
        )
        if (index % 10 === 0) books.push(rebuild(texts.map(parse)))
        clients.push(client)
      }
      expect(pair[0].transport.writes.at(-1)).toBe(pair[1].transport.writes.at(-1))
      if (index % 10 === 0) expectExact(stream, books.at(-1) as Map<string, string>)
    }
    const fragments = new Set(
      clients.flatMap(({ transport }) => transport.writes.filter(({ length }) => length > 60_000)),
    )
    const one = clients[0]?.transport.writes.filter(({ length }) => length > 60_000).length
    expect(fragments.size).toBe(one)
  })

  test('a large SNAPSHOT is encoded again when the UPDATE that completes it would be long', () => {
    const { stream } = bigStream()
    const first = stream.connect()
    first.subscribe(BOOK)
    stream.update(wide(9_000, 9))
    expect(kinds(stream.connect().subscribe(BOOK).map(parse))).toEqual(['subscribe', 'SNAPSHOT', 'UPDATE'])
    stream.update(wide(12_000, 8))
    const late = stream.connect().subscribe(BOOK).map(parse)
    expect(kinds(late)).toEqual(['subscribe', 'SNAPSHOT'])
    expect(rebuild(late).get('99999.99')).toBe('0.0008')
  })

  test('a large SNAPSHOT still comes when the book moves faster than a SNAPSHOT stays useful', () => {
    const { stream, clock } = bigStream()
    clock.workMilliseconds = 1.5
    const client = stream.connect({ kernelBytes: 10_000_000 })
    client.receive({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    for (let ticks = 0; client.transport.writes.length < 2; ticks++) {
      stream.offer(wide(12_000, 100 + (ticks % 2)))
      clock.stall(2)
      stream.clock.endTick()
      expect(ticks).toBeLessThan(30)
    }
    clock.workMilliseconds = 0
    const messages = client.readMessages()
    expect(kinds(messages).slice(0, 3)).toEqual(['subscribe', 'SNAPSHOT', 'UPDATE'])
    expectExact(stream, rebuild(messages))
  })

  test.each([TOP, EXECUTIONS])('a large SNAPSHOT is never older than the %s that was sent before', (earlier) => {
    const { stream } = bigStream()
    stream.connect().subscribe(BOOK)
    for (const gone of [false, true]) {
      const client = stream.connect()
      client.subscribe(earlier)
      stream.update([{ side: BID, price: 9_999_999, amount: gone ? 8 : 9 }], [{ price: 1, amount: 1 }])
      const sent = client.readMessages().at(-1)?.payload as { timestamp?: string; executed_at?: string }
      if (gone) client.unsubscribe(earlier)
      const snapshot = client.subscribe(BOOK).map(parse)[1]
      expect(snapshot?.payload.type).toBe('SNAPSHOT')
      const sentTime = String(sent.timestamp ?? sent.executed_at).slice(0, 23)
      expect(String(snapshot?.payload.time).slice(0, 23) >= sentTime).toBe(true)
    }
  })

  test('a large SNAPSHOT that is unsubscribed while it is made or sent finishes its frame before the acknowledgement', () => {
    const entry = { type: 'market_data', params: { market: 'AAAUSD' } }
    for (const ticks of [1, 3, 20]) {
      const { stream, clock } = bigStream()
      clock.workMilliseconds = 1.5
      const client = stream.connect({ kernelBytes: FRAGMENT_BYTES + 20 })
      client.receive({ type: 'subscribe', channels: [entry] })
      for (let count = 0; count < ticks; count++) clock.endTick()
      client.receive({ type: 'unsubscribe', channels: [entry] })
      client.receive({ type: 'subscribe', channels: [entry] })
      clock.workMilliseconds = 0
      const snapshots = ticks === 20 ? ['SNAPSHOT'] : []
      const first = client.readMessages()
      stream.clock.advance(2)
      const messages = [...first, ...client.readMessages()]
      expect(kinds(messages)).toEqual(['subscribe', ...snapshots, 'unsubscribe', 'subscribe', 'SNAPSHOT'])
      const times = messages.filter(({ channel }) => channel !== undefined).map(({ payload }) => payload.time)
      expect(times).toEqual([...new Set(times)].sort())
    }
  })

  test('a large SNAPSHOT that is cut in the middle leaves nothing open', () => {
    const { stream } = bigStream()
    const client = stream.connect({ kernelBytes: FRAGMENT_BYTES + 20 })
    client.receive({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    stream.clock.settle()
    const { length } = client.transport.writes
    client.session.close('operator')
    client.session.end()
    client.transport.drain()
    stream.update([change(7)])
    expect(client.transport.writes.length).toBe(length)
    expect(stream.hub.sessions.size).toBe(0)
  })
})

function parse(text: string): Message {
  return JSON.parse(text) as Message
}

describe('an UPDATE over 64 KiB', () => {
  test('an UPDATE over 64 KiB keeps the order of a tick for current subscribers, in fragments', () => {
    const { stream } = bigStream()
    const client = stream.connect()
    client.subscribe(BOOK, TOP, EXECUTIONS)
    const topOnly = stream.connect()
    topOnly.subscribe(TOP, EXECUTIONS)
    const before = client.transport.writes.length
    stream.update(wide(5_000, 77), [{ price: 1, amount: 1 }])
    const messages = client.readMessages()
    expect(kinds(messages)).toEqual(['execution', 'UPDATE', 'TOP_OF_BOOK'])
    expect(messages[1]?.payload.bids).toHaveLength(5_000)
    expect(kinds(topOnly.readMessages())).toEqual(['execution', 'TOP_OF_BOOK'])
    for (const { bytes } of frames(client.transport.writes.slice(before))) {
      expect(bytes).toBeLessThanOrEqual(FRAGMENT_BYTES)
    }
    // The next batch is fanned out again, in one write for all channels.
    const { writeCount } = client.transport
    stream.update([...wide(1, 78), change(3)], [{ price: 1, amount: 1 }])
    expect(client.transport.writeCount).toBe(writeCount + 1)
    expect(kinds(client.readMessages())).toEqual(['execution', 'UPDATE', 'TOP_OF_BOOK'])
  })

  test('a rebuild that changes every level is one UPDATE for current subscribers and a SNAPSHOT for new ones', () => {
    const { stream } = bigStream()
    const client = stream.connect()
    const book = rebuild(client.subscribe(BOOK).map(parse))
    stream.lose()
    const other = deepBook(LEVELS, 6).map((level) => ({ ...level, price: level.price + 1_000_000 }))
    stream.snapshot(other)
    const messages = client.readMessages()
    expect(kinds(messages)).toEqual(['UPDATE'])
    rebuild(messages, book)
    expect(book.size).toBe(2 * LEVELS)
    expect(book.get('110000.01')).toBe('0.0006')
    const joined = stream.connect().subscribe(BOOK).map(parse)
    expect(kinds(joined)).toEqual(['subscribe', 'SNAPSHOT'])
    expect(rebuild(joined)).toEqual(book)
  })
})
