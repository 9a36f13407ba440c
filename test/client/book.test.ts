/** The book of the client: what it shows, what it checks, how it repairs itself, and what loops over it get. */
import { describe, expect, it } from 'vitest'
import type { Book, BookChange, BookOptions } from '../../packages/client/src/index.ts'
import { StreamClient, type StreamEvent } from '../../packages/client/src/index.ts'
import { CREDENTIALS, FakePlatform, type FakeSocket, settled } from '../support/client-platform.ts'
import { digestOf } from '../support/extended-verifier.ts'
import { bookTime, nanosecondTime, snapshot, update } from '../support/wire.ts'

const M = 'BTCUSD'
type Pair = readonly [price: string, amount: string]

const BIDS: readonly Pair[] = [
  ['100.00', '1.5000'],
  ['99.00', '2.0000'],
]
const ASKS: readonly Pair[] = [
  ['100.50', '1.0000'],
  ['102.00', '3.0000'],
]

interface Opened {
  readonly platform: FakePlatform
  readonly socket: FakeSocket
  readonly client: StreamClient
  readonly book: Book
  readonly events: StreamEvent[]
}

/** With the cursor of a message of `tidegate.v1`; `c1` has no predecessor, `c2` follows it, and so on. */
function at(number: number, message: object, prev = number === 1 ? undefined : `c${number - 1}`): object {
  return { ...message, stream: { cursor: `c${number}`, ...(prev === undefined ? {} : { prev }), covers: 1 } }
}

/** A client whose book has received the SNAPSHOT of BIDS and ASKS as `c1`. */
async function open(options: BookOptions = {}, protocol = 'tidegate.v1'): Promise<Opened> {
  const platform = new FakePlatform()
  const events: StreamEvent[] = []
  const client = new StreamClient({ credentials: CREDENTIALS, onEvent: (event) => events.push(event) }, platform)
  const opening = client.book(M, options)
  await settled()
  const socket = platform.socketNow
  socket.open(protocol)
  await settled()
  socket.acknowledge()
  const first = snapshot(M, 1, BIDS, ASKS)
  socket.receive(protocol === 'tidegate.v1' ? at(1, first) : first)
  return { platform, socket, client, book: await opening, events }
}

function pairs(levels: readonly { price: string; amount: string }[]): Pair[] {
  return levels.map(({ price, amount }) => [price, amount])
}

/** The changes that remove these levels. */
function removed(levels: readonly Pair[]): Pair[] {
  return levels.map(([price]) => [price, '0'])
}

function heartbeatOf(books: readonly object[], milliseconds = 5): object {
  return { channel: 'heartbeat', payload: { timestamp: nanosecondTime(milliseconds), books } }
}

