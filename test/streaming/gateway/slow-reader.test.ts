import { describe, expect, test } from 'vitest'
import { ASK, BID, type LevelChange } from '../../../src/streaming/market/event.ts'
import { type LiveClient, LiveStream, levels, type Message, rebuild } from './live-stream.ts'

const BOOK = 'AAAUSD market_data'
const TOP = 'AAAUSD market_data.top_of_book'
const EXECUTIONS = 'AAAUSD execution_data'
const MARK_BYTES = 16_384

const bid = (price: number, amount: number) => [{ side: BID, price, amount }] as const

/** Changes of `count` asks at once: an UPDATE of about 36 bytes each. */
function wideUpdate(count: number, amount: number): LevelChange[] {
  return Array.from({ length: count }, (_, index) => ({ side: ASK, price: 1_000 + index, amount }))
}

/** Fills the socket of a client that does not read, until it lags. */
function fill(stream: LiveStream, client: LiveClient): void {
  for (let amount = 1; client.transport.isReading; amount++) stream.update(wideUpdate(100, amount))
}

function parsed(texts: readonly string[]): Message[] {
  return texts.map((text) => JSON.parse(text) as Message)
}

function kinds(messages: readonly Message[]): string[] {
  return messages.map(({ channel, type, payload }) => {
    if (channel === undefined) return type as string
    return channel === 'execution_data' ? 'execution' : (payload.type as string)
  })
}

describe('a client that never reads', () => {
  test('a client that never reads holds a bounded queue while 30 MB pass, and wakes up with few messages and the exact book', async () => {
    const stream = new LiveStream({ depth: 0 })
    stream.snapshot(levels([[100, 1]], []))
    const [awake, asleep] = [stream.connect(), stream.connect({ kernelBytes: 200_000 })]
    for (const client of [awake, asleep]) client.subscribe(BOOK, TOP)
    const book = new Map<string, string>([['1.00', '0.0001']])
    let bytes = 0
    let count = 0
    for (let amount = 1; bytes < 30_000_000; amount++) {
      stream.update(wideUpdate(500, amount))
      const texts = awake.read()
      for (const text of texts) bytes += text.length
      count += texts.length
      rebuild(parsed(texts), book)
      if (amount === 100) asleep.receive({ type: 'subscription_list' })
    }
    expect(await stream.registry.metrics()).toContain('tidegate_connections_behind 1')
    expect(asleep.transport.isReading).toBe(false)
    expect(asleep.transport.isOpen).toBe(true)
    // The high-water mark, and the one message that exceeded it.
    expect(asleep.transport.queuedBytesMost).toBeLessThan(MARK_BYTES + 25_000)
    const messages = parsed(asleep.read())
    expect(messages.length).toBeLessThan(30)
    expect(count).toBeGreaterThan(1_500)
    expect(messages.filter(({ type }) => type === 'subscription_list')).toHaveLength(1)
    expect(rebuild(messages, new Map([['1.00', '0.0001']]))).toEqual(book)
    expect(messages.at(-1)?.payload).toMatchObject({ type: 'TOP_OF_BOOK', asks: [{ price: '10.00' }] })
    expect(asleep.transport.isReading).toBe(true)
    // So much passed that the journal no longer reaches back: the book comes as a whole.
    expect(kinds(messages).at(-2)).toBe('SNAPSHOT')
    expect(await stream.registry.metrics()).toContain('tidegate_connections_behind 0')
    stream.update(bid(90, 7))
    expect(kinds(asleep.readMessages())).toEqual(['UPDATE'])
  })

  test('other sessions get messages without delay, and nothing is queued for the lagging one', () => {
    const stream = new LiveStream({ depth: 0 })
    stream.snapshot()
    const [awake, asleep] = [stream.connect(), stream.connect({ kernelBytes: 1_000 })]
    for (const client of [awake, asleep]) client.subscribe(BOOK)
    fill(stream, asleep)
    awake.read()
    const { length } = asleep.transport.writes
    for (let amount = 1; amount <= 50; amount++) {
      stream.update(bid(100, amount))
      expect(awake.read()).toHaveLength(1)
    }
    expect(asleep.transport.writes.length).toBe(length)
  })

  test('two subscribers that drain at the same version share the conflated frame', async () => {
    const stream = new LiveStream({ depth: 0 })
    stream.snapshot()
    const sleepers = [stream.connect({ kernelBytes: 1_000 }), stream.connect({ kernelBytes: 1_000 })] as const
    for (const client of sleepers) client.subscribe(BOOK)
    fill(stream, sleepers[0])
    stream.update(wideUpdate(150, 77))
    for (const client of sleepers) expect(kinds(client.readMessages()).at(-1)).toBe('UPDATE')
    expect(sleepers[0].transport.writes.at(-1)).toBe(sleepers[1].transport.writes.at(-1))
    expect(await stream.registry.metrics()).toContain('tidegate_merged_messages_total 2')
  })
})

