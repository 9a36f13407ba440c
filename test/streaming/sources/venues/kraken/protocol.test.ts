import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../../src/platform/base/metrics.ts'
import { ASK, BID } from '../../../../../src/streaming/market/event.ts'
import type { Source } from '../../../../../src/streaming/sources/source.ts'
import { until } from '../../../../support/awaited.ts'
import {
  acknowledgementText,
  type ScriptFrame,
  type ScriptMessage,
  scriptKraken,
} from '../../../../support/kraken-script.ts'
import { createKrakenSource } from '../../../../support/kraken-source.ts'
import { SourceListener } from '../../../../support/source-listener.ts'
import { type KrakenServer, type KrakenServerOptions, startKrakenServer } from '../../../../support/venues/kraken.ts'
import { VirtualClock } from '../../../../support/virtual-clock.ts'

const btc = { symbol: 'BTC/USD', depth: 10, pricePrecision: 1, quantityPrecision: 8 }
const eth = { symbol: 'ETH/USD', depth: 25, pricePrecision: 2, quantityPrecision: 8 }

const snapshot: ScriptMessage = {
  type: 'snapshot',
  bids: [
    [100.1, 1],
    [100, 2.5],
  ],
  asks: [
    [100.2, 0.00000005],
    [100.3, 4],
  ],
}
const updates: ScriptMessage[] = [
  { type: 'update', asks: [[100.2, 0.5]] },
  {
    type: 'update',
    bids: [[100.1, 0]],
    asks: [
      [100.3, 9],
      [100.3, 0],
      [100.4, 1],
    ],
  },
  { type: 'update', bids: [[99.9, 3]] },
]
/** Longer than any test. */
const NEVER_MILLISECONDS = 3_600_000
const script: ScriptFrame[] = [snapshot, ...updates]
/** Every amount differs from the one before, so that each update is an event. */
const manyUpdates = Array.from({ length: 300 }, (_, index): ScriptMessage => {
  return { type: 'update', asks: [[100.2, (100 + index) / 100]] }
})

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

async function serve(options: Partial<KrakenServerOptions> = {}): Promise<KrakenServer> {
  const server = await startKrakenServer({ recordings: [scriptKraken(btc, script)], speed: Infinity, ...options })
  opened.push(server)
  return server
}

interface Connected {
  readonly source: Source
  readonly clock: VirtualClock
  /** The value of one metric by its name and labels as written. */
  readonly metric: (line: string) => Promise<string | undefined>
}

function connect(url: string, listeners: readonly SourceListener[]): Connected {
  const clock = new VirtualClock()
  const metrics = createMetricsRegistry()
  const markets = listeners.map((listener) => listener.sourceMarket)
  const source = createKrakenSource({ url, markets, clock, log: createLog('silent'), metrics })
  source.start()
  opened.push({ close: () => source.stop() })
  const metric = async (line: string) =>
    (await metrics.metrics())
      .split('\n')
      .find((text) => text.startsWith(`${line} `))
      ?.slice(line.length + 1)
  return { source, clock, metric }
}

/** A whole book as a frame of its own. */
const heartbeat = scriptKraken(btc, [snapshot]).frames[0]?.text ?? ''

/** Lets time pass on a connection that stays alive; `listener` is one of BTC/USD. */
async function pass(seconds: number, server: KrakenServer, listener: SourceListener, clock: VirtualClock) {
  for (let second = 0; second < seconds; second += 2) {
    clock.advance(2_000)
    await hear(server, listener)
  }
}

/** Makes sure that all the server has said so far was heard. */
async function hear(server: KrakenServer, listener: SourceListener) {
  const seen = listener.events.length
  server.broadcast(heartbeat)
  await listener.until('a sign of life', () => listener.events.length > seen)
}

/** Lets time pass on a connection that has heartbeats alone. */
async function idle(milliseconds: number, server: KrakenServer, { clock, metric }: ReturnType<typeof connect>) {
  const messages = () => metric('tidegate_feed_messages_total{venue="kraken"}')
  for (let left = milliseconds; left > 0; left -= 2_000) {
    clock.advance(Math.min(left, 2_000))
    const before = await messages()
    server.broadcast('{"channel":"heartbeat"}')
    await until('another message', async () => (await messages()) !== before)
  }
}

const books = (server: KrakenServer) => server.requests.filter(({ params }) => params.channel === 'book')
const isLive = (listener: SourceListener) => () => listener.events.at(-1)?.type === 'snapshot'

