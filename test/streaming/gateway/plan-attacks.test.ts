/** Clients that try to get more than their plan: what is on the wire, from the frames. */
import { describe, expect, it } from 'vitest'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { ReceiptSigner } from '../../../src/streaming/sequencing/receipt-signer.ts'
import { digestOf } from '../../support/extended-verifier.ts'
import { newReceiptIssuer, partsOf } from '../../support/receipts.ts'
import { deepBook, type LiveClient, type Message, rebuild } from './live-stream.ts'
import { PlannedStream } from './planned-stream.ts'

const EXTENDED = { subprotocol: 'tidegate.v1' }
const BOOK = 'market_data'
const TOP = 'market_data.top_of_book'

const entry = (type: string, params: object = {}) => ({ type, params: { market: 'AAAUSD', ...params } })
const subscribeTo = (...channels: object[]) => ({ type: 'subscribe', channels })
const unsubscribeFrom = (...channels: object[]) => ({ type: 'unsubscribe', channels })
const messagesOf = (texts: readonly string[]) => texts.map((text) => JSON.parse(text) as Message)
const dataOf = (messages: readonly Message[], type = BOOK) => messages.filter(({ channel }) => channel === type)

function bookOf(held: ReadonlyMap<string, string>) {
  const [bids, asks] = [new Map<string, string>(), new Map<string, string>()]
  for (const [price, amount] of held) (Number(price) < 100_000 ? bids : asks).set(price, amount)
  return { bids, asks }
}

/** Applies messages one by one, none of which may lead beyond the depth. */
function expectWithin(messages: readonly Message[], depth: number, held = new Map<string, string>()) {
  for (const message of dataOf(messages)) {
    const { bids, asks } = bookOf(rebuild([message], held))
    expect(bids.size).toBeLessThanOrEqual(depth)
    expect(asks.size).toBeLessThanOrEqual(depth)
  }
  return held
}

const moves = (step: number) =>
  [
    { side: BID, price: 9_999_999, amount: step },
    { side: ASK, price: 10_000_030, amount: step },
  ] as const

describe('a plan with an interval', () => {
  it.each([
    ['', BOOK],
    ['', TOP],
    ['tidegate.v1', BOOK],
    ['tidegate.v1', TOP],
  ])('subscribing again and again brings no more than one message per interval, with %j in %s', (subprotocol, type) => {
    const stream = new PlannedStream()
    stream.plan({ intervalMillisecondsMin: 1_000 })
    stream.snapshot(deepBook(30, 10))
    const client = stream.connect({ subprotocol })
    const messages = dataOf(messagesOf(client.ask(subscribeTo(entry(type)))), type)
    const begin = stream.clock.monotonicMilliseconds()
    for (let step = 1; step <= 400; step++) {
      stream.update(moves(step))
      const resume = messages.at(-1)?.stream?.cursor
      client.receive(unsubscribeFrom(entry(type)))
      client.receive(subscribeTo(entry(type, resume === undefined ? {} : { resume })))
      stream.clock.advance(48)
      messages.push(...dataOf(client.readMessages(), type))
    }
    const intervals = (stream.clock.monotonicMilliseconds() - begin) / 1_000
    expect(intervals).toBeGreaterThan(10)
    expect(messages.length).toBeLessThanOrEqual(intervals + 2)
    expect(messages.length).toBeGreaterThan(intervals - 2)
  })

  it('a subscription that waits for the next interval ends with the plan, and another one begins at once', () => {
    const stream = new PlannedStream({ markets: ['AAAUSD', 'BBBUSD'] })
    const interval = { intervalMillisecondsMin: 1_000 }
    stream.plan(interval)
    for (const market of ['AAAUSD', 'BBBUSD']) stream.snapshot(deepBook(3, 10), market)
    const client = stream.connect()
    client.ask(subscribeTo(entry(BOOK)))
    client.ask(unsubscribeFrom(entry(BOOK)))
    const waiting = messagesOf(client.ask(subscribeTo(entry(BOOK), entry(BOOK, { market: 'BBBUSD' }))))
    expect(dataOf(waiting).map(({ payload }) => payload.market)).toEqual(['BBBUSD'])
    stream.plan({ ...interval, markets: new Set(['BBBUSD']) })
    expect(client.readMessages().map(({ type }) => type)).toEqual(['unsubscribe'])
    stream.clock.advance(3_000)
    expect(dataOf(client.readMessages())).toEqual([])
    client.ask(unsubscribeFrom(entry(BOOK, { market: 'BBBUSD' })))
    client.ask(subscribeTo(entry(BOOK, { market: 'BBBUSD' })))
    client.session.close('operator')
    stream.clock.advance(3_000)
    expect(dataOf(client.readMessages())).toEqual([])
  })
})

