/** Markets of a made-up venue that lists its pairs by HTTP and says a word a frame, over a real socket. */

import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import { ASK } from '../../../../src/streaming/market/event.ts'
import type {
  BookStep,
  Fetched,
  Listing,
  TradeGap,
  VenueMessage,
  VenueProtocol,
  VenueTrade,
} from '../../../../src/streaming/sources/venues/venue.ts'
import { lookUpListings } from '../../../../src/streaming/sources/venues/venue-lookup.ts'
import { VenueSource } from '../../../../src/streaming/sources/venues/venue-source.ts'
import { once } from '../../../support/awaited.ts'
import { SourceListener } from '../../../support/source-listener.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'
import { Waiters } from '../../../support/waiters.ts'

type Message = VenueMessage<BookStep>

const listed = (symbol: string, changed: Partial<Listing> = {}): Listing => {
  return { symbol, priceDecimals: 1, amountDecimals: 2, status: 'online', state: 'open', ...changed }
}
const book = (symbol: string, amount = 5): Message => {
  return { kind: 'book', symbol, data: { kind: 'snapshot', levels: [{ side: ASK, price: 10, amount }] } }
}
const trade = (id: number): VenueTrade => {
  return { firstId: id, lastId: id, price: '1', amount: '1', executedAtMilliseconds: id }
}
const trades = (symbol: string, firstId: number, lastId = firstId): Message => {
  return {
    kind: 'trades',
    symbol,
    isRepeat: false,
    trades: [{ firstId, lastId, price: '1', amount: '1', executedAtMilliseconds: lastId }],
  }
}

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

/** A venue whose frames are messages as they are, and what it was asked. */
async function openVenue() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const waiters = new Waiters()
  const requests: string[] = []
  const sockets: WebSocket[] = []
  server.on('connection', (socket) => {
    sockets.push(socket)
    socket.on('error', () => socket.terminate())
    socket.on('message', (data) => {
      requests.push((JSON.parse(String(data)) as { ask: string }).ask)
      waiters.notify()
    })
    waiters.notify()
  })
  opened.push({
    close: () => {
      for (const client of server.clients) client.terminate()
      return new Promise((resolve) => server.close(resolve))
    },
  })
  const fetches: { readonly symbols: readonly string[]; readonly answer: (f: Fetched<readonly Listing[]>) => void }[] =
    []
  const tradeFetches: {
    readonly symbol: string
    readonly gap: TradeGap
    readonly answer: (fetched: Fetched<readonly VenueTrade[]>) => void
  }[] = []
  const protocol: VenueProtocol<BookStep> = {
    silenceMilliseconds: 1e9,
    httpRate: { burst: 100, perSecond: 100 },
    depths: [10, 50],
    fetchTrades: (symbol, gap) =>
      new Promise((answer) => {
        tradeFetches.push({ symbol, gap, answer })
        waiters.notify()
      }),
    listings: {
      fetch: (symbols) =>
        new Promise((answer) => {
          fetches.push({ symbols, answer })
          waiters.notify()
        }),
    },
    requests: (action, channel, symbols) => [{ ask: `${action} ${channel} ${symbols.join()}` }],
    read: (text) => [JSON.parse(text) as Message],
    createBook: () => ({ apply: (step) => step }),
  }
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    protocol,
    requests,
    sockets,
    fetches,
    tradeFetches,
    say: (...messages: readonly Message[]) => {
      for (const message of messages) sockets.at(-1)?.send(JSON.stringify(message))
    },
    until: (what: string, isMet: () => boolean) => waiters.until(what, isMet),
  }
}

async function setUp(listeners: readonly SourceListener[]) {
  const venue = await openVenue()
  const clock = new VirtualClock()
  const registry = createMetricsRegistry()
  const source = new VenueSource({
    venue: 'venue',
    protocol: venue.protocol,
    proof: 'COMPARISON',
    url: venue.url,
    markets: listeners.map((listener) => listener.sourceMarket),
    clock,
    random: () => 1,
    log: createLog('silent'),
    metrics: registry,
  })
  source.start()
  opened.push({ close: () => source.stop() })
  const answer = async (index: number, fetched: Fetched<readonly Listing[]>) => {
    await venue.until('a request for listings', () => venue.fetches.length > index)
    venue.fetches[index]?.answer(fetched)
    await new Promise(setImmediate)
  }
  const metric = async (line: string) =>
    (await registry.metrics())
      .split('\n')
      .find((text) => text.startsWith(`${line} `))
      ?.slice(line.length + 1)
  return { ...venue, clock, source, answer, metric }
}