describe('what the checksum does not cover', () => {
  const deep = { ...btc, depth: 25 }
  const twelve = Array.from({ length: 12 }, (_, rank) => [101 + rank, 1] as const)
  const change: ScriptMessage = { type: 'update', asks: [[112, 3]] }
  const recording = scriptKraken(deep, [{ type: 'snapshot', bids: [[100, 1]], asks: twelve }, change])

  /** After the time between two reconciliations at their longest. */
  async function reconciled(options: Partial<KrakenServerOptions>) {
    const server = await serve({ recordings: [recording], ...options })
    const listener = new SourceListener('BTC/USD', { depth: 25 })
    const connected = connect(server.url, [listener])
    await listener.until('both messages', () => listener.events.length === 2)
    const before = books(server).length
    await idle(375_000, server, connected)
    await server.until('the reconciliation', () => books(server).length === before + 2)
    const count = (result: string) =>
      connected.metric(`tidegate_feed_reconciliations_total{venue="kraken",symbol="BTC/USD",result="${result}"}`)
    await expect.poll(async () => Number(await count('same')) + Number(await count('different'))).toBe(1)
    expect(
      books(server)
        .slice(before)
        .map(({ method }) => method),
    ).toEqual(['unsubscribe', 'subscribe'])
    return { listener, same: await count('same'), different: await count('different') }
  }

  it('an error that the checksum does not cover is found by a fresh snapshot, and published without losing the book', async () => {
    const corrupt = (text: string, _symbol: string, index: number) =>
      index === 1 ? text.replace('"qty":3', '"qty":4') : text
    const { listener, same, different } = await reconciled({ corrupt })
    expect(listener.events.map(({ type }) => type)).toEqual(['snapshot', 'update', 'update'])
    expect(listener.events.at(-1)).toEqual({
      type: 'update',
      changes: [{ side: ASK, price: 11_200, amount: 300_000_000 }],
      executions: [],
    })
    expect([same, different]).toEqual(['0', '1'])
  })

  it('a fresh snapshot without a difference publishes nothing', async () => {
    const { listener, same, different } = await reconciled({})
    expect(listener.events.map(({ type }) => type)).toEqual(['snapshot', 'update'])
    expect([same, different]).toEqual(['1', '0'])
  })
})

describe('a book', () => {
  it("a Kraken book is the venue's after every message, in events of whole messages", async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD', { priceDecimals: 1 })
    connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    expect(listener.states).toEqual([
      '100.1:1.00000000 100.0:2.50000000 | 100.2:0.00000005 100.3:4.00000000',
      '100.1:1.00000000 100.0:2.50000000 | 100.2:0.50000000 100.3:4.00000000',
      '100.0:2.50000000 | 100.2:0.50000000 100.4:1.00000000',
      '100.0:2.50000000 99.9:3.00000000 | 100.2:0.50000000 100.4:1.00000000',
    ])
    expect(listener.events[2]).toEqual({
      type: 'update',
      changes: [
        { side: BID, price: 1001, amount: 0 },
        { side: ASK, price: 1003, amount: 0 },
        { side: ASK, price: 1004, amount: 100000000 },
      ],
      executions: [],
    })
  })

  it('a Kraken book is rescaled exactly to a market that keeps more decimals', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD', { priceDecimals: 4, amountDecimals: 18 })
    connect(server.url, [listener])
    await listener.until('a snapshot', () => listener.events.length > 0)
    expect(listener.states[0]).toBe(
      '100.1000:1.000000000000000000 100.0000:2.500000000000000000 | 100.2000:0.000000050000000000 100.3000:4.000000000000000000',
    )
  })

  it('a Kraken book is cut to the acknowledged depth, with a delete of each level that falls out', async () => {
    const shape = { ...btc, depth: 2 }
    const grow: ScriptMessage = { type: 'update', bids: [[100.05, 7]], asks: [[100.15, 8]] }
    const server = await serve({
      recordings: [scriptKraken({ ...shape, pricePrecision: 2 }, [snapshot, grow])],
    })
    const listener = new SourceListener('BTC/USD')
    connect(server.url, [listener])
    await listener.until('the update', () => listener.events.length === 2)
    expect(books(server)[0]?.params.depth).toBe(10)
    expect(listener.events[1]).toEqual({
      type: 'update',
      changes: [
        { side: BID, price: 10005, amount: 700000000 },
        { side: BID, price: 10000, amount: 0 },
        { side: ASK, price: 10015, amount: 800000000 },
        { side: ASK, price: 10030, amount: 0 },
      ],
      executions: [],
    })
  })

  it('a Kraken book is requested once per pair, by the smallest depth on offer that covers its markets', async () => {
    const wanted = { 'A/USD': 1, 'B/USD': 10, 'C/USD': 11, 'D/USD': 500, 'E/USD': 501, 'F/USD': 5000, 'G/USD': 0 }
    const recordings = Object.keys(wanted).map((symbol) => scriptKraken({ ...btc, symbol }, script))
    const server = await serve({ recordings })
    const listeners = Object.entries(wanted).map(([symbol, depth]) => new SourceListener(symbol, { depth }))
    listeners.push(new SourceListener('A/USD', { symbol: 'DEEPUSD', depth: 25 }))
    connect(server.url, listeners)
    await Promise.all(listeners.map((listener) => listener.until('a snapshot', () => listener.states.length > 0)))
    expect(books(server).map(({ method, params }) => [method, params.depth, params.symbol])).toEqual([
      ['subscribe', 25, ['A/USD', 'C/USD']],
      ['subscribe', 10, ['B/USD']],
      ['subscribe', 500, ['D/USD']],
      ['subscribe', 1000, ['E/USD', 'F/USD', 'G/USD']],
    ])
  })
})