describe('a book', () => {
  it('a book shows levels, best prices, exact texts and exact integers', async () => {
    const { socket, book } = await open()
    expect(pairs(book.bids())).toEqual(BIDS)
    expect(pairs(book.asks(1))).toEqual([['100.50', '1.0000']])
    socket.receive(at(2, update(M, 2, [['100.25', '0.0001']], [['100.50', '0']])))
    expect(pairs(book.bids(2))).toEqual([
      ['100.25', '0.0001'],
      ['100.00', '1.5000'],
    ])
    expect(book.bestBid).toMatchObject({ price: '100.25', scaledPrice: 10_025n, scaledAmount: 1n })
    expect(book.bestAsk?.price).toBe('102.00')
    expect(book).toMatchObject({ status: 'LIVE', time: bookTime(2), priceDecimals: 2, amountDecimals: 4 })
  })

  it('a book sorts prices of different lengths', async () => {
    const { socket, book } = await open()
    const bids: Pair[] = ['1000.00', '999.99', '20.00', '3.00', '0.50'].map((price) => [price, '1.0000'])
    const asks: Pair[] = ['1000.01', '9999.00', '10000.00'].map((price) => [price, '1.0000'])
    socket.receive(at(2, snapshot(M, 2, bids, asks)))
    socket.receive(at(3, update(M, 3, [['100.00', '1.0000']], [['2000.00', '1.0000']])))
    expect(book.bids().map(({ price }) => price)).toEqual(['1000.00', '999.99', '100.00', '20.00', '3.00', '0.50'])
    expect(book.asks().map(({ price }) => price)).toEqual(['1000.01', '2000.00', '9999.00', '10000.00'])
  })

  it('a book requests depth and interval where the service has them, and shows the depth where it has not', async () => {
    const extended = await open({ depth: 1, interval: 100 })
    expect(extended.socket.requests[0]?.channels).toEqual([
      { type: 'heartbeat' },
      { type: 'market_data', params: { market: M, depth: 1, interval_ms: 100 } },
    ])
    const base = await open({ depth: 1, interval: 100 }, 'tidegate.default')
    expect(base.socket.requests[0]?.channels[1]).toEqual({ type: 'market_data', params: { market: M } })
    expect(pairs(base.book.bids())).toEqual([BIDS[0]])
  })

  it('a book is STALE while heartbeats say that no source is trusted, and LIVE afterwards', async () => {
    const { socket, book } = await open()
    socket.receive(heartbeatOf([{ market: M, cursor: 'c1', live: false, since: bookTime(1) }]))
    expect(book.status).toBe('STALE')
    socket.receive(
      heartbeatOf([{ market: M, cursor: 'c1', live: true, since: bookTime(1), instrument_state: 'HALTED' }]),
    )
    expect(book).toMatchObject({ status: 'LIVE', instrumentState: 'HALTED' })
  })

  it('a book stays STALE when changes from before the loss arrive late, and is LIVE when a heartbeat says so', async () => {
    const { socket, book } = await open({ interval: 1000 })
    socket.receive(heartbeatOf([{ market: M, cursor: 'c1', live: false, since: bookTime(1) }]))
    socket.receive(at(2, update(M, 2, [['99.50', '1.0000']], [])))
    expect([book.status, book.bids().length]).toEqual(['STALE', 3])
    socket.receive(heartbeatOf([{ market: M, cursor: 'c2', live: true, since: bookTime(3) }]))
    expect(book.status).toBe('LIVE')
  })

  it('a STALE book that is resumed on another connection stays STALE until a heartbeat says that it is live', async () => {
    const { platform, socket, book } = await open({ interval: 1000 })
    socket.receive(heartbeatOf([{ market: M, cursor: 'c1', live: false, since: bookTime(1) }]))
    socket.end(1006)
    await settled()
    expect(book.status).toBe('RESYNCING')
    await platform.pass(1_000)
    const next = platform.socketNow
    next.open()
    await settled()
    next.acknowledge()
    next.receive(at(2, update(M, 2, [['99.50', '1.0000']], [])))
    expect([book.status, book.bids().length]).toEqual(['STALE', 3])
    next.receive(heartbeatOf([{ market: M, cursor: 'c2', live: true, since: bookTime(3) }]))
    expect(book.status).toBe('LIVE')
  })

  it('a book continues after a withdrawal with an UPDATE that has no predecessor, where the book is empty', async () => {
    const returned = { ...update(M, 3, BIDS, ASKS), stream: { cursor: 'other.1', covers: 0 } }
    const { socket, book, events } = await open()
    socket.receive(at(2, update(M, 2, removed(BIDS), removed(ASKS))))
    expect(book).toMatchObject({ status: 'STALE', bestBid: undefined })
    socket.receive(returned)
    expect([book.status, pairs(book.bids()), pairs(book.asks())]).toEqual(['LIVE', BIDS, ASKS])
    const next = {
      ...update(M, 4, [['99.50', '1.0000']], []),
      stream: { cursor: 'other.2', prev: 'other.1', covers: 1 },
    }
    socket.receive(next)
    expect(book.bids()).toHaveLength(3)
    // Before the withdrawal, a message is missing.
    const other = await open()
    other.socket.receive(at(2, update(M, 2, removed(BIDS), [])))
    other.socket.receive(returned)
    expect(other.book.status).toBe('RESYNCING')
    expect([events.filter(({ type }) => type === 'RESYNC'), other.events.at(-1)]).toMatchObject([
      [],
      { type: 'RESYNC' },
    ])
  })

  it('a book begins again when a message is missing while it is empty', async () => {
    const { socket, book } = await open()
    socket.receive(at(2, update(M, 2, removed(BIDS), removed(ASKS))))
    socket.receive(at(4, update(M, 4, BIDS, ASKS)))
    expect(book.status).toBe('RESYNCING')
  })

  it('a book is STALE while the base protocol shows it empty', async () => {
    const { socket, book } = await open({}, 'tidegate.default')
    socket.receive(update(M, 2, removed(BIDS), removed(ASKS)))
    expect(book.status).toBe('STALE')
    socket.receive(update(M, 3, BIDS, ASKS))
    expect(book.status).toBe('LIVE')
  })
})

