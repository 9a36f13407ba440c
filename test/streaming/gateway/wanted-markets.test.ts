/** A gateway that follows only the markets that its clients want, as those clients and the feed see it. */
import { beforeEach, describe, expect, test } from 'vitest'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { WantedGateway, type WantingClient } from '../../support/wanted-gateway.ts'

const A = 'AAAUSD'
const MARKETS = [A, 'BBBUSD', 'CCCUSD', 'DDDUSD'].map((symbol) => testMarket(symbol, 10))
const ALL = ['market_data', 'market_data.top_of_book', 'execution_data']
const LINGER_MILLISECONDS = 60_000

let clock: VirtualClock
let gateway: WantedGateway

const entries = (symbol: string, types: readonly string[] = ALL) =>
  types.map((type) => ({ type, params: { market: symbol } }))

const subscribe = (client: WantingClient, symbol: string, types?: readonly string[]) =>
  gateway.send(client, 'subscribe', entries(symbol, types))

const unsubscribe = (client: WantingClient, symbol: string, types?: readonly string[]) =>
  gateway.send(client, 'unsubscribe', entries(symbol, types))

/** One update per millisecond. */
function play(symbol: string, milliseconds: number, clients: readonly WantingClient[]): void {
  for (let done = 0; done < milliseconds; done++) {
    gateway.feed.offer(symbol, 'update')
    gateway.run(1, clients)
  }
}

/** The client's book is the feed's. */
function expectCurrent(client: WantingClient, symbol: string): void {
  expect(client.verifier.bookText(symbol)).toBe(gateway.feed.history(symbol).bookNow)
}

const listed = () => gateway.hub.listedMarkets.map(({ replica, state }) => [replica.market.symbol, state])

beforeEach(() => {
  clock = new VirtualClock()
  gateway = new WantedGateway(clock, MARKETS)
  gateway.run(1_100, [])
})

test('a market without a want is not followed, and is listed as its feed reports it', () => {
  play(A, 50, [])
  expect([gateway.followed.symbols.length, gateway.requests]).toEqual([0, []])
  expect(gateway.replicas.replicaOf(A)?.version).toBe(0)
  expect(listed()).toEqual(MARKETS.map(({ symbol }) => [symbol, 'LIVE']))
  gateway.feed.offer('BBBUSD', 'lost')
  gateway.run(1_100, [])
  expect(listed()).toContainEqual(['BBBUSD', 'STALE'])
  gateway.link.faults.loss = 1
  gateway.run(3_600, [], 100)
  expect(gateway.reports.of(A)).toMatchObject({ live: false, reason: 'no contact with the market’s feed' })
})

test('the subscribers who want a market at once share one request, and each gets a SNAPSHOT', () => {
  gateway.link.faults.delayMillisecondsMax = 20
  const clients = Array.from({ length: 50 }, () => gateway.connect())
  for (const client of clients) subscribe(client, A)
  play(A, 100, clients)
  gateway.run(50, clients)
  expect(gateway.requests.filter((symbol) => symbol === A).length).toBeLessThanOrEqual(2)
  for (const client of clients) expectCurrent(client, A)
  expect(clients.map(({ verifier }) => verifier.counts.snapshots)).toEqual(clients.map(() => 1))
  expect(gateway.followed.symbols.length).toBe(1)
})

describe('a market whose last subscriber has left', () => {
  test('a market without subscribers is followed for 60 s more, and its next subscriber then costs no request', () => {
    const client = gateway.connect()
    subscribe(client, A)
    play(A, 20, [client])
    const requests = gateway.requests.length
    unsubscribe(client, A)
    gateway.run(LINGER_MILLISECONDS - 100, [client], 100)
    expect(gateway.followed.has(A)).toBe(true)
    subscribe(client, A)
    play(A, 20, [client])
    expectCurrent(client, A)
    expect(gateway.requests).toHaveLength(requests)
  })

  test('a forgotten market has later times for a connection that subscribes to it again', () => {
    const client = gateway.connect()
    subscribe(client, A)
    play(A, 20, [client])
    unsubscribe(client, A)
    const old = gateway.replicas.replicaOf(A)
    gateway.run(LINGER_MILLISECONDS + 2_100, [client], 100)
    expect(gateway.followed.symbols.length).toBe(0)
    expect(gateway.replicas.replicaOf(A)).not.toBe(old)
    // Nothing was committed meanwhile, so the feed makes a later commit for the SNAPSHOT.
    subscribe(client, A)
    gateway.run(20, [client])
    expectCurrent(client, A)
    expect(client.verifier.counts.snapshots).toBe(2)
  })

  test('a market is forgotten after its last disconnection, and followed while one client subscribes to it', () => {
    const [first, second] = [gateway.connect(), gateway.connect()]
    subscribe(first, A)
    subscribe(second, A, ['execution_data'])
    gateway.run(10, [first, second])
    gateway.disconnect(first)
    gateway.run(2 * LINGER_MILLISECONDS, [second], 100)
    expect(gateway.followed.has(A)).toBe(true)
    gateway.disconnect(second)
    gateway.run(LINGER_MILLISECONDS + 2_100, [], 100)
    expect(gateway.followed.symbols.length).toBe(0)
  })
})