describe('a plan with a depth', () => {
  it.each([
    ['the same depth', { depth: 25 }],
    ['no depth', {}],
    ['the plan’s depth', { depth: 5 }],
  ])('a cursor of a deeper view resumes nothing beyond a downgrade, with %s', (_, params) => {
    const stream = new PlannedStream()
    stream.snapshot(deepBook(30, 10))
    const before = stream.connect(EXTENDED)
    const resume = dataOf(messagesOf(before.ask(subscribeTo(entry(BOOK, { depth: 25 })))))[0]?.stream?.cursor
    before.session.close('operator')
    stream.plan({ depthMax: 5 })
    stream.update(moves(1))
    const client = stream.connect(EXTENDED)
    const first = messagesOf(client.ask(subscribeTo(entry(BOOK, { ...params, resume }))))
    expect(dataOf(first)[0]?.payload.type).toBe('SNAPSHOT')
    const held = expectWithin(first, 5)
    for (let step = 2; step < 20; step++) {
      stream.update(moves(step))
      expectWithin(client.readMessages(), 5, held)
    }
  })

  it('requests in the tick of a downgrade are served within it', () => {
    const stream = new PlannedStream()
    stream.snapshot(deepBook(30, 10))
    const client = stream.connect(EXTENDED)
    const held = expectWithin(messagesOf(client.ask(subscribeTo(entry(BOOK)))), 30)
    client.receive(unsubscribeFrom(entry(BOOK)))
    client.receive(subscribeTo(entry(BOOK, { depth: 25, attribution: true })))
    stream.offer(moves(1))
    stream.plan({ depthMax: 5 })
    client.receive(subscribeTo(entry('publication')))
    const [, again, ...rest] = client.readMessages()
    expect(again?.channels).toMatchObject([{ success: true }])
    const denied = rest.find(({ type }) => type === 'subscribe')
    expect(denied?.channels).toMatchObject([{ error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION' }])
    held.clear()
    stream.update(moves(2))
    const all = [...rest, ...client.readMessages()]
    expect(
      dataOf(all)
        .at(-1)
        ?.payload.bids?.every((level) => 'venues' in level),
    ).toBe(true)
    rebuild(all, held)
    const { bids, asks } = bookOf(held)
    expect([bids.size, asks.size]).toEqual([5, 5])
  })

  it('a downgrade ends a publication, after which the connection gets no frame of it', () => {
    const stream = new PlannedStream()
    stream.snapshot(deepBook(30, 10))
    const client = stream.connect(EXTENDED)
    expect(dataOf(messagesOf(client.ask(subscribeTo(entry('publication')))), 'publication')).toHaveLength(1)
    stream.offer(moves(1))
    stream.plan({ depthMax: 5 })
    const [notice, ...rest] = client.readMessages()
    expect([notice?.type, rest]).toEqual(['unsubscribe', []])
    stream.update(moves(2))
    expect(client.read()).toEqual([])
  })

  it('after a downgrade, heartbeats and receipts are of the plan’s view alone', () => {
    const issuer = newReceiptIssuer()
    const stream = new PlannedStream({
      settings: { heartbeatSeconds: 1 },
      receipts: (clock) => new ReceiptSigner({ clock, current: () => issuer, onSigned: () => undefined }),
    })
    stream.snapshot(deepBook(30, 10))
    const other = stream.connect({ ...EXTENDED, name: 'other' })
    other.ask(subscribeTo(entry(BOOK), { type: 'heartbeat' }))
    const client = stream.connect(EXTENDED)
    const held = rebuild(messagesOf(client.ask(subscribeTo(entry(BOOK, { depth: 25 }), { type: 'heartbeat' }))))
    const second = (step: number) => {
      stream.update(moves(step))
      stream.clock.advance(1_000)
      return client.readMessages()
    }
    for (let step = 1; step <= 3; step++) rebuild(second(step), held)
    stream.plan({ depthMax: 5 })
    const [update, ...others] = dataOf(client.readMessages())
    rebuild([update as Message], held)
    expect(others).toEqual([])
    const found = checkStatuses(client, [4, 5, 6, 7, 8].flatMap(second), held)
    expect(found).toBeGreaterThan(2)
  })
})

/** Every heartbeat names the book that the client held then, and its receipts have 5 levels. Returns their number. */
function checkStatuses(client: LiveClient, messages: readonly Message[], held: Map<string, string>): number {
  let receipts = 0
  for (const message of [...messages, ...client.readMessages()]) {
    if (message.channel !== 'heartbeat') {
      expectWithin([message], 5, held)
      continue
    }
    const { books } = message.payload as unknown as { books: { digest: string; receipts?: string[] }[] }
    for (const { digest, receipts: texts = [] } of books) {
      expect(digest).toBe(digestOf(bookOf(held)))
      for (const text of texts) expect(partsOf(text).payload).toMatchObject({ depth: 5 })
      receipts += texts.length
    }
  }
  return receipts
}