describe('a market that is refused is lost with a reason, while the others continue', () => {
  const refusals: readonly (readonly [string, SourceListener, RegExp])[] = [
    ['the venue does not list it', new SourceListener('FOO/USD'), /^kraken does not list FOO\/USD$/],
    ['the venue refuses its book', new SourceListener('BAR/USD'), /^kraken refused BAR\/USD: Currency pair not/],
    [
      'its prices are coarser',
      new SourceListener('BTC/USD', { symbol: 'COARSE', priceDecimals: 0 }),
      /^kraken's BTC\/USD has 1 price and 8 amount decimals, COARSE keeps 0 and 8$/,
    ],
    [
      'its amounts are coarser',
      new SourceListener('BTC/USD', { symbol: 'COARSE', amountDecimals: 7 }),
      /^kraken's BTC\/USD has 1 price and 8 amount decimals, COARSE keeps 2 and 7$/,
    ],
  ]
  it.each(refusals)(
    'a refused market is lost with a reason, while the others continue, because %s',
    async (_name, refused, reason) => {
      const server = await serve({ refusedPairs: [{ ...btc, symbol: 'BAR/USD' }] })
      const good = new SourceListener('BTC/USD')
      connect(server.url, [refused, good])
      await refused.until('the refusal', () => refused.events.length > 0)
      await good.until('all messages', () => good.events.length === 4)
      expect(refused.events).toEqual([{ type: 'lost', reason: expect.stringMatching(reason) }])
      expect(good.reasons()).toEqual([])
    },
  )

  it('a refused market is tried again after a minute, without reporting the same reason again', async () => {
    const server = await serve({ refusedPairs: [{ ...btc, symbol: 'BAR/USD' }] })
    const refused = new SourceListener('BAR/USD')
    const good = new SourceListener('BTC/USD')
    const { clock } = connect(server.url, [refused, good])
    await refused.until('the refusal', () => refused.events.length > 0)
    await good.until('all messages', () => good.events.length === 4)
    await pass(60, server, good, clock)
    const requests = () => books(server).filter(({ params }) => params.symbol?.includes('BAR/USD'))
    await server.until('the second request', () => requests().length === 2)
    await hear(server, good)
    expect(refused.events).toHaveLength(1)
  })

  it('a refused market comes to life when the venue lists it later', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const late = new SourceListener('NEW/USD')
    connect(server.url, [listener, late])
    await late.until('the refusal', () => late.events.length === 1)
    const pairs = [{ symbol: 'NEW/USD', status: 'online', price_precision: 1, qty_precision: 8 }]
    server.broadcast(JSON.stringify({ channel: 'instrument', type: 'update', data: { assets: [], pairs } }))
    await server.until('its subscription', () => books(server).some(({ params }) => params.symbol?.[0] === 'NEW/USD'))
  })
})