describe('pairs that are listed by HTTP', () => {
  it('pairs that are listed by HTTP are subscribed, trades and books, when they are listed; others are lost with the reason', async () => {
    const [a, b] = [new SourceListener('A/B'), new SourceListener('X/Y')]
    const { answer, fetches, requests, until, say } = await setUp([a, b])
    await answer(0, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 2)
    expect(fetches[0]?.symbols).toEqual(['A/B', 'X/Y'])
    expect(requests).toEqual(['subscribe trades A/B', 'subscribe book A/B'])
    expect(b.reasons()).toEqual(['venue does not list X/Y'])
    say(book('A/B'))
    await a.until('a book', () => a.count('snapshot') === 1)
  })

  it('pairs that are listed by HTTP are asked for again, later and later, as long as the venue says when it does', async () => {
    const a = new SourceListener('A/B')
    const { answer, fetches, clock } = await setUp([a])
    await answer(0, { problem: 'HTTP 500' })
    expect(a.reasons()).toEqual(['venue gave no pair list: HTTP 500'])
    clock.advance(499)
    expect(fetches).toHaveLength(1)
    clock.advance(1)
    await answer(1, { problem: 'HTTP 500' })
    clock.advance(1_000)
    await answer(2, { problem: 'HTTP 429', retryAfterMilliseconds: 30_000 })
    clock.advance(29_999)
    await new Promise(setImmediate)
    expect(fetches).toHaveLength(3)
    clock.advance(1)
    await answer(3, { value: [listed('A/B')] })
    expect(a.reasons()).toHaveLength(2)
  })

  it('pairs that are listed by HTTP are asked for one by one when their markets come later', async () => {
    const a = new SourceListener('A/B')
    const c = new SourceListener('C/D')
    const { answer, fetches, source, requests, until } = await setUp([a])
    await answer(0, { value: [listed('A/B')] })
    source.add(c.sourceMarket)
    await answer(1, { value: [listed('C/D')] })
    expect(fetches[1]?.symbols).toEqual(['C/D'])
    await until('its requests', () => requests.length === 4)
    expect(requests.slice(2)).toEqual(['subscribe trades C/D', 'subscribe book C/D'])
  })

  it('pairs that are listed by HTTP are not given up by a process that was suspended: only time in which it ran counts', async () => {
    const a = new SourceListener('A/B')
    const { answer, clock, requests, until } = await setUp([a])
    await answer(0, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 2)
    clock.standStill(30_000)
    clock.advance(9_000)
    expect(a.reasons()).toEqual([])
    clock.advance(500)
    expect(a.reasons()).toEqual(['no snapshot of A/B within 10 s'])
  })

  it('pairs that are listed by HTTP are looked up again every five minutes: a missing pair is lost, and comes back', async () => {
    const a = new SourceListener('A/B')
    const { answer, clock, source, requests, until, say, fetches } = await setUp([a])
    await answer(0, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 2)
    say(book('A/B'))
    await a.until('a book', () => a.count('snapshot') === 1)
    clock.advance(299_999)
    await new Promise(setImmediate)
    expect(fetches).toHaveLength(1)
    clock.advance(1)
    await answer(1, { problem: 'HTTP 500' })
    expect(a.reasons()).toEqual([])
    clock.advance(500)
    expect(source.instrument(a.sourceMarket)).toEqual({ state: 'OPEN', reason: '' })
    await answer(2, { value: [listed('A/B', { status: 'BREAK', state: 'restricted' })] })
    expect(a.reasons()).toEqual([])
    expect(source.instrument(a.sourceMarket)).toEqual({ state: 'HALTED', reason: 'BREAK' })
    expect(source.notices(a.sourceMarket)).toEqual(['venue lists A/B as BREAK'])
    clock.advance(300_000)
    await answer(3, { value: [listed('A/B', { status: 'END', state: 'gone' })] })
    expect(a.reasons()).toEqual(['venue lists A/B as END'])
    expect(source.instrument(a.sourceMarket)).toEqual({ state: 'CLOSED', reason: 'END' })
    clock.advance(300_000)
    await answer(4, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 6)
    expect(requests.slice(2)).toEqual([
      'unsubscribe book A/B',
      'unsubscribe trades A/B',
      'subscribe trades A/B',
      'subscribe book A/B',
    ])
  })

  it('pairs that are listed by HTTP are requested again on every connection', async () => {
    const a = new SourceListener('A/B')
    const { answer, clock, sockets, requests, until } = await setUp([a])
    await until('a connection', () => sockets.length === 1)
    sockets[0]?.terminate()
    await a.until('the loss', () => a.count('lost') === 1)
    await answer(0, { value: [listed('A/B')] })
    expect(requests).toEqual([])
    clock.advance(500)
    await answer(1, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 2)
  })
})