describe('a book begins again from a SNAPSHOT when', () => {
  const faults: readonly (readonly [name: string, message: object])[] = [
    ['a message is missing', at(3, update(M, 3, [['98.00', '1.0000']], []))],
    ['a message comes twice', at(1, snapshot(M, 1, BIDS, ASKS))],
    ['a time goes back', at(2, update(M, 0, [['98.00', '1.0000']], []))],
    ['a removed level is not in the book', at(2, update(M, 2, [['98.00', '0']], []))],
    ['bids and asks cross', at(2, update(M, 2, [['100.50', '1.0000']], []))],
    [
      'levels are not sorted',
      at(
        2,
        update(
          M,
          2,
          [
            ['97.00', '1.0000'],
            ['98.00', '1.0000'],
          ],
          [],
        ),
      ),
    ],
    [
      'a price comes twice',
      at(
        2,
        update(
          M,
          2,
          [
            ['98.00', '1.0000'],
            ['98.00', '2.0000'],
          ],
          [],
        ),
      ),
    ],
    ['a price has other decimals', at(2, update(M, 2, [['98.0', '1.0000']], []))],
    ['an amount has other decimals', at(2, update(M, 2, [['98.00', '1.00']], []))],
    ['a SNAPSHOT has an amount of zero', at(2, snapshot(M, 2, [['98.00', '0.0000']], []))],
    ['a message has no cursor', update(M, 2, [['98.00', '1.0000']], [])],
    ['the digest differs', heartbeatOf([{ market: M, cursor: 'c1', live: true, digest: '0123456789abcdef' }])],
  ]

  it.each(faults)('a book begins again from a SNAPSHOT when %s', async (_name, message) => {
    const { platform, socket, book, events } = await open()
    const changes = book[Symbol.asyncIterator]()
    await changes.next()
    socket.receive(message)
    expect(book).toMatchObject({ status: 'RESYNCING', bestBid: undefined, bestAsk: undefined })
    expect(events.at(-1)).toMatchObject({ type: 'RESYNC', market: M })
    await platform.pass(0)
    const entry = { type: 'market_data', params: { market: M } }
    expect(socket.requests.slice(1)).toEqual([
      { type: 'unsubscribe', channels: [entry] },
      { type: 'subscribe', channels: [entry] },
    ])
    // What is still on its way belongs to the subscription that has ended.
    socket.receive(at(9, update(M, 9, [['1.00', '0']], [])))
    socket.receive({ type: 'unsubscribe', channels: [{ ...entry, success: true }] })
    socket.receive({ type: 'subscribe', channels: [{ ...entry, success: true }] })
    socket.receive(at(1, snapshot(M, 20, [['90.00', '1.0000']], ASKS)))
    expect(book.status).toBe('LIVE')
    expect(pairs(book.bids())).toEqual([['90.00', '1.0000']])
    expect((await changes.next()).value).toMatchObject({ type: 'SNAPSHOT', status: 'LIVE', time: bookTime(20) })
  })

  it('a book begins again from a SNAPSHOT when an UPDATE arrives before the SNAPSHOT', async () => {
    const platform = new FakePlatform()
    const events: StreamEvent[] = []
    const client = new StreamClient({ credentials: CREDENTIALS, onEvent: (event) => events.push(event) }, platform)
    void client.book(M)
    await settled()
    platform.socketNow.open()
    await settled()
    platform.socketNow.acknowledge()
    platform.socketNow.receive(at(2, update(M, 2, BIDS, ASKS), 'c1'))
    expect(events.at(-1)).toMatchObject({ type: 'RESYNC' })
  })

  it('a book that keeps failing begins again from a SNAPSHOT later each time', async () => {
    const { platform, socket } = await open()
    const waits: number[] = []
    for (let fault = 0; fault < 8; fault++) {
      const requests = socket.requests.length
      socket.receive(at(2, update(M, 1, [], [])))
      let waited = 0
      for (; socket.requests.length < requests + 2; waited += 500) await platform.pass(waited === 0 ? 0 : 500)
      waits.push(waited)
      const entry = { type: 'market_data', params: { market: M }, success: true }
      socket.receive({ type: 'unsubscribe', channels: [entry] })
      socket.receive({ type: 'subscribe', channels: [entry] })
      socket.receive(at(1, snapshot(M, 2 + fault, BIDS, ASKS)))
    }
    expect(waits[0]).toBeLessThanOrEqual(500)
    expect(waits.at(-1)).toBeGreaterThanOrEqual(30_000)
    expect(waits).toEqual([...waits].sort((left, right) => left - right))
  })
})