describe('a book that is out of sync', () => {
  const recordings = [scriptKraken(btc, [snapshot, ...manyUpdates]), scriptKraken(eth, [snapshot, ...manyUpdates])]
  const corruptAt = (indexes: readonly number[]) => (text: string, symbol: string, index: number) =>
    symbol === 'BTC/USD' && indexes.includes(index) ? text.replace(/"qty":[0-9.]+/, '"qty":7777') : text

  it('a book that is out of sync is lost by a wrong checksum and live again with the next snapshot; no other market notices', async () => {
    const server = await serve({ recordings, corrupt: corruptAt([100]) })
    const listener = new SourceListener('BTC/USD')
    const other = new SourceListener('ETH/USD', { depth: 25 })
    const refused = new SourceListener('BTC/USD', { symbol: 'COARSE', priceDecimals: 0 })
    const { metric } = connect(server.url, [listener, other, refused])
    await listener.until('the last amount', () => listener.side(ASK)[0] === '100.20:3.99000000')
    await other.until('the last amount', () => other.side(ASK)[0] === '100.20:3.99000000')
    expect(listener.reasons()).toEqual(['the checksum of BTC/USD does not match'])
    expect(listener.count('snapshot')).toBe(2)
    expect(listener.states.join()).not.toContain('7777')
    expect(other.reasons()).toEqual([])
    expect(other.events).toHaveLength(301)
    expect(refused.reasons()).toEqual([expect.stringContaining('COARSE keeps')])
    expect(books(server).slice(2)).toEqual([
      { method: 'unsubscribe', params: { channel: 'book', symbol: ['BTC/USD'], depth: 10 } },
      { method: 'subscribe', params: { channel: 'book', symbol: ['BTC/USD'], depth: 10, snapshot: true } },
    ])
    expect(await metric('tidegate_feed_checksum_mismatches_total{venue="kraken",symbol="BTC/USD"}')).toBe('1')
    expect(await metric('tidegate_feed_checksum_mismatches_total{venue="kraken",symbol="ETH/USD"}')).toBe('0')
    expect(await metric('tidegate_feed_gaps_total{venue="kraken",symbol="BTC/USD"}')).toBe('1')
    expect(await metric('tidegate_feed_gaps_total{venue="kraken",symbol="ETH/USD"}')).toBe('0')
  })

  it('a book that is out of sync is subscribed at once the first time, and after a growing delay when it keeps failing', async () => {
    const all = Array.from({ length: 301 }, (_, index) => index)
    const listener = new SourceListener('BTC/USD')
    const server = await serve({
      recordings,
      corrupt: corruptAt(all.slice(1)),
      // One message that is wrong, and no other before the book was subscribed again.
      hold: (symbol, index) =>
        symbol === 'BTC/USD' && index === 2
          ? listener.until('the second life', () => listener.count('snapshot') === 2)
          : undefined,
    })
    const other = new SourceListener('ETH/USD', { depth: 25 })
    const { clock, source } = connect(server.url, [listener, other])
    const requestsOf = (symbol: string) => books(server).filter(({ params }) => params.symbol?.includes(symbol)).length
    await listener.until('the second loss', () => listener.count('lost') === 2)
    clock.advance(999)
    // What was sent before a request for ETH/USD has arrived when that has.
    await other.until('a live book', () => other.events.length > 0)
    source.rebuild(other.sourceMarket, 'to see what was asked for before')
    await server.until('a request for ETH/USD', () => requestsOf('ETH/USD') > 1)
    expect(requestsOf('BTC/USD')).toBe(3)
    clock.advance(1)
    await listener.until('life again', () => listener.count('snapshot') === 3)
    expect(requestsOf('BTC/USD')).toBe(5)
  })

  it('a book that is out of sync is subscribed at once again after it was live for a minute', async () => {
    const server = await serve({ recordings: [scriptKraken(btc, [snapshot])] })
    const listener = new SourceListener('BTC/USD')
    const { clock } = connect(server.url, [listener])
    const bad = heartbeat.replace('"checksum":', '"checksum":1')
    await listener.until('life', isLive(listener))
    server.broadcast(bad)
    await listener.until('life again', () => listener.count('lost') === 1 && isLive(listener)())
    await pass(60, server, listener, clock)
    server.broadcast(bad)
    await listener.until('the second life again', () => listener.count('lost') === 2 && isLive(listener)())
  })

  it("a book that is out of sync is lost by a value finer than the venue's precision", async () => {
    const corrupt = (text: string, _symbol: string, index: number) =>
      index === 1 ? text.replace('100.2', '100.25') : text
    const server = await serve({ corrupt })
    const listener = new SourceListener('BTC/USD')
    connect(server.url, [listener])
    await listener.until('life again', () => listener.count('snapshot') === 2)
    expect(listener.reasons()).toEqual(['cannot take price 100.25'])
  })

  it('a book that is out of sync is lost by a message of it that cannot be read', async () => {
    const corrupt = (text: string, _symbol: string, index: number) => (index === 1 ? text.replace('qty', 'size') : text)
    const server = await serve({ corrupt })
    const listener = new SourceListener('BTC/USD')
    connect(server.url, [listener])
    await listener.until('life again', () => listener.count('snapshot') === 2)
    expect(listener.reasons()).toEqual(['an unreadable book message'])
  })

  it('a book that is out of sync is lost when the venue changes the precisions, and read with the new ones', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    const pairs = [{ symbol: 'BTC/USD', status: 'online', price_precision: 3, qty_precision: 8 }]
    server.broadcast(JSON.stringify({ channel: 'instrument', type: 'update', data: { pairs } }))
    await listener.until('the refusal', () => listener.count('lost') === 1)
    expect(listener.reasons()[0]).toMatch(/has 3 price and 8 amount decimals/)
    pairs[0] = { symbol: 'BTC/USD', status: 'online', price_precision: 1, qty_precision: 8 }
    server.broadcast(JSON.stringify({ channel: 'instrument', type: 'update', data: { pairs } }))
    await listener.until('life again', isLive(listener))
    expect(listener.side(ASK)).toEqual(['100.20:0.50000000', '100.40:1.00000000'])
  })

  it('a book that is out of sync is lost and subscribed again when its market requests a rebuild', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { source } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    source.rebuild(listener.sourceMarket, 'crossed')
    source.rebuild(listener.sourceMarket, 'asked twice')
    source.rebuild(new SourceListener('BTC/USD').sourceMarket, 'not here')
    await listener.until('life again', isLive(listener))
    expect(listener.reasons()).toEqual(['the book of BTCUSD is rebuilt: crossed'])
    expect(listener.side(BID)).toEqual(['100.00:2.50000000', '99.90:3.00000000'])
  })
})