describe('trades', () => {
  it('trades continue when another market reads the pair, and over connections; missing ones are fetched or counted', async () => {
    const a = new SourceListener('A/B')
    const second = new SourceListener('A/B', { symbol: 'SECOND' })
    const { answer, clock, sockets, source, requests, until, say, metric, tradeFetches } = await setUp([a])
    await answer(0, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 2)
    say(trades('A/B', 1))
    await a.until('the first', () => a.count('update') === 1)
    source.add(second.sourceMarket)
    await until('the requests', () => requests.length === 4)
    expect(requests.slice(2)).toEqual(['unsubscribe book A/B', 'subscribe book A/B'])
    say(trades('A/B', 1), trades('A/B', 2))
    await second.until('the second', () => second.count('update') === 1)
    sockets.at(-1)?.terminate()
    await a.until('the loss', () => a.reasons().some((reason) => reason.includes('1006')))
    const losses = a.count('lost')
    clock.advance(500)
    await answer(1, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 6)
    say(trades('A/B', 5))
    await until('a request for the third and fourth', () => tradeFetches.length === 1)
    expect(tradeFetches[0]).toMatchObject({ symbol: 'A/B', gap: { after: { id: 2 }, before: { id: 5 } } })
    say(book('A/B'))
    await a.until('a book', () => a.count('snapshot') === 1)
    // The connection ends before they come: what waits is dropped, and missing again behind the next one.
    sockets.at(-1)?.terminate()
    await a.until('the loss', () => a.count('lost') === losses + 1)
    tradeFetches[0]?.answer({ value: [3, 4].map(trade) })
    clock.advance(1_000)
    await answer(2, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 8)
    say(trades('A/B', 6))
    await until('a request for the third to fifth', () => tradeFetches.length === 2)
    tradeFetches[1]?.answer({ value: [4, 5].map(trade) })
    await until('a request for the third', () => tradeFetches.length === 3)
    expect(tradeFetches[2]).toMatchObject({ gap: { after: { id: 2 }, before: { id: 4 } } })
    tradeFetches[2]?.answer({ value: [3].map(trade) })
    await a.until('the sixth', () => a.count('update') === 4)
    // These cannot be had.
    say(trades('A/B', 9))
    for (let attempt = 0; attempt < 4; attempt++) {
      await until('a request for the seventh and eighth', () => tradeFetches.length === 4 + attempt)
      tradeFetches[3 + attempt]?.answer({ problem: 'HTTP 503' })
      await new Promise(setImmediate)
      clock.advance(5_000)
    }
    await a.until('the ninth', () => a.count('update') === 5)
    const kinds = a.events.map(({ type }) => type).filter((type) => type !== 'lost' && type !== 'snapshot')
    expect(kinds).toEqual(['update', 'update', 'update', 'update', 'missed', 'update'])
    expect(await metric('tidegate_feed_trades_total{venue="venue",symbol="A/B"}')).toBe('7')
    expect(await metric('tidegate_feed_missed_trades_total{venue="venue",symbol="A/B"}')).toBe('2')
    source.remove(a.sourceMarket)
    source.remove(second.sourceMarket)
    expect(await metric('tidegate_feed_trades_total{venue="venue",symbol="A/B"}')).toBeUndefined()
  })
})

