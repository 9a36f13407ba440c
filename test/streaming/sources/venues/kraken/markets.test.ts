/** Markets that are added and removed on an open connection to Kraken: subscriptions, events, and other markets. */
import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../../src/platform/base/metrics.ts'
import { ASK } from '../../../../../src/streaming/market/event.ts'
import { type ScriptMessage, scriptKraken } from '../../../../support/kraken-script.ts'
import { createKrakenSource } from '../../../../support/kraken-source.ts'
import { SourceListener } from '../../../../support/source-listener.ts'
import { type KrakenServer, startKrakenServer } from '../../../../support/venues/kraken.ts'
import { VirtualClock } from '../../../../support/virtual-clock.ts'

const snapshot: ScriptMessage = { type: 'snapshot', bids: [[100.1, 1]], asks: [[100.2, 0.5]] }
const shapeOf = (symbol: string) => ({ symbol, depth: 10, pricePrecision: 1, quantityPrecision: 8 })
const frameOf = (symbol: string, amount: number) => {
  const change: ScriptMessage = { type: 'update', asks: [[100.2, amount]] }
  return scriptKraken(shapeOf(symbol), [snapshot, change]).frames.at(-1)?.text ?? ''
}

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

async function setUp(...listeners: readonly SourceListener[]) {
  const recordings = ['BTC/USD', 'ETH/USD'].map((symbol) => scriptKraken(shapeOf(symbol), [snapshot]))
  const server = await startKrakenServer({ recordings, speed: Number.POSITIVE_INFINITY })
  opened.push(server)
  const clock = new VirtualClock()
  const metrics = createMetricsRegistry()
  const markets = listeners.map((listener) => listener.sourceMarket)
  const source = createKrakenSource({ url: server.url, markets, clock, log: createLog('silent'), metrics })
  source.start()
  opened.push({ close: () => source.stop() })
  for (const listener of listeners) await listener.until('a book', () => listener.count('snapshot') > 0)
  return { server, clock, source, metrics }
}

const books = (server: KrakenServer) =>
  server.requests.flatMap(({ method, params }) =>
    params.channel === 'book' ? [`${method} ${params.symbol?.join()} ${params.depth}`] : [],
  )

/** Resolves when what the server has said up to now was read. */
async function hear(server: KrakenServer, listener: SourceListener, amount: number) {
  server.broadcast(frameOf(`${listener.market.baseAsset}/${listener.market.quoteAsset}`, amount))
  await listener.until('a sign of life', () => listener.side(ASK)[0]?.endsWith(`:${amount}.00000000`) === true)
}

it('an added market is subscribed on the existing connection; the others do not notice', async () => {
  const btc = new SourceListener('BTC/USD')
  const eth = new SourceListener('ETH/USD', { depth: 100 })
  const { server, source } = await setUp(btc)
  source.add(eth.sourceMarket)
  await eth.until('a book', () => eth.count('snapshot') === 1)
  expect(books(server)).toEqual(['subscribe BTC/USD 10', 'subscribe ETH/USD 100'])
  expect(server.connections()).toBe(1)
  await hear(server, btc, 7)
  expect(btc.events.map(({ type }) => type)).toEqual(['snapshot', 'update'])
  expect(eth.reasons()).toEqual([])
})

it('a removed market is unsubscribed and gets nothing more; the others do not notice', async () => {
  const btc = new SourceListener('BTC/USD')
  const eth = new SourceListener('ETH/USD')
  const { server, source, metrics } = await setUp(btc, eth)
  source.remove(eth.sourceMarket)
  source.remove(new SourceListener('ETH/USD').sourceMarket)
  await server.until('the unsubscription', () => books(server).includes('unsubscribe ETH/USD 10'))
  server.broadcast(frameOf('ETH/USD', 9))
  await hear(server, btc, 7)
  expect(eth.events).toHaveLength(1)
  expect(btc.reasons()).toEqual([])
  const text = await metrics.metrics()
  expect(text).toContain('symbol="BTC/USD"')
  expect(text).not.toContain('symbol="ETH/USD"')
  source.rebuild(eth.sourceMarket, 'it has no subscriber')
  await hear(server, btc, 8)
  expect(books(server)).toHaveLength(2)
})

it('a market that is removed and added at once has its book again', async () => {
  const btc = new SourceListener('BTC/USD')
  const { server, source } = await setUp(btc)
  const again = new SourceListener('BTC/USD')
  source.remove(btc.sourceMarket)
  source.add(again.sourceMarket)
  await again.until('a book', () => again.count('snapshot') === 1)
  await hear(server, again, 7)
  expect(again.states.at(-1)).toBe('100.10:1.00000000 | 100.20:7.00000000')
  expect(again.reasons()).toEqual([])
  expect(btc.events).toHaveLength(1)
  expect(books(server)).toEqual(['subscribe BTC/USD 10', 'unsubscribe BTC/USD 10', 'subscribe BTC/USD 10'])
})

it('a pair is subscribed again, deep enough for all, when a market is added to it, and when it is removed', async () => {
  const btc = new SourceListener('BTC/USD')
  const deep = new SourceListener('BTC/USD', { symbol: 'DEEPUSD', depth: 500 })
  const { server, source } = await setUp(btc)
  source.add(deep.sourceMarket)
  await deep.until('a book', () => deep.count('snapshot') === 1)
  expect(btc.events.map(({ type }) => type)).toEqual(['snapshot', 'lost', 'snapshot'])
  source.remove(deep.sourceMarket)
  await btc.until('its book again', () => btc.count('snapshot') === 3)
  expect(btc.reasons()).toEqual(Array(2).fill('BTC/USD is subscribed again because its markets changed'))
  expect(deep.states).toHaveLength(1)
  expect(books(server).filter((request) => request.startsWith('subscribe'))).toEqual([
    'subscribe BTC/USD 10',
    'subscribe BTC/USD 500',
    'subscribe BTC/USD 10',
  ])
})

describe('a market that comes', () => {
  it('an added market is lost with the reason when the venue does not list it', async () => {
    const { source } = await setUp(new SourceListener('BTC/USD'))
    const foo = new SourceListener('FOO/USD')
    source.add(foo.sourceMarket)
    expect(foo.reasons()).toEqual(['kraken does not list FOO/USD'])
  })

  it('a market that is added without a connection is subscribed with the next one', async () => {
    const btc = new SourceListener('BTC/USD')
    const { server, source, clock } = await setUp(btc)
    server.disconnectAll()
    await btc.until('the loss', () => btc.count('lost') === 1)
    const eth = new SourceListener('ETH/USD')
    source.add(eth.sourceMarket)
    clock.advance(500)
    await eth.until('a book', () => eth.count('snapshot') === 1)
    await btc.until('a book', () => btc.count('snapshot') === 2)
    expect(books(server).at(-1)).toBe('subscribe BTC/USD,ETH/USD 10')
  })

  it('a market that is added after the last one was removed is subscribed as well', async () => {
    const btc = new SourceListener('BTC/USD')
    const { server, source } = await setUp(btc)
    source.remove(btc.sourceMarket)
    const eth = new SourceListener('ETH/USD')
    source.add(eth.sourceMarket)
    await eth.until('a book', () => eth.count('snapshot') === 1)
    expect(books(server)).toEqual(['subscribe BTC/USD 10', 'unsubscribe BTC/USD 10', 'subscribe ETH/USD 10'])
  })
})