describe('trades', () => {
  const frame = (type: 'snapshot' | 'update', ...ids: readonly number[]) => {
    const data = ids.map(
      (id) =>
        `{"symbol":"BTC/USD","side":"buy","price":100.${id},"qty":0.00000001,"ord_type":"limit","trade_id":${id},"timestamp":"2026-01-01T00:00:00.00${id}Z"}`,
    )
    return `{"channel":"trade","type":"${type}","data":[${data.join()}]}`
  }
  const executions = (listener: SourceListener) =>
    listener.events.flatMap((event) => (event.type === 'update' ? event.executions : []))

  it('Kraken trades are executions once, exactly, over a lost book, a bridged lost connection, and a fetched gap', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { clock } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    server.broadcast(frame('snapshot', 1, 2))
    server.broadcast(frame('update', 3))
    server.broadcast(heartbeat.replace('"checksum":', '"checksum":1'))
    server.broadcast(frame('update', 4))
    await listener.until('the second trade', () => executions(listener).length === 2)
    const asked = server.requests.filter(({ params }) => params.channel === 'trade')
    expect(asked).toEqual([
      { method: 'subscribe', params: { channel: 'trade', symbol: ['BTC/USD'], snapshot: true }, req_id: 1 },
    ])
    server.disconnectAll()
    await listener.until('the loss', () => listener.reasons().length === 2)
    clock.advance(500)
    await listener.until('life again', isLive(listener))
    server.broadcast(frame('snapshot', 2, 3, 4, 5))
    const time = Date.UTC(2026, 0, 1)
    const page = [5, 6, 7, 8].map((id) => [`100.${id}`, '0.00000001', (time + id) / 1000, 'b', 'l', '', id])
    const body = JSON.stringify({ error: [], result: { XXBTZUSD: page, last: `${time + 8}000000` } })
    server.venue.httpFaults.push({ status: 200, body })
    server.broadcast(frame('update', 7))
    await listener.until('the last trade', () => executions(listener).length === 5)
    expect(server.venue.said.at(-1)).toBe(
      `/0/public/Trades?pair=BTCUSD&since=${BigInt(time + 5) * 1_000_000n - 1n}&count=1000`,
    )
    expect(executions(listener)).toEqual(
      [3, 4, 5, 6, 7].map((id) => ({
        price: 10_000 + 10 * id,
        amount: 1,
        id: String(id),
        side: 'buy',
        executedAtMilliseconds: time + id,
      })),
    )
    const missed = listener.events.flatMap((event) => (event.type === 'missed' ? [event.reason] : []))
    expect(missed).toEqual([])
  })

  it('trades that are refused are named, and take no book away', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { source } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    server.broadcast('{"error":"No","method":"subscribe","success":false,"symbol":"BTC/USD","req_id":1}')
    await hear(server, listener)
    expect(source.notices(listener.sourceMarket)).toEqual(['kraken refused the trades for BTC/USD: No'])
    expect(listener.reasons()).toEqual([])
  })
})