test('a client that cycles through all markets makes the gateway follow each once, and all are forgotten after it', () => {
  const client = gateway.connect()
  for (let round = 0; round < 20; round++) {
    for (const { symbol } of MARKETS) {
      subscribe(client, symbol)
      play(symbol, 2, [client])
      unsubscribe(client, symbol)
      gateway.run(200, [client], 100)
    }
  }
  expect(gateway.followed.symbols.length).toBe(MARKETS.length)
  expect(new Set(gateway.requests).size).toBe(MARKETS.length)
  expect(gateway.requests.length).toBeLessThanOrEqual(2 * MARKETS.length)
  gateway.run(LINGER_MILLISECONDS + 2_100, [client], 100)
  expect(gateway.followed.symbols.length).toBe(0)
  expect(MARKETS.every(({ symbol }) => gateway.replicas.replicaOf(symbol)?.version === 0)).toBe(true)
})

describe('executions from the moment of a subscription', () => {
  test.each([0, 3, 30])(
    'executions are complete from a subscription on when messages take up to %s ms',
    (delayMillisecondsMax) => {
      for (let round = 0; round < 20; round++) {
        clock = new VirtualClock()
        gateway = new WantedGateway(clock, MARKETS)
        gateway.run(1_100, [])
        gateway.link.faults.delayMillisecondsMax = delayMillisecondsMax
        play(A, 50 + round, [])
        const client = gateway.connect()
        subscribe(client, A)
        gateway.run(1, [client])
        const atSubscription = gateway.feed.history(A).executionCount
        play(A, 200, [client])
        gateway.run(100, [client])
        expect(client.transport.closed).toBeUndefined()
        const { executions } = client.verifier.counts
        // The verifier has found them consecutive, so the count shows where they began.
        expect(executions).toBeGreaterThanOrEqual(gateway.feed.history(A).executionCount - atSubscription)
        expectCurrent(client, A)
      }
    },
  )

  test('executions are complete from a subscription on when the first answers are lost', () => {
    const client = gateway.connect()
    const answers = gateway.feed.exporter.onStateRequest
    gateway.feed.exporter.onStateRequest = () => undefined
    subscribe(client, A)
    gateway.run(1, [client])
    const atSubscription = gateway.feed.history(A).executionCount
    play(A, 500, [client])
    gateway.feed.exporter.onStateRequest = answers
    play(A, 2_500, [client])
    gateway.run(20, [client])
    expect(client.transport.closed).toBeUndefined()
    expect(client.verifier.counts.executions).toBe(gateway.feed.history(A).executionCount - atSubscription)
    expectCurrent(client, A)
  })

  test('executions that were lost before the first SNAPSHOT end their connection with 4000, and no other', () => {
    const [client, book] = [gateway.connect(), gateway.connect()]
    subscribe(client, A)
    subscribe(book, A, ['market_data'])
    const answers = gateway.feed.exporter.onStateRequest
    gateway.feed.exporter.onStateRequest = () => undefined
    play(A, 50, [client, book])
    gateway.link.faults.loss = 1
    play(A, 50, [client, book])
    gateway.link.faults.loss = 0
    play(A, 50, [client, book])
    gateway.feed.exporter.onStateRequest = answers
    play(A, 5_000, [client, book])
    expect(client.transport.closed?.code).toBe(4_000)
    expect(client.verifier.counts.executions).toBe(0)
    expect(book.transport.closed).toBeUndefined()
    expectCurrent(book, A)
  })
})

