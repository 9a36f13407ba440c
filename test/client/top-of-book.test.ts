/**
 * The best prices of the client: what they show and check, what loops over them get, and how overlapping reads are
 * answered.
 */
import { describe, expect, it } from 'vitest'
import {
  StreamClient,
  type StreamEvent,
  type TopOfBook,
  type TopOfBookOptions,
} from '../../packages/client/src/index.ts'
import { CREDENTIALS, FakePlatform, type FakeSocket, settled } from '../support/client-platform.ts'
import { nanosecondTime, top } from '../support/wire.ts'

const M = 'BTCUSD'
const CHANNEL = 'market_data.top_of_book'

interface Opened {
  readonly platform: FakePlatform
  readonly socket: FakeSocket
  readonly client: StreamClient
  readonly top: TopOfBook
  readonly events: StreamEvent[]
}

/** With the cursor of a message of `tidegate.v1`. */
function at(number: number, message: object, prev = number === 1 ? undefined : `t${number - 1}`): object {
  return { ...message, stream: { cursor: `t${number}`, ...(prev === undefined ? {} : { prev }), covers: 1 } }
}

async function open(options: TopOfBookOptions = {}, protocol = 'tidegate.v1'): Promise<Opened> {
  const platform = new FakePlatform()
  const events: StreamEvent[] = []
  const client = new StreamClient({ credentials: CREDENTIALS, onEvent: (event) => events.push(event) }, platform)
  const opening = client.topOfBook(M, options)
  await settled()
  const socket = platform.socketNow
  socket.open(protocol)
  await settled()
  socket.acknowledge()
  const first = top(M, 1, ['100.00', '1.5000'], ['100.50', '1.0000'])
  socket.receive(protocol === 'tidegate.v1' ? at(1, first) : first)
  return { platform, socket, client, top: await opening, events }
}

describe('the top of a book', () => {
  it("a book's top shows the best prices, exactly, and requests an interval where the service has one", async () => {
    const { socket, top: prices } = await open({ interval: 100 })
    expect(socket.requests[0]?.channels[1]).toEqual({ type: CHANNEL, params: { market: M, interval_ms: 100 } })
    expect(prices).toMatchObject({ market: M, status: 'LIVE', time: nanosecondTime(1) })
    expect(prices.bestBid).toMatchObject({ price: '100.00', amount: '1.5000', scaledPrice: 10_000n })
    socket.receive(at(2, top(M, 2, ['100.25', '2.0000'], undefined)))
    expect([prices.bestBid?.price, prices.bestAsk]).toEqual(['100.25', undefined])
    const base = await open({ interval: 100 }, 'tidegate.default')
    expect(base.socket.requests[0]?.channels[1]).toEqual({ type: CHANNEL, params: { market: M } })
    expect(base.top.bestAsk?.price).toBe('100.50')
  })

  it("a book's top is STALE while the service shows it empty", async () => {
    const { socket, top: prices } = await open()
    socket.receive(at(2, top(M, 2, undefined, undefined)))
    expect(prices.status).toBe('STALE')
    socket.receive(at(3, top(M, 3, ['100.00', '1.5000'], undefined)))
    expect(prices.status).toBe('LIVE')
  })

  it("a book's top continues after a withdrawal with a message that has no predecessor", async () => {
    const { socket, top: prices, events } = await open()
    socket.receive(at(2, top(M, 2, undefined, undefined)))
    socket.receive({ ...top(M, 3, ['100.00', '1.5000'], undefined), stream: { cursor: 'other.1', covers: 0 } })
    expect(prices).toMatchObject({ status: 'LIVE', bestBid: { price: '100.00' } })
    expect(events.filter(({ type }) => type === 'RESYNC')).toEqual([])
  })

  it.each([
    ['a time does not increase', at(2, top(M, 1, ['100.00', '1.0000'], undefined))],
    ['a message is missing', at(3, top(M, 3, ['100.00', '1.0000'], undefined))],
    ['bids and asks cross', at(2, top(M, 2, ['100.50', '1.0000'], ['100.50', '1.0000']))],
    ['decimals differ', at(2, top(M, 2, ['100.0', '1.0000'], ['100.50', '1.0000']))],
  ])("a book's top begins again when %s", async (_name, message) => {
    const { platform, socket, top: prices, events } = await open()
    socket.receive(message)
    expect(prices).toMatchObject({ status: 'RESYNCING', bestBid: undefined, bestAsk: undefined })
    expect(events.at(-1)).toMatchObject({ type: 'RESYNC', market: M })
    await platform.pass(0)
    const entry = { type: CHANNEL, params: { market: M } }
    expect(socket.requests.slice(1)).toEqual([
      { type: 'unsubscribe', channels: [entry] },
      { type: 'subscribe', channels: [entry] },
    ])
    socket.receive({ type: 'unsubscribe', channels: [{ ...entry, success: true }] })
    socket.receive({ type: 'subscribe', channels: [{ ...entry, success: true }] })
    socket.receive(at(1, top(M, 9, ['90.00', '1.0000'], undefined)))
    expect(prices).toMatchObject({ status: 'LIVE', bestBid: { price: '90.00' } })
  })

  it("a book's top ends the connection when a side has more than one level", async () => {
    const { socket } = await open()
    const [bid] = [{ price: '1.00', amount: '1.0000' }]
    const payload = { market: M, type: 'TOP_OF_BOOK', timestamp: nanosecondTime(2), bids: [bid, bid], asks: [] }
    socket.receive({ channel: CHANNEL, payload })
    expect(socket.isClosed).toBe(true)
  })

  it("a book's top is the first one over a new connection, also an earlier one", async () => {
    const { platform, socket, top: prices } = await open()
    socket.end(1012, 'restarting')
    await settled()
    expect(prices).toMatchObject({ status: 'RESYNCING', bestBid: { price: '100.00' } })
    await platform.pass(1_000)
    const next = platform.socketNow
    next.open()
    await settled()
    expect(next.requests[0]?.channels[1]).toEqual({ type: CHANNEL, params: { market: M } })
    next.acknowledge()
    expect(prices.status).toBe('RESYNCING')
    next.receive(at(7, top(M, 0, ['99.00', '1.0000'], undefined), 't6'))
    expect(prices).toMatchObject({ status: 'LIVE', bestBid: { price: '99.00' }, bestAsk: undefined })
  })

  it("a book's top begins again where another node writes the market, without a predecessor", async () => {
    const { socket, top: prices } = await open()
    socket.receive({ ...top(M, 2, ['99.00', '1.0000'], undefined), stream: { cursor: 'other.1', covers: 0 } })
    expect(prices).toMatchObject({ status: 'LIVE', bestBid: { price: '99.00' } })
  })
})