describe('a book keeps', () => {
  it("a book keeps the content that a heartbeat's digest confirms", async () => {
    const { socket, book } = await open()
    const digest = digestOf({ bids: new Map(BIDS), asks: new Map(ASKS) })
    socket.receive(heartbeatOf([{ market: M, cursor: 'c1', live: true, digest }]))
    expect(book.status).toBe('LIVE')
    expect(book.digestMatch).toEqual({ digest, time: nanosecondTime(5) })
    expect(socket.requests).toHaveLength(1)
    socket.receive(at(3, update(M, 3, [['98.00', '1.0000']], [])))
    expect(book.digestMatch).toBeUndefined()
  })

  it('a book keeps its subscription when the service acknowledges it twice', async () => {
    const { socket, book } = await open()
    socket.acknowledge()
    socket.receive(at(2, update(M, 2, [['98.00', '1.0000']], [])))
    expect(book).toMatchObject({ status: 'LIVE', time: bookTime(2) })
    expect(socket.requests).toHaveLength(1)
  })
})

describe('over a lost connection, a book', () => {
  async function reconnected(opened: Opened, protocol = 'tidegate.v1'): Promise<FakeSocket> {
    opened.socket.end(1012, 'restarting')
    await settled()
    expect(opened.book.status).toBe('RESYNCING')
    await opened.platform.pass(1_000)
    const next = opened.platform.socketNow
    expect(next).not.toBe(opened.socket)
    next.open(protocol)
    await settled()
    next.acknowledge()
    return next
  }

  it('a book is resumed from its last message after a lost connection', async () => {
    const opened = await open()
    const next = await reconnected(opened)
    expect(next.requests[0]?.channels[1]?.params).toEqual({ market: M, resume: 'c1' })
    expect(pairs(opened.book.bids())).toEqual(BIDS)
    next.receive(at(7, update(M, 7, [['98.00', '1.0000']], []), 'c1'))
    expect(opened.book.status).toBe('LIVE')
    expect(opened.book.bids()).toHaveLength(3)
  })

  it('a book is LIVE again after a lost connection without a message, as soon as a heartbeat confirms it', async () => {
    const opened = await open()
    const next = await reconnected(opened)
    next.receive(heartbeatOf([{ market: M, cursor: 'c1', live: true }]))
    expect(opened.book.status).toBe('LIVE')
  })

  it('a book is replaced by a SNAPSHOT after a lost connection, also by one of an earlier time', async () => {
    const opened = await open()
    const next = await reconnected(opened)
    next.receive(at(1, snapshot(M, 0, [['90.00', '1.0000']], [])))
    expect(opened.book).toMatchObject({ status: 'LIVE', time: bookTime(0) })
  })

  it('a book begins from a SNAPSHOT after a lost connection in the base protocol', async () => {
    const opened = await open({}, 'tidegate.default')
    const next = await reconnected(opened, 'tidegate.default')
    expect(next.requests[0]?.channels[1]?.params).toEqual({ market: M })
    next.receive(update(M, 9, [['98.00', '1.0000']], []))
    expect(opened.events.at(-1)).toMatchObject({ type: 'RESYNC' })
  })
})

