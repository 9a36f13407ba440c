/** Plans on the stream: what is denied, what is served in its place, and how open connections follow a change. */
import { describe, expect, it } from 'vitest'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { digestOf } from '../../support/extended-verifier.ts'
import { deepBook, type LiveClient, type Message, rebuild } from './live-stream.ts'
import { PlannedStream } from './planned-stream.ts'

const subscribeTo = (...channels: object[]) => ({ type: 'subscribe', channels })
const book = (params: object = {}) => ({ type: 'market_data', params: { market: 'AAAUSD', ...params } })
const top = (params: object = {}) => ({ type: 'market_data.top_of_book', params: { market: 'AAAUSD', ...params } })
const messagesOf = (texts: readonly string[]) => texts.map((text) => JSON.parse(text) as Message)
const entriesOf = (texts: readonly string[]) => messagesOf(texts)[0]?.channels ?? []
const booksOf = (messages: readonly Message[]) => messages.filter(({ channel }) => channel === 'market_data')

function sizesOf(held: ReadonlyMap<string, string>): [bids: number, asks: number] {
  const bids = [...held.keys()].filter((price) => Number(price) < 100_000).length
  return [bids, held.size - bids]
}

/** Follows a client's book over everything that it is sent. */
function follow(client: LiveClient, first: readonly string[]) {
  const held = rebuild(messagesOf(first))
  return {
    held,
    read: () => {
      const messages = client.readMessages()
      for (const { payload } of booksOf(messages)) {
        if (payload.type === 'SNAPSHOT') continue
        for (const { price, amount } of [...(payload.bids ?? []), ...(payload.asks ?? [])]) {
          expect(amount === '0' ? held.has(price) : held.get(price) !== amount, `${price} ${amount}`).toBe(true)
          rebuild([{ channel: 'market_data', payload: { market: '', bids: [{ price, amount }] } }], held)
        }
      }
      return messages
    },
  }
}