describe('a loop over the top of a book', () => {
  it("a loop over a book's top gets the current one first, then each change, and the latest when it is slow", async () => {
    const { socket, top: prices } = await open()
    const loop = prices[Symbol.asyncIterator]()
    expect((await loop.next()).value).toMatchObject({ status: 'LIVE', bestBid: { price: '100.00' } })
    const waiting = loop.next()
    socket.receive(at(2, top(M, 2, ['100.10', '1.0000'], undefined)))
    expect((await waiting).value).toMatchObject({ bestBid: { price: '100.10' }, time: nanosecondTime(2) })
    for (let number = 3; number < 1_000; number++)
      socket.receive(at(number, top(M, number, [`${100 + number}.00`, '1.0000'], undefined)))
    expect((await loop.next()).value).toMatchObject({ bestBid: { price: '1099.00' } })
    socket.end(1006)
    await settled()
    expect((await loop.next()).value).toMatchObject({ status: 'RESYNCING', bestBid: { price: '1099.00' } })
  })

  it("a loop over a book's top answers reads that overlap in their order", async () => {
    const { socket, top: prices } = await open()
    const loop = prices[Symbol.asyncIterator]()
    const reads = Promise.all([loop.next(), loop.next(), loop.next()])
    await settled()
    socket.receive(at(2, top(M, 2, ['100.10', '1.0000'], undefined)))
    await settled()
    prices.close()
    const [first, second, third] = await reads
    expect([first.value?.bestBid?.price, second.value?.bestBid?.price]).toEqual(['100.00', '100.10'])
    expect(third).toEqual({ done: true, value: undefined })
  })

  it("a loop over a book's top ends with it, or throws the reason of the signal", async () => {
    const stop = new AbortController()
    const { top: prices, socket } = await open({ signal: stop.signal })
    const loop = prices[Symbol.asyncIterator]()
    await loop.next()
    const waiting = loop.next()
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(await loop.next()).toEqual({ done: true, value: undefined })
    expect(prices.status).toBe('CLOSED')
    expect(socket.requests.at(-1)).toEqual({
      type: 'unsubscribe',
      channels: [{ type: CHANNEL, params: { market: M } }],
    })
  })
})