describe('the status of the venue and of a pair', () => {
  it('the status of Kraken or a pair is named as long as it holds; a delisted pair is lost until it is listed again', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { source } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    const list = (status: string) => {
      const pairs = [{ symbol: 'BTC/USD', status, price_precision: 1, qty_precision: 8 }]
      server.broadcast(JSON.stringify({ channel: 'instrument', type: 'update', data: { pairs } }))
    }
    server.broadcast('{"channel":"status","type":"update","data":[{"system":"post_only"}]}')
    list('limit_only')
    await hear(server, listener)
    expect(source.notices(listener.sourceMarket)).toEqual([
      'kraken reports the status post_only',
      'kraken lists BTC/USD as limit_only',
    ])
    server.broadcast('{"channel":"status","type":"update","data":[{"system":"online"}]}')
    list('delisted')
    await listener.until('the loss', () => listener.count('lost') === 1)
    expect(listener.reasons()).toEqual(['kraken lists BTC/USD as delisted'])
    list('online')
    await listener.until('life again', isLive(listener))
    expect(source.notices(listener.sourceMarket)).toEqual([])
  })
})

describe('unexpected acknowledgements', () => {
  const acknowledgements = [
    acknowledgementText('unsubscribe', 'BTC/USD', 10),
    acknowledgementText('subscribe', 'BTC/USD', 10),
  ]

  it('unexpected acknowledgements leave a live book alone, with or without a snapshot of their own', async () => {
    const frames = [snapshot, ...acknowledgements, ...acknowledgements, updates[0], updates[1], snapshot, updates[2]]
    const server = await serve({ recordings: [scriptKraken(btc, frames as ScriptFrame[])] })
    const listener = new SourceListener('BTC/USD')
    const reading = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 5)
    expect(listener.events.map(({ type }) => type)).toEqual(['snapshot', 'update', 'update', 'snapshot', 'update'])
    await idle(14_000, server, reading)
    expect(listener.reasons()).toEqual([])
  })

  it('unexpected acknowledgements end in a new subscription when no snapshot follows the first of them within ten seconds', async () => {
    const server = await serve({ recordings: [scriptKraken(btc, [snapshot, ...acknowledgements, ...updates])] })
    const listener = new SourceListener('BTC/USD')
    const reading = connect(server.url, [listener])
    const { clock } = reading
    await listener.until('all messages', () => listener.events.length === 4)
    await idle(5_000, server, reading)
    for (const text of acknowledgements) server.broadcast(text)
    const further: ScriptMessage = { type: 'update', bids: [[99.8, 4]] }
    server.broadcast(scriptKraken(btc, [...script, further]).frames.at(-1)?.text ?? '')
    await listener.until('the message behind them', () => listener.events.length === 5)
    await idle(4_999, server, reading)
    expect(listener.reasons()).toEqual([])
    clock.advance(1)
    await listener.until('life again', isLive(listener))
    expect(listener.reasons()).toEqual(['no snapshot of BTC/USD within 10 s'])
  })
})