describe('trades after those of another process', () => {
  const executed = (...ids: readonly number[]) =>
    ids.map((id) => ({ price: 10, amount: 100, id: String(id), executedAtMilliseconds: id, venue: 'venue' }))

  it("trades after another process's are continued: those in between are fetched, known ones are not passed on", async () => {
    const a = new SourceListener('A/B')
    const { answer, source, until, say, tradeFetches, requests } = await setUp([a])
    expect(source.resume(a.sourceMarket, executed(6, 7))).toBe(true)
    await answer(0, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 2)
    say(trades('A/B', 7), trades('A/B', 10))
    await until('a request for the eighth and ninth', () => tradeFetches.length === 1)
    expect(tradeFetches[0]).toMatchObject({
      symbol: 'A/B',
      gap: { after: { id: 7, milliseconds: 7 }, before: { id: 10 } },
    })
    tradeFetches[0]?.answer({ value: [8, 9].map(trade) })
    await a.until('the tenth', () => a.count('update') === 2)
    const ids = a.events.flatMap((event) => (event.type === 'update' ? event.executions.map(({ id }) => id) : []))
    expect(ids).toEqual(['8', '9', '10'])
    expect(a.count('missed')).toBe(0)
  })

  it("trades after another process's cannot continue without a known one, or where another market reads the pair", async () => {
    const a = new SourceListener('A/B')
    const second = new SourceListener('A/B', { symbol: 'SECOND' })
    const { answer, source, until, say, requests } = await setUp([a])
    expect(source.resume(a.sourceMarket, [])).toBe(false)
    expect(source.resume(a.sourceMarket, [{ price: 1, amount: 1 }])).toBe(false)
    expect(source.resume(a.sourceMarket, [{ price: 1, amount: 1, id: 'x' }])).toBe(false)
    await answer(0, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 2)
    say(trades('A/B', 1))
    await a.until('the first', () => a.count('update') === 1)
    expect(source.resume(a.sourceMarket, executed(1))).toBe(false)
    source.add(second.sourceMarket)
    expect(source.resume(second.sourceMarket, executed(1))).toBe(false)
  })
})

describe('the state of the whole venue', () => {
  it('a venue that is not open is named, in the metrics by its pairs', async () => {
    const a = new SourceListener('A/B')
    const { answer, source, requests, until, say, metric, sockets } = await setUp([a])
    await answer(0, { value: [listed('A/B')] })
    await until('the requests', () => requests.length === 2)
    expect(await metric('tidegate_feed_pair_live{venue="venue",symbol="A/B"}')).toBe('0')
    say({ kind: 'status', isOpen: false, status: 'maintenance' }, book('A/B'))
    await a.until('a book', () => a.count('snapshot') === 1)
    expect(source.notices(a.sourceMarket)).toEqual(['venue reports the status maintenance'])
    expect(source.instrument(a.sourceMarket)).toEqual({ state: 'HALTED', reason: 'maintenance' })
    expect(await metric('tidegate_feed_pair_live{venue="venue",symbol="A/B"}')).toBe('1')
    say({ kind: 'status', isOpen: true, status: 'online' }, book('A/B'))
    await a.until('a book', () => a.count('snapshot') === 2)
    expect(source.notices(a.sourceMarket)).toEqual([])
    expect(source.instrument(a.sourceMarket)).toEqual({ state: 'OPEN', reason: '' })
    say({ kind: 'status', isOpen: false, status: 'maintenance' })
    sockets[0]?.close()
    await a.until('the loss', () => a.count('lost') === 1)
    expect(source.notices(a.sourceMarket)).toEqual([])
    expect(source.instrument(a.sourceMarket)).toBeUndefined()
  })
})