describe('a loop over a book', () => {
  it('a loop over a book gets the whole book first, then each change', async () => {
    const { socket, book } = await open()
    const changes = book[Symbol.asyncIterator]()
    const first = (await changes.next()).value as BookChange
    expect([first.type, pairs(first.bids), pairs(first.asks)]).toEqual(['SNAPSHOT', BIDS, ASKS])
    const waiting = changes.next()
    socket.receive(at(2, update(M, 2, [['99.00', '0']], [])))
    const second = (await waiting).value as BookChange
    expect([second.type, second.time, pairs(second.bids)]).toEqual(['UPDATE', bookTime(2), [['99.00', '0']]])
  })

  it('a slow loop over a book gets one exact change for all that it missed', async () => {
    const { socket, book } = await open()
    const changes = book[Symbol.asyncIterator]()
    await changes.next()
    socket.receive(at(2, update(M, 2, [['98.00', '1.0000']], [['102.00', '0']])))
    socket.receive(at(3, update(M, 3, [['98.00', '0']], [['102.00', '3.0000']])))
    socket.receive(
      at(
        4,
        update(
          M,
          4,
          [
            ['100.00', '7.0000'],
            ['99.00', '0'],
          ],
          [['101.00', '1.0000']],
        ),
      ),
    )
    const { value } = await changes.next()
    // The level that came and went, and the one that is as it was, are not in it.
    expect(pairs(value.bids)).toEqual([
      ['100.00', '7.0000'],
      ['99.00', '0'],
    ])
    expect(pairs(value.asks)).toEqual([['101.00', '1.0000']])
  })

  it('a loop over a book that never reads again costs no more than a book', async () => {
    const { socket, book } = await open()
    const changes = book[Symbol.asyncIterator]()
    await changes.next()
    for (let number = 2; number < 1_000; number++) {
      const gone: Pair[] = number === 2 ? [] : [[`${199 + number}.00`, '0']]
      socket.receive(at(number, update(M, number, [], [...gone, [`${200 + number}.00`, '1.0000']])))
    }
    const { value } = await changes.next()
    expect(value).toMatchObject({ type: 'SNAPSHOT', status: 'LIVE' })
    expect(value.asks).toHaveLength(3)
  })

  it('a loop over a book gets changes of the status', async () => {
    const { socket, book } = await open()
    const changes = book[Symbol.asyncIterator]()
    await changes.next()
    socket.end(1006)
    expect((await changes.next()).value).toMatchObject({ type: 'UPDATE', status: 'RESYNCING', bids: [], asks: [] })
  })

  it('a loop over a book ends with the book, and leaves the book open when it is left', async () => {
    const { book, socket } = await open()
    for await (const change of book) {
      expect(change.type).toBe('SNAPSHOT')
      break
    }
    expect(book.status).toBe('LIVE')
    const types: string[] = []
    const looping = (async () => {
      for await (const { status } of book) types.push(status)
    })()
    await settled()
    book.close()
    await looping
    expect(types).toEqual(['LIVE'])
    expect(book.status).toBe('CLOSED')
    expect(socket.requests.at(-1)?.type).toBe('unsubscribe')
    expect(socket.isClosed).toBe(true)
  })

  it('a loop over a book throws the reason of the signal that ends it', async () => {
    const stop = new AbortController()
    const { book } = await open({ signal: stop.signal })
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(async () => {
      for await (const _change of book) {
        // Nothing is left to read.
      }
    }).rejects.toBe(reason)
  })
})

describe('the notice that a market was changed', () => {
  const NOTICE = { type: 'market_data', params: { market: M }, success: true, message: 'the market was changed' }

  it('the notice that a market was changed begins the book again, with other decimals if need be', async () => {
    const { platform, socket, book } = await open()
    socket.receive({ type: 'unsubscribe', channels: [NOTICE] })
    expect(book.status).toBe('RESYNCING')
    await platform.pass(0)
    expect(socket.requests.at(-1)).toEqual({
      type: 'subscribe',
      channels: [{ type: 'market_data', params: { market: M } }],
    })
    socket.acknowledge()
    socket.receive(at(1, snapshot(M, 2, [['100.000', '1.0']], [])))
    expect(book).toMatchObject({ status: 'LIVE', priceDecimals: 3, amountDecimals: 1 })
  })

  it('the notice that a market was changed ends the book when the market is gone', async () => {
    const { platform, socket, book } = await open()
    socket.receive({ type: 'unsubscribe', channels: [NOTICE] })
    await platform.pass(0)
    const failure = { success: false, error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION', message: 'markets: ETHUSD' }
    socket.acknowledge(failure)
    expect(book.status).toBe('CLOSED')
    await expect(book[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'SUBSCRIPTION_REFUSED',
      message: expect.stringMatching(
        /^BTCUSD: markets: ETHUSD \(UNKNOWN_CHANNEL_PARAMS_CONFIGURATION\)\. GET \/v2\/markets/,
      ),
    })
  })
})

describe('a book that is closed and opened again at once', () => {
  it('a book that is closed and opened again at once is a new subscription, which late replies do not disturb', async () => {
    const { client, socket, book } = await open()
    const other = client.book('ETHUSD').catch(() => undefined)
    book.close()
    const reopened = client.book(M)
    await settled()
    const entry = { type: 'market_data', params: { market: M }, success: true }
    socket.receive(at(2, update(M, 2, [['98.00', '1.0000']], [])))
    socket.receive({ type: 'unsubscribe', channels: [entry] })
    socket.receive({ type: 'subscribe', channels: [entry] })
    socket.receive(at(1, snapshot(M, 3, BIDS, ASKS)))
    expect(await reopened).toMatchObject({ status: 'LIVE', time: bookTime(3) })
    expect(socket.requests.filter(({ type }) => type === 'unsubscribe')).toHaveLength(1)
    client.close()
    await other
  })

  it('a book cannot be opened again while it is open', async () => {
    const { client } = await open()
    await expect(client.book(M)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