describe('while a client lags', () => {
  function sleeper(...channels: readonly string[]): { stream: LiveStream; client: LiveClient } {
    const stream = new LiveStream({ depth: 0 })
    stream.snapshot()
    const client = stream.connect({ kernelBytes: 1_000 })
    client.subscribe(...channels)
    // The top moves while the client is current: what it was sent then is not owed again.
    stream.update(bid(101, 5))
    fill(stream, client)
    return { stream, client }
  }

  test('a top that moves and comes back is owed once, and the book not at all', () => {
    const stream = new LiveStream({ depth: 0 })
    stream.snapshot()
    const [both, bookOnly] = [stream.connect({ kernelBytes: 1_000 }), stream.connect({ kernelBytes: 1_000 })]
    both.subscribe(BOOK, TOP, EXECUTIONS)
    bookOnly.subscribe(BOOK, EXECUTIONS)
    while (both.transport.isReading || bookOnly.transport.isReading) stream.update([], [{ price: 1, amount: 1 }])
    stream.update(bid(150, 1))
    stream.update(bid(150, 0))
    expect(kinds(both.readMessages()).filter((kind) => kind !== 'execution')).toEqual(['TOP_OF_BOOK'])
    expect(kinds(bookOnly.readMessages()).filter((kind) => kind !== 'execution')).toEqual([])
    stream.update(bid(100, 5))
    expect(kinds(bookOnly.readMessages())).toEqual(['UPDATE'])
  })

  test('a lagging client is owed nothing when nothing moved', () => {
    const { stream, client } = sleeper(BOOK, TOP)
    const before = client.transport.writes.length
    client.read()
    stream.clock.advance(5)
    client.read()
    expect(client.transport.writes.length).toBe(before)
  })

  test('a lagging client that unsubscribes is owed nothing, and one that subscribes again a later SNAPSHOT', () => {
    const { stream, client } = sleeper(BOOK, TOP)
    const entry = { type: 'market_data', params: { market: 'AAAUSD' } }
    client.receive({ type: 'unsubscribe', channels: [entry] })
    client.receive({ type: 'subscribe', channels: [entry] })
    stream.update(bid(100, 77))
    const messages = client.readMessages()
    const [gone, back] = [kinds(messages).indexOf('unsubscribe'), kinds(messages).indexOf('subscribe')]
    expect(back).toBe(gone + 1)
    expect(kinds(messages.slice(back + 1))).toEqual(['SNAPSHOT', 'TOP_OF_BOOK'].slice(0, messages.length - back - 1))
    expect(kinds(messages)).toContain('SNAPSHOT')
    const times = messages.map(({ payload }) => payload?.time).filter((time) => time !== undefined)
    expect(times).toEqual([...new Set(times)].sort())
    expect(rebuild(messages).get('1.00')).toBe('0.0077')
  })

  test('a lagging client that unsubscribed gets no more of that channel', () => {
    const { stream, client } = sleeper(BOOK)
    client.receive({ type: 'unsubscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    stream.update(bid(100, 77))
    expect(kinds(client.readMessages()).at(-1)).toBe('unsubscribe')
    stream.update(bid(100, 78))
    expect(client.read()).toEqual([])
  })

  test("a lagging client's requests wait in order and are answered when it reads", () => {
    const { client } = sleeper(BOOK)
    const written = client.transport.writes.length
    for (let number = 0; number < 20; number++) client.receive(`{"type":"subscribe","channels":[{"type":${number}}]}`)
    client.receive({ type: 'subscription_list' })
    expect(client.transport.writes.length).toBe(written)
    const replies = client.readMessages().filter(({ channel }) => channel === undefined)
    expect(replies.slice(0, 20).map(({ channels }) => channels?.[0]?.type)).toEqual([...Array(20).keys()])
    expect(replies).toHaveLength(21)
  })

  test('no market starves while a client lags: each catch-up continues after the market that blocked', () => {
    const markets = ['AAAUSD', 'BBBUSD', 'CCCUSD', 'DDDUSD']
    const stream = new LiveStream({ markets, depth: 0, settings: { outboxBytesMax: 1_000 } })
    for (const symbol of markets) stream.snapshot(undefined, symbol)
    const client = stream.connect({ kernelBytes: 1_000 })
    client.subscribe(...markets.map((symbol) => `${symbol} market_data`))
    const seen: string[] = []
    for (let round = 1; round <= 60; round++) {
      for (const symbol of markets) stream.update(wideUpdate(100, round), [], symbol)
      client.transport.flush()
      client.transport.drain()
      stream.clock.settle()
      for (const { payload } of parsed(client.taken())) seen.push(payload.market)
    }
    const settled = seen.slice(8, 40)
    expect(settled.length).toBeGreaterThan(20)
    for (const symbol of markets) {
      expect(settled.filter((other) => other === symbol).length).toBeGreaterThan(settled.length / 5)
    }
  })
})

describe('executions missed', () => {
  const trades = (count: number, from = 1) =>
    Array.from({ length: count }, (_, index) => ({ price: 150, amount: from + index }))

  function behind(executionsKept: number): { stream: LiveStream; client: LiveClient } {
    const stream = new LiveStream({ executionsKept })
    stream.snapshot()
    const client = stream.connect({ kernelBytes: 1_000 })
    client.subscribe(BOOK, TOP, EXECUTIONS)
    for (let amount = 1; client.transport.isReading; amount++) stream.update(bid(90, amount))
    return { stream, client }
  }

  test('missed executions come whole and in order, in slices, before the book that waited for them', () => {
    const { stream, client } = behind(10_000)
    const before = client.transport.writes.length
    for (let from = 1; from <= 2_901; from += 100) stream.update(bid(100, from), trades(100, from))
    const messages = client.readMessages()
    const executions = messages.filter(({ channel }) => channel === 'execution_data')
    expect(executions.map(({ payload }) => payload.amount)).toEqual(
      trades(3_000).map(({ amount }) => (amount / 10_000).toFixed(4)),
    )
    expect(kinds(messages).slice(-3)).toEqual(['execution', 'UPDATE', 'TOP_OF_BOOK'])
    const slices = client.transport.writes.slice(before).map(({ length }) => length)
    expect(slices.length).toBeGreaterThan(8)
    expect(Math.max(...slices)).toBeLessThan(33_000)
    expect(client.transport.queuedBytesMost).toBeLessThan(MARK_BYTES + 33_000)
  })

  test('missed executions up to the kept number are no gap, and one more closes with 4000', () => {
    for (const count of [50, 51]) {
      const { stream, client } = behind(50)
      for (let from = 1; from <= count; from++) stream.update([], trades(1, from))
      const texts = client.read()
      const executions = parsed(texts).filter(({ channel }) => channel === 'execution_data')
      expect(executions).toHaveLength(count === 50 ? 50 : 0)
      expect(client.transport.closed).toEqual(
        count === 50 ? undefined : { code: 4000, reason: 'execution stream has a gap' },
      )
    }
  })

  test('a gap of executions does not affect subscribers of books', () => {
    const stream = new LiveStream({ executionsKept: 10, depth: 0 })
    stream.snapshot()
    const client = stream.connect({ kernelBytes: 1_000 })
    client.subscribe(BOOK, TOP)
    fill(stream, client)
    for (let count = 0; count < 100; count++) stream.update(bid(100, 20 + count), trades(1))
    client.read()
    expect(client.transport.closed).toBeUndefined()
    client.subscribe(EXECUTIONS)
    stream.update([], trades(1))
    expect(kinds(client.readMessages())).toEqual(['execution'])
  })

  test('a commit with more executions than are kept is a gap for all their subscribers, never a silent loss', () => {
    const stream = new LiveStream({ executionsKept: 10 })
    stream.snapshot()
    const [reader, other] = [stream.connect(), stream.connect()]
    reader.subscribe(EXECUTIONS)
    other.subscribe(BOOK)
    stream.update(bid(100, 12), trades(10))
    expect(reader.read()).toHaveLength(10)
    stream.update(bid(100, 13), trades(11))
    expect(reader.read()).toEqual([])
    expect(reader.transport.closed?.code).toBe(4000)
    expect(kinds(other.readMessages())).toEqual(['UPDATE', 'UPDATE'])
  })

  test('a lagging client gets two commits of one tick completely, each with as many executions as are kept', () => {
    const stream = new LiveStream({ executionsKept: 10 })
    stream.snapshot()
    const client = stream.connect()
    client.subscribe(EXECUTIONS)
    stream.offer([], trades(10))
    stream.clock.endTick()
    stream.sequencers.get('AAAUSD')?.offer({ type: 'update', changes: [], executions: trades(10, 11) })
    stream.sequencers.get('AAAUSD')?.stop()
    expect(client.readMessages().map(({ payload }) => payload.amount)).toHaveLength(20)
  })
})