describe('a leader change', () => {
  test('a subscriber after a leader change gets the book of the later epoch', () => {
    gateway.feed.crash(A)
    gateway.feed.lead(MARKETS[0]!, 'e2')
    gateway.run(1_100, [])
    const client = gateway.connect()
    subscribe(client, A)
    play(A, 50, [client])
    gateway.run(10, [client])
    expectCurrent(client, A)
    expect(gateway.replicas.replicaOf(A)?.followed?.epoch).toBe('e2')
  })

  test('a subscriber during a leader change gets one book, of the later epoch', () => {
    gateway.link.faults.delayMillisecondsMax = 10
    const client = gateway.connect()
    const answers = gateway.feed.exporter.onStateRequest
    gateway.feed.exporter.onStateRequest = () => undefined
    subscribe(client, A, ['market_data', 'market_data.top_of_book'])
    play(A, 20, [client])
    gateway.feed.crash(A)
    gateway.run(5_000, [client], 100)
    expect(client.verifier.counts.snapshots).toBe(0)
    gateway.feed.lead(MARKETS[0]!, 'e2')
    gateway.feed.exporter.onStateRequest = answers
    play(A, 1_500, [client])
    gateway.run(50, [client])
    expect(client.verifier.counts.snapshots).toBe(1)
    expectCurrent(client, A)
  })
})

test('a subscriber to a market that was withdrawn while it was cold waits until it is live', () => {
  gateway.feed.offer(A, 'lost')
  gateway.run(12_000, [], 100)
  const client = gateway.connect()
  subscribe(client, A)
  gateway.run(3_000, [client], 10)
  expect(client.verifier.replies).toHaveLength(1)
  expect([client.verifier.counts.snapshots, client.verifier.counts.tops]).toEqual([0, 0])
  gateway.feed.offer(A, 'snapshot')
  gateway.run(20, [client])
  expect(client.verifier.counts.snapshots).toBe(1)
  expectCurrent(client, A)
})

describe('a cursor', () => {
  const book = (resume?: string) => ({ type: 'market_data', params: { market: A, ...(resume && { resume }) } })

  /** The kinds of book message after a text, and the last one's cursor. */
  function booksSince({ texts }: WantingClient, start: number) {
    const messages = texts.slice(start).map((text) => JSON.parse(text))
    const books = messages.filter(({ channel }) => channel === 'market_data')
    return { types: books.map(({ payload }) => payload.type), cursor: books.at(-1)?.stream.cursor as string }
  }

  test.each([
    ['10 s after the last subscription is answered with the difference', 10_000, 'UPDATE'],
    ['of a forgotten market is answered with a SNAPSHOT', LINGER_MILLISECONDS + 2_100, 'SNAPSHOT'],
  ])('a cursor %s', (_name, milliseconds, type) => {
    const first = gateway.connect('tidegate.v1')
    gateway.send(first, 'subscribe', [book()])
    play(A, 20, [first])
    const { cursor } = booksSince(first, 0)
    gateway.disconnect(first)
    gateway.run(milliseconds, [], 100)
    gateway.feed.offer(A, 'update')
    gateway.run(5, [])
    const second = gateway.connect('tidegate.v1')
    gateway.send(second, 'subscribe', [book(cursor), { type: 'execution_data', params: { market: A, resume: 'x.1' } }])
    gateway.run(10, [second])
    expect(booksSince(second, 0).types).toEqual([type])
    expect(second.texts[0]).toContain('"resumed":false')
  })
})

test('a wanted market that a reload removes ends its subscriptions, and is wanted again when it comes back', () => {
  const client = gateway.connect()
  subscribe(client, A)
  play(A, 20, [client])
  const remaining = gateway.replicas.all.slice(1).map(({ market }) => market)
  const configured = (markets: typeof remaining) =>
    markets.map((definition) => ({
      definition,
      sources: [],
      aggregation: { policy: 'recency' as const },
      feedGroup: 'default',
    }))
  const { removed } = gateway.replicas.change(configured(remaining))
  gateway.followed.change(removed, [])
  for (const symbol of removed) gateway.hub.removeMarket(symbol, 'removed')
  gateway.run(10, [client])
  expect(gateway.followed.symbols.length).toBe(0)
  expect(client.texts.at(-1)).toContain('"type":"unsubscribe"')
  expect(gateway.hub.market(A)).toBeUndefined()
  const { added } = gateway.replicas.change(configured([...remaining, MARKETS[0]!]))
  gateway.followed.change(
    [],
    added.map(({ market }) => market),
  )
  for (const replica of added) gateway.hub.addMarket(replica)
  subscribe(client, A)
  gateway.run(20, [client])
  expectCurrent(client, A)
})