describe('a plan', () => {
  it('a plan denies markets and channels per entry, with its limit, and never the heartbeat', () => {
    const stream = new PlannedStream({ markets: ['AAAUSD', 'BBBUSD'] })
    stream.plan({ markets: new Set(['AAAUSD']), channels: new Set(['market_data']) })
    const [first, second, third, fourth] = entriesOf(
      stream
        .connect()
        .ask(subscribeTo(book(), { type: 'market_data', params: { market: 'BBBUSD' } }, top(), { type: 'heartbeat' })),
    )
    const code = 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'
    expect(first).toEqual({ ...book(), success: true })
    expect(second).toMatchObject({ error: code, message: 'the plan the-customers does not include the market BBBUSD' })
    expect(third).toMatchObject({
      error: code,
      message: 'the plan the-customers does not include the channel market_data.top_of_book',
    })
    expect(fourth).toEqual({ type: 'heartbeat', success: true })
  })

  it('the error for an unknown market lists the markets of the plan', () => {
    const unknown = { type: 'market_data', params: { market: 'NOTUSD' } }
    const stream = new PlannedStream({ markets: ['AAAUSD', 'BBBUSD'] })
    const client = stream.connect()
    const listed = () => entriesOf(client.ask(subscribeTo(unknown)))[0]?.message
    expect(listed()).toBe('params.market names no market: "NOTUSD"; the markets are AAAUSD, BBBUSD')
    stream.plan({ markets: new Set(['AAAUSD', 'BBBUSD']) }, { markets: new Set(['BBBUSD', 'CCCUSD']) })
    expect(listed()).toBe('params.market names no market: "NOTUSD"; the markets are BBBUSD')
    stream.plan({ markets: new Set(['CCCUSD']) })
    expect(listed()).toBe('params.market names no market: "NOTUSD"; the plan includes no market on this node')
  })

  it('a client’s own plan narrows its customer’s', () => {
    const stream = new PlannedStream({ markets: ['AAAUSD', 'BBBUSD'] })
    stream.plan({ depthMax: 25 }, { markets: new Set(['BBBUSD']), depthMax: 100 })
    const market = 'BBBUSD'
    const answer = stream.connect({ subprotocol: 'tidegate.v1' }).ask(subscribeTo(book(), book({ market })))
    expect(entriesOf(answer)).toMatchObject([
      { message: 'the plan the-clients does not include the market AAAUSD' },
      { success: true, served: { depth: 25 } },
    ])
  })

  it.each(['', 'tidegate.v1'])('a plan’s depth bounds books with the protocol %j', (subprotocol) => {
    const stream = new PlannedStream()
    stream.plan({ depthMax: 5 })
    stream.snapshot(deepBook(30, 10))
    const client = stream.connect({ subprotocol })
    const answer = client.ask(subscribeTo(book()))
    expect(entriesOf(answer)).toEqual([
      { ...book(), success: true, ...(subprotocol === '' ? {} : { served: { depth: 5 } }) },
    ])
    const { held, read } = follow(client, answer)
    expect(sizesOf(held)).toEqual([5, 5])
    stream.update([{ side: BID, price: 9_999_999, amount: 7 }])
    read()
    expect(sizesOf(held)).toEqual([5, 5])
    stream.update([{ side: BID, price: 9_000_000, amount: 7 }])
    expect(booksOf(read())).toEqual([])
  })

  it('a plan serves a requested depth and interval within its bounds as they are', () => {
    const stream = new PlannedStream()
    stream.plan({ depthMax: 10, intervalMillisecondsMin: 100 })
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    const answer = client.ask(subscribeTo(book({ depth: 5, interval_ms: 250 }), top({ interval_ms: 50 })))
    expect(entriesOf(answer)).toEqual([
      { ...book({ depth: 5, interval_ms: 250 }), success: true },
      { ...top({ interval_ms: 50 }), success: true, served: { interval_ms: 100 } },
    ])
  })

  it.each(['', 'tidegate.v1'])('a plan’s interval conflates books and tops with the protocol %j', (subprotocol) => {
    const stream = new PlannedStream()
    stream.plan({ intervalMillisecondsMin: 500 })
    stream.snapshot(deepBook(3, 10))
    const client = stream.connect({ subprotocol })
    const { held, read } = follow(client, client.ask(subscribeTo(book(), top())))
    stream.clock.advance(1_000)
    read()
    for (let step = 1; step <= 100; step++) {
      stream.update([{ side: BID, price: 9_999_999, amount: step }])
      stream.clock.advance(8)
    }
    const messages = read()
    expect(messages.length).toBeGreaterThanOrEqual(4)
    expect(messages.length).toBeLessThanOrEqual(6)
    stream.clock.advance(500)
    read()
    expect(held.get('99999.99')).toBe('0.0100')
  })

  it('a plan with a bound on books does not include publications', () => {
    const stream = new PlannedStream()
    stream.plan({ depthMax: 1000 })
    const answer = stream
      .connect({ subprotocol: 'tidegate.v1' })
      .ask(subscribeTo({ type: 'publication', params: { market: 'AAAUSD' } }))
    expect(entriesOf(answer)).toMatchObject([
      { message: 'the plan the-customers has depth_max 1000, so it does not include the channel publication' },
    ])
  })

  it('subscriptions count per customer over its connections, without heartbeats', () => {
    const stream = new PlannedStream()
    stream.plan({ subscriptionsMax: 2 })
    const [one, two] = [
      { customerId: 'customer', clientId: 'one' },
      { customerId: 'customer', clientId: 'two' },
    ].map((token) => stream.connect({ clientId: token.clientId, token })) as [LiveClient, LiveClient]
    expect(entriesOf(one.ask(subscribeTo({ type: 'heartbeat' }, book())))).toMatchObject([
      { success: true },
      { success: true },
    ])
    const limit = 'the limit of 2 subscriptions of a customer in the plan the-customers is reached'
    const answer = entriesOf(two.ask(subscribeTo(book(), top())))
    expect(answer).toMatchObject([{ success: true }, { error: 'NO_EFFECT_ACTION', message: limit }])
    one.ask({ type: 'unsubscribe', channels: [book()] })
    expect(entriesOf(two.ask(subscribeTo(top())))).toMatchObject([{ success: true }])
    two.session.close('operator')
    expect(entriesOf(one.ask(subscribeTo(book(), top())))).toMatchObject([{ success: true }, { success: true }])
  })
})