describe('the connection', () => {
  it('a Kraken connection takes every book with it when it ends, and brings it back', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { clock, metric } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    server.disconnectAll()
    await listener.until('the loss', () => listener.count('lost') === 1)
    expect(listener.reasons()).toEqual(['the connection was closed with code 1006'])
    clock.advance(500)
    await listener.until('life again', isLive(listener))
    expect(listener.side(BID)).toEqual(['100.00:2.50000000', '99.90:3.00000000'])
    expect(await metric('tidegate_feed_reconnects_total{venue="kraken"}')).toBe('1')
  })

  it('a Kraken connection is given up after an unreadable frame, which may concern any book', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { clock } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    server.broadcast('{"channel":"book","type":"upd')
    await listener.until('the loss', () => listener.count('lost') === 1)
    expect(listener.reasons()).toEqual(['an unreadable message: not JSON: SyntaxError'])
    clock.advance(500)
    await listener.until('life again', isLive(listener))
  })

  it('a Kraken connection is given up when the venue is silent', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { clock } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    clock.advance(4_000)
    expect(listener.reasons()).toEqual(['nothing arrived for 4 s'])
    clock.advance(500)
    await listener.until('life again', isLive(listener))
  })

  it('a Kraken connection passes over everything that moves no book', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    server.broadcast('{"channel":"status","type":"update","data":[{"system":"maintenance"}]}')
    server.broadcast('{"channel":"trade","type":"update","data":[{"symbol":"BTC/USD","price":1.0,"qty":1.0}]}')
    server.broadcast('{"error":"Event(s) not found","method":"subscribe","success":false}')
    server.broadcast('{"error":"Already subscribed","method":"subscribe","success":false,"symbol":"BTC/USD"}')
    server.broadcast('{"error":"Subscription Not Found","method":"unsubscribe","success":false,"symbol":"BTC/USD"}')
    server.broadcast('{"channel":"book","type":"update","data":[{"symbol":"X/Y","bids":[],"asks":[],"checksum":1}]}')
    server.broadcast(acknowledgementText('subscribe', 'X/Y', 10))
    server.broadcast(scriptKraken(btc, [snapshot]).frames[0]?.text ?? '')
    await listener.until('the snapshot behind it all', () => listener.count('snapshot') === 2)
    expect(listener.reasons()).toEqual([])
    await server.venue.heard()
    await server.until('all requests', () => server.requests.length >= 3)
    expect(server.requests).toHaveLength(3)
  })

  it("a Kraken connection measures how late the venue's updates arrive, where they have a time", async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { clock, metric } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    const happened = new Date(clock.wallInstant().milliseconds - 300).toISOString()
    const book = `"symbol":"X/Y","bids":[],"asks":[],"checksum":1,"timestamp":"${happened}"`
    server.broadcast(`{"channel":"book","type":"update","data":[{${book}}]}`)
    server.broadcast(scriptKraken(btc, [snapshot]).frames[0]?.text ?? '')
    await listener.until('the snapshot behind it', () => listener.count('snapshot') === 2)
    expect(await metric('tidegate_feed_lag_seconds_count{venue="kraken"}')).toBe('1')
    expect(await metric('tidegate_feed_lag_seconds_sum{venue="kraken"}')).toBe('0.3')
  })

  it('a Kraken connection counts messages and reports the age of the last one', async () => {
    const server = await serve({ heartbeatMilliseconds: NEVER_MILLISECONDS })
    const listener = new SourceListener('BTC/USD')
    const { clock, metric } = connect(server.url, [listener])
    await listener.until('all messages', () => listener.events.length === 4)
    await server.until('all requests', () => server.requests.length === 3)
    await server.venue.heard()
    clock.advance(3_000)
    // Status, three acknowledgements, the list of pairs, four messages.
    expect(await metric('tidegate_feed_messages_total{venue="kraken"}')).toBe('9')
    expect(await metric('tidegate_feed_last_message_age_seconds{venue="kraken"}')).toBe('3')
  })

  it('a Kraken connection is gone after stop, and no listener is called for it', async () => {
    const server = await serve()
    const listener = new SourceListener('BTC/USD')
    const { source, clock } = connect(server.url, [listener])
    await listener.until('life', () => listener.events.length === 4)
    await source.stop()
    await server.until('the end of the connection', () => server.connections() === 0)
    clock.advance(120_000)
    expect(listener.events).toHaveLength(4)
    expect(server.connections()).toBe(0)
  })

  it('a Kraken connection may be stopped by a listener during its call', async () => {
    const server = await serve()
    const first = new SourceListener('BTC/USD')
    const second = new SourceListener('BTC/USD', { symbol: 'SECOND' })
    const { source } = connect(server.url, [first, second])
    let stopped: Promise<void> | undefined
    await first.until('the first event', () => {
      if (first.events.length > 0) stopped ??= source.stop()
      return stopped !== undefined
    })
    await stopped
    expect(first.events).toHaveLength(1)
    expect(second.events).toHaveLength(0)
  })
})