describe('a message that cannot be read', () => {
  const setUpTwo = async () => {
    const [a, c] = [new SourceListener('A/B'), new SourceListener('C/D')]
    const set = await setUp([a, c])
    await set.answer(0, { value: [listed('A/B'), listed('C/D')] })
    await set.until('the requests', () => set.requests.length === 2)
    set.say(book('A/B'), book('C/D'))
    await c.until('a book', () => a.count('snapshot') + c.count('snapshot') === 2)
    const counted = (of: string) =>
      set.metric(`tidegate_feed_unreadable_messages_total{venue="venue",resynchronised="${of}"}`)
    return { ...set, a, c, counted }
  }

  it('a message that cannot be read resynchronises the pair that it names and no other, and is counted', async () => {
    const { a, c, say, until, requests, counted } = await setUpTwo()
    say({ kind: 'unreadable-book', symbol: 'A/B', reason: 'torn' })
    await until('the requests', () => requests.length === 4)
    expect(requests.slice(2)).toEqual(['unsubscribe book A/B', 'subscribe book A/B'])
    expect([a.reasons(), c.reasons()]).toEqual([['torn'], []])
    expect([await counted('pair'), await counted('all')]).toEqual(['1', '0'])
  })

  it('an unreadable message of trades costs no book: the next trade proves the missing ones', async () => {
    const { a, c, say, counted, until, tradeFetches } = await setUpTwo()
    say(trades('A/B', 1), { kind: 'unreadable-trades', symbol: 'A/B', reason: 'torn' }, trades('A/B', 3))
    await until('a request for the second', () => tradeFetches.length === 1)
    tradeFetches[0]?.answer({ value: [trade(2)] })
    await a.until('the third', () => a.count('update') === 3)
    expect(a.events.map(({ type }) => type)).toEqual(['snapshot', 'update', 'update', 'update'])
    expect(c.reasons()).toEqual([])
    expect(await counted('pair')).toBe('1')
  })

  it.each([
    ['names no pair', { kind: 'unreadable', reason: 'torn' }],
    ['names a pair that is not read', { kind: 'unreadable-book', symbol: 'A/C', reason: 'torn' }],
  ] satisfies [string, Message][])(
    'an unreadable message that %s may concern any pair, so the connection begins again',
    async (_, message) => {
      const { a, c, say, counted } = await setUpTwo()
      say(message)
      await c.until('the loss', () => c.count('lost') === 1)
      expect([a.reasons(), c.reasons()]).toEqual([['torn'], ['torn']])
      expect([await counted('pair'), await counted('all')]).toEqual(['0', '1'])
    },
  )
})

describe('a look at the listings without a source', () => {
  const look = async (
    changed: Partial<VenueProtocol<BookStep>>,
    serve: (socket: WebSocket) => void = () => undefined,
  ) => {
    const venue = await openVenue()
    const clock = new VirtualClock()
    const protocol = { ...venue.protocol, ...changed }
    const options = { venue: 'venue', protocol, url: venue.url, clock, log: createLog('silent') }
    const found = lookUpListings(options, ['A/B'])
    await venue.until('a question', () => venue.requests.length + venue.fetches.length > 0)
    for (const socket of venue.sockets) serve(socket)
    return { ...venue, clock, found }
  }
  const onConnection = { listings: { requests: () => [{ ask: 'list' }] } }
  const list = (isComplete: boolean): Message => {
    return { kind: 'listings', isComplete, listings: [listed('A/B'), listed('C/D')] }
  }

  it('a listing query without a source uses a connection of its own, and leaves none', async () => {
    const { found, sockets, requests } = await look(onConnection, (socket) => socket.send(JSON.stringify(list(true))))
    expect(await found).toEqual({ value: [listed('A/B')] })
    expect(requests).toEqual(['list'])
    if (sockets[0]?.readyState !== 3) await once(sockets[0] as WebSocket, 'close')
  })

  it('a listing query waits for the whole list, unless the venue never marks it complete', async () => {
    const text = JSON.stringify(list(false))
    const first = await look({ listings: { ...onConnection.listings, isFirstComplete: true } }, (one) => one.send(text))
    expect(await first.found).toEqual({ value: [listed('A/B')] })
    const second = await look(onConnection, (socket) => socket.send(text))
    await second.until('the question', () => second.requests.length === 1)
    second.clock.advance(60_000)
    expect(await second.found).toHaveProperty('problem')
  })

  it.each([
    ['ends the connection', (socket: WebSocket) => socket.close(1013), 'the connection was closed with code 1013'],
    ['refuses', (socket: WebSocket) => socket.send(JSON.stringify({ kind: 'refused', reason: 'not you' })), 'not you'],
  ])('a listing query is a problem when the venue %s', async (_name, serve, problem) => {
    expect(await (await look(onConnection, serve)).found).toEqual({ problem })
  })

  it('a listing query uses HTTP where the venue lists its pairs that way', async () => {
    const { found, fetches } = await look({})
    fetches[0]?.answer({ value: [listed('A/B'), listed('C/D')] })
    expect(await found).toEqual({ value: [listed('A/B')] })
    expect(fetches[0]?.symbols).toEqual(['A/B'])
  })
})