describe('a changed plan', () => {
  it('a changed plan ends the subscriptions that it no longer includes, with a message, and no connection', () => {
    const stream = new PlannedStream({ markets: ['AAAUSD', 'BBBUSD'] })
    for (const market of ['AAAUSD', 'BBBUSD']) stream.snapshot(deepBook(3, 10), market)
    const client = stream.connect()
    client.ask(subscribeTo(book(), book({ market: 'BBBUSD' }), top(), { type: 'heartbeat' }))
    stream.plan({ markets: new Set(['AAAUSD']), channels: new Set(['market_data']) })
    const notices = client.readMessages().filter(({ type }) => type === 'unsubscribe')
    expect(notices).toEqual([
      {
        type: 'unsubscribe',
        channels: [
          {
            ...book({ market: 'BBBUSD' }),
            success: true,
            message: 'the plan the-customers does not include the market BBBUSD',
          },
          {
            ...top(),
            success: true,
            message: 'the plan the-customers does not include the channel market_data.top_of_book',
          },
        ],
      },
    ])
    stream.update([{ side: BID, price: 9_999_999, amount: 1 }], [], 'BBBUSD')
    stream.update([{ side: BID, price: 9_999_999, amount: 1 }])
    expect(client.readMessages().map(({ channel, payload }) => [channel, payload.market])).toEqual([
      ['market_data', 'AAAUSD'],
    ])
    stream.plan({ markets: new Set(['CCCUSD']) })
    client.readMessages()
    expect([client.session.isOpen, client.session.subscriptionCount]).toEqual([true, 1])
  })

  it.each(['', 'tidegate.v1'])('a tighter depth is one UPDATE that removes levels, with %j', (subprotocol) => {
    const stream = new PlannedStream()
    stream.snapshot(deepBook(30, 10))
    const client = stream.connect({ subprotocol })
    const answer = client.ask(subscribeTo(book()))
    const { held, read } = follow(client, answer)
    const last = booksOf(messagesOf(answer)).at(-1)
    stream.plan({ depthMax: 10 })
    stream.clock.advance(2)
    const [update, ...more] = booksOf(read())
    expect(more).toEqual([])
    expect(update?.payload.type).toBe('UPDATE')
    expect(update?.payload.bids?.map(({ amount }) => amount)).toEqual(Array.from({ length: 20 }, () => '0'))
    expect((update?.payload.time ?? '') > (last?.payload.time ?? '')).toBe(true)
    expect(sizesOf(held)).toEqual([10, 10])
    expect(update?.stream?.prev).toBe(last?.stream?.cursor)
    stream.update([{ side: ASK, price: 10_000_001, amount: 99 }])
    const next = booksOf(read()).at(-1)
    expect(sizesOf(held)).toEqual([10, 10])
    expect(next?.stream?.prev).toBe(update?.stream?.cursor)
    stream.plan({ depthMax: 25 })
    stream.clock.advance(2)
    expect(booksOf(read()).map(({ payload }) => payload.type)).toEqual(['UPDATE'])
    expect(sizesOf(held)).toEqual([25, 25])
    stream.plan()
    stream.clock.advance(2)
    read()
    expect(sizesOf(held)).toEqual([30, 30])
  })

  it('a tighter depth of a subscriber that does not read is one UPDATE when it reads again', () => {
    const stream = new PlannedStream({ settings: { outboxBytesMax: 2_000 } })
    stream.snapshot(deepBook(30, 10))
    const client = stream.connect({ kernelBytes: 500, subprotocol: 'tidegate.v1' })
    const { held, read } = follow(client, client.ask(subscribeTo(book())))
    for (let step = 1; step <= 200; step++) stream.update([{ side: BID, price: 9_999_980, amount: step }])
    stream.plan({ depthMax: 5 })
    for (let step = 1; step <= 50; step++) stream.update([{ side: BID, price: 9_999_999, amount: step }])
    read()
    stream.clock.advance(2)
    read()
    expect(sizesOf(held)).toEqual([5, 5])
    expect(held.get('99999.99')).toBe('0.0050')
  })

  it('a depth that changes nothing is served from the next change on, with an unbroken chain of cursors', () => {
    const stream = new PlannedStream()
    stream.snapshot(deepBook(5, 10))
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    const answer = client.ask(subscribeTo(book(), { type: 'heartbeat' }))
    const { held, read } = follow(client, answer)
    stream.plan({ depthMax: 25 })
    stream.clock.advance(2)
    expect(booksOf(read())).toEqual([])
    stream.update([{ side: BID, price: 9_999_999, amount: 3 }])
    const [update] = booksOf(read())
    expect(update?.stream?.prev).toBe(booksOf(messagesOf(answer)).at(-1)?.stream?.cursor)
    stream.clock.advance(10_000)
    const heartbeat = read().at(-1) as { payload: { books?: { cursor: string; digest: string }[] } } | undefined
    const [bids, asks] = [new Map<string, string>(), new Map<string, string>()]
    for (const [price, amount] of held) (Number(price) < 100_000 ? bids : asks).set(price, amount)
    expect(heartbeat?.payload.books?.[0]).toMatchObject({
      cursor: update?.stream?.cursor,
      digest: digestOf({ bids, asks }),
    })
  })

  it('a changed interval needs no message, and loses none', () => {
    const stream = new PlannedStream()
    stream.snapshot(deepBook(5, 10))
    const client = stream.connect()
    const { held, read } = follow(client, client.ask(subscribeTo(book())))
    const change = (amount: number) => stream.update([{ side: BID, price: 9_999_999, amount }])
    for (const plan of [{ intervalMillisecondsMin: 1_000 as const }, { intervalMillisecondsMin: 100 }, {}]) {
      stream.plan(plan)
      expect(booksOf(read())).toEqual([])
      change(1 + (plan.intervalMillisecondsMin ?? 0))
      stream.clock.advance(1_000)
      read()
      expect(held.get('99999.99')).toBe(((1 + (plan.intervalMillisecondsMin ?? 0)) / 10_000).toFixed(4))
    }
    change(5)
    expect(booksOf(read())).toHaveLength(1)
  })

  it('a book whose depth tightens while no source is live is bounded too', () => {
    const stream = new PlannedStream({ settings: { staleSeconds: 0 } })
    stream.snapshot(deepBook(30, 10))
    const client = stream.connect()
    const { held, read } = follow(client, client.ask(subscribeTo(book())))
    stream.lose()
    stream.plan({ depthMax: 5 })
    stream.clock.advance(1_000)
    read()
    expect(sizesOf(held)).toEqual([5, 5])
  })
})
