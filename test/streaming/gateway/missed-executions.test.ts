import { describe, expect, test } from 'vitest'
import { BID, type Execution } from '../../../src/streaming/market/event.ts'
import type { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { type LiveClient, LiveStream, type Message } from './live-stream.ts'

const BOOK = 'AAAUSD market_data'
const TOP = 'AAAUSD market_data.top_of_book'
const EXECUTIONS = 'AAAUSD execution_data'
const GAP = { code: 4000, reason: 'execution stream has a gap at its source' }

const bid = (price: number, amount: number) => [{ side: BID, price, amount }] as const

function trades(...amounts: readonly number[]): Execution[] {
  return amounts.map((amount) => ({ price: 150, amount }))
}

function amounts(messages: readonly Message[]): number[] {
  return messages
    .filter(({ channel }) => channel === 'execution_data')
    .map(({ payload }) => Math.round(Number(payload.amount) * 10_000))
}

function connected(stream: LiveStream, ...channels: readonly string[]): LiveClient {
  const client = stream.connect()
  client.subscribe(...channels)
  return client
}

function live(options: ConstructorParameters<typeof LiveStream>[0] = {}): LiveStream {
  const stream = new LiveStream(options)
  stream.snapshot()
  for (const symbol of options.markets?.slice(1) ?? []) stream.snapshot(undefined, symbol)
  return stream
}

describe('executions that the source missed', () => {
  test('missed executions close their subscribers, and no other session', async () => {
    const stream = live({ markets: ['AAAUSD', 'BBBUSD'] })
    const reader = connected(stream, EXECUTIONS)
    const all = connected(stream, BOOK, TOP, EXECUTIONS)
    const books = connected(stream, BOOK, TOP)
    const other = connected(stream, 'BBBUSD execution_data')
    const gone = connected(stream, EXECUTIONS)
    gone.unsubscribe(EXECUTIONS)
    stream.update([], trades(1, 2))
    for (const client of [reader, all]) expect(amounts(client.readMessages())).toEqual([1, 2])
    stream.clock.advance(1)
    stream.miss()
    stream.offer(bid(100, 11), trades(3))
    stream.clock.advance(1)
    for (const client of [reader, all]) {
      expect(client.readMessages()).toEqual([])
      expect(client.transport.closed).toEqual(GAP)
    }
    expect(books.readMessages().map(({ payload }) => payload.type)).toEqual(['UPDATE', 'TOP_OF_BOOK'])
    stream.update(bid(100, 12), trades(4), 'BBBUSD')
    expect(amounts(other.readMessages())).toEqual([4])
    for (const client of [books, other, gone]) expect(client.transport.closed).toBeUndefined()
    const metrics = await stream.registry.metrics()
    expect(metrics).toContain('tidegate_executions_missed_total{market="AAAUSD"} 1')
    expect(metrics).toContain('tidegate_executions_missed_total{market="BBBUSD"} 0')
    expect(metrics).toContain('tidegate_closes_total{cause="executionsMissed"} 2')
  })

  test('missed executions close their subscribers at once, also when no execution follows', () => {
    const stream = live()
    const reader = connected(stream, EXECUTIONS)
    stream.clock.advance(1)
    stream.miss()
    stream.clock.settle()
    expect(reader.transport.closed).toEqual(GAP)
  })

  test('missed executions close their subscribers before the market has a book, too', () => {
    const stream = new LiveStream()
    const reader = connected(stream, BOOK, EXECUTIONS)
    stream.miss()
    stream.clock.advance(1)
    expect(reader.transport.closed).toEqual(GAP)
  })

  test('executions missed between two commits of one tick end it: none is sent as if the tick were complete', () => {
    const stream = live()
    const reader = connected(stream, EXECUTIONS)
    // Commits that the hub fans out together: only their order shows where the gap is.
    const { version, epoch } = stream.replicas.get('AAAUSD') as Replica
    for (const [index, missedAt] of [undefined, 0, undefined].entries()) {
      stream.bus.publish({
        type: 'commit',
        market: 'AAAUSD',
        epoch: epoch.id,
        version: version + 1 + index,
        milliseconds: 10 + index,
        nanoseconds: 0,
        receivedMilliseconds: 0,
        changes: [],
        executions: trades(1 + index),
        ...(missedAt === undefined ? {} : { missedAt }),
        executionNumber: [1, 3, 4][index] as number,
      })
    }
    expect(reader.readMessages()).toEqual([])
    expect(reader.transport.closed).toEqual(GAP)
  })

  test('missed executions do not affect a later subscription, nor a repeated one', () => {
    const stream = live()
    const again = connected(stream, EXECUTIONS)
    again.unsubscribe(EXECUTIONS)
    stream.clock.advance(1)
    stream.miss()
    stream.clock.advance(1)
    again.subscribe(EXECUTIONS)
    const late = connected(stream, EXECUTIONS)
    for (let amount = 1; amount <= 3; amount++) stream.update([], trades(amount))
    for (const client of [late, again]) expect(amounts(client.readMessages())).toEqual([1, 2, 3])
  })

  test('missed executions close a lagging subscriber when it reads again, unless it unsubscribes first', () => {
    const stream = live({ depth: 0 })
    const clients = [EXECUTIONS, EXECUTIONS, BOOK].map((extra) => {
      const client = stream.connect({ kernelBytes: 1_000 })
      client.subscribe(BOOK, ...(extra === BOOK ? [] : [extra]))
      return client
    })
    const [asleep, leaving, books] = clients as [LiveClient, LiveClient, LiveClient]
    for (let amount = 1; clients.some(({ transport }) => transport.isReading); amount++) {
      stream.update(Array.from({ length: 100 }, (_, index) => ({ side: BID, price: 1 + index, amount })))
    }
    leaving.receive({ type: 'unsubscribe', channels: [{ type: 'execution_data', params: { market: 'AAAUSD' } }] })
    stream.update([], trades(1, 2))
    stream.miss()
    stream.update([], trades(3))
    for (const { transport } of clients) expect(transport.closed).toBeUndefined()
    expect(amounts(asleep.readMessages())).toEqual([])
    expect(asleep.transport.closed).toEqual(GAP)
    expect(amounts(leaving.readMessages())).toEqual([])
    books.read()
    for (const { transport } of [leaving, books]) expect(transport.closed).toBeUndefined()
  })
})

describe('in the extended protocol', () => {
  const request = (params: object) => ({
    type: 'subscribe',
    channels: [{ type: 'execution_data', params: { market: 'AAAUSD', ...params } }],
  })

  function connect(stream: LiveStream, params: object): { client: LiveClient; messages: Message[] } {
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    const messages = client.ask(request(params)).map((text) => JSON.parse(text) as Message)
    return { client, messages }
  }

  test('missed executions close in the extended protocol too, and a resume from before them is answered resumed false', () => {
    const stream = live()
    const { client } = connect(stream, {})
    stream.update([], trades(1))
    const cursor = client.readMessages().at(-1)?.stream?.cursor
    expect(connect(stream, { resume: cursor }).messages[0]?.channels?.[0]).toMatchObject({ resumed: true })
    stream.clock.advance(1)
    stream.miss()
    stream.offer([], trades(2))
    stream.clock.advance(1)
    expect(client.readMessages()).toEqual([])
    expect(client.transport.closed).toEqual(GAP)
    const back = connect(stream, { resume: cursor })
    expect(back.messages).toHaveLength(1)
    expect(back.messages[0]?.channels?.[0]).toMatchObject({ success: true, resumed: false })
    stream.update([], trades(3))
    const [message] = back.client.readMessages()
    expect(message?.stream).not.toHaveProperty('prev')
    expect(message?.payload.amount).toBe('0.0003')
    stream.update([], trades(4))
    expect(back.client.readMessages()[0]?.stream?.prev).toBe(message?.stream?.cursor)
    const resumed = connect(stream, { resume: message?.stream?.cursor }).messages
    expect(resumed[0]?.channels?.[0]).toMatchObject({ resumed: true })
    expect(amounts(resumed)).toEqual([4])
  })

  test('missed executions without a later one close in the extended protocol all the same', () => {
    const stream = live()
    const { client } = connect(stream, {})
    stream.update([], trades(1))
    const cursor = client.readMessages().at(-1)?.stream?.cursor
    client.transport.cut()
    client.session.end()
    stream.miss()
    stream.clock.advance(1)
    expect(connect(stream, { resume: cursor }).messages[0]?.channels?.[0]).toMatchObject({ resumed: false })
  })
})
