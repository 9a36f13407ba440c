/**
 * The path of one frame: the files in which code runs between a book update of a Kraken server and the socket writes of
 * two subscribers, one for each protocol, as V8 counts them. src/streaming/README.md names exactly these files.
 */

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session as Inspector, type Profiler } from 'node:inspector/promises'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { EXTENDED_SUBPROTOCOL } from '../../../src/contract/channels.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { Hub } from '../../../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../../src/streaming/gateway/metrics.ts'
import { Transport } from '../../../src/streaming/gateway/outbox.ts'
import { MarketReplicas } from '../../../src/streaming/markets/market-replicas.ts'
import { MarketWriters } from '../../../src/streaming/markets/market-writers.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { once } from '../../support/awaited.ts'
import { scriptKraken } from '../../support/kraken-script.ts'
import { createKrakenSource } from '../../support/kraken-source.ts'
import { SETTINGS } from '../../support/stream-simulation.ts'
import { startKrakenServer } from '../../support/venues/kraken.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FOLDER = 'src/streaming'
const PATH_FILES_MAX = 14
const FILES_MAX = 28

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** The rows of the table: a file of the path, and the files that it uses. */
function describedPath(): { readonly path: string[]; readonly used: string[] } {
  const text = readFileSync(join(ROOT, FOLDER, 'README.md'), 'utf8')
  const section = text.split('## The path of one frame\n')[1]?.split('\n## ')[0] ?? ''
  const rows = [...section.matchAll(/^\| \d+ \| `([^`]+)` \|.*\|([^|]*)\|$/gm)]
  const files = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => `${FOLDER}/${name}.ts`)
  return {
    path: rows.map(([, file]) => `${FOLDER}/${file}.ts`),
    used: rows.flatMap(([, , cell]) => files(cell as string)),
  }
}

/** Constants, which the test runner reads through functions. */
const NOT_ON_THE_PATH = [
  'src/contract/channels.ts',
  'src/streaming/market/event.ts',
  'src/streaming/sequencing/phases.ts',
]

/** Files of `src` other than `base` with a function that was called meanwhile. */
async function filesThatRun(work: () => Promise<void>): Promise<string[]> {
  const inspector = new Inspector()
  inspector.connect()
  await inspector.post('Profiler.enable')
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  const { result } = (await inspector.post('Profiler.takePreciseCoverage')) as Profiler.TakePreciseCoverageReturnType
  await inspector.post('Profiler.stopPreciseCoverage')
  inspector.disconnect()
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
  const files = ran.flatMap(({ url }) => /\/(src\/[^?]+\.ts)/.exec(url)?.[1] ?? [])
  return [...new Set(files)]
    .filter((file) => !file.startsWith('src/platform/base/') && !NOT_ON_THE_PATH.includes(file))
    .sort()
}

/** A Kraken server, the whole pipeline of one market, and a server of its stream. */
async function serveMarket() {
  const shape = { symbol: 'BTC/USD', depth: 10, pricePrecision: 1, quantityPrecision: 8 }
  const first = { type: 'snapshot', bids: [[100.1, 1]], asks: [[100.2, 2]] } as const
  const updates = [3, 4].map((amount) => ({ type: 'update', bids: [[100, amount]], asks: [] }) as const)
  const [, ...frames] = scriptKraken(shape, [first, ...updates]).frames
  const venue = await startKrakenServer({ recordings: [scriptKraken(shape, [first])], speed: Infinity })
  ends.push(() => venue.close())
  const [clock, log, metrics, bus] = [
    createSystemClock(),
    createLog('silent'),
    createMetricsRegistry(),
    createMemoryBus(),
  ]
  const definition = {
    symbol: 'BTCUSD',
    baseAsset: 'BTC',
    quoteAsset: 'USD',
    priceDecimals: 2,
    amountDecimals: 8,
    depth: 10,
  }
  const source = { feed: 'kraken', symbol: 'BTC/USD' }
  const markets = [{ definition, sources: [source], aggregation: { policy: 'recency' }, feedGroup: 'default' }] as const
  const replicas = new MarketReplicas({ markets, bus, executionsKept: 100 })
  const writers = new MarketWriters({
    markets,
    bus,
    clock,
    log,
    metrics: createSequencerMetrics(metrics),
    allowsSimulated: () => false,
    createSource: (_name, fed) => createKrakenSource({ url: venue.url, markets: fed, clock, log, metrics }),
  })
  ends.push(() => writers.stop())
  const hub = new Hub({
    replicas: replicas.all,
    bus,
    // Without timers: a ping or a heartbeat would add its files to those of the frame.
    clock: { ...clock, schedule: () => ({ cancel: () => undefined }) },
    log,
    metrics: createGatewayMetrics(metrics),
    settings: SETTINGS,
    random: () => 0.5,
  })
  ends.push(() => hub.stop())
  await writers.start(new Map())
  const http = createServer()
  const webSockets = new WebSocketServer({ noServer: true })
  http.on('upgrade', (request, socket: Socket, head) => {
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const token = { clientId: 'client', customerId: 'customer', expiresAt: Number.MAX_SAFE_INTEGER }
      const session = hub.open(new Transport(webSocket, socket, clock, '127.0.0.1'), token as never)
      webSocket.on('message', (data, isBinary) => session.receive({ data: data as Buffer, isBinary }))
      webSocket.on('close', () => session.end())
    })
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  ends.push(() => void http.close())
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/`,
    send: () => venue.broadcast(frames.shift()?.text ?? ''),
  }
}

/** A subscriber of the book; `next` resolves with the type of the next message of it. */
async function subscribe(url: string, subprotocols: string[]) {
  const socket = new WebSocket(url, subprotocols)
  ends.push(() => socket.terminate())
  const types: string[] = []
  socket.on('message', (data) => {
    const { channel, payload } = JSON.parse(String(data))
    if (channel === 'market_data') types.push(payload.type)
  })
  await once(socket, 'open')
  socket.send('{"type":"subscribe","channels":[{"type":"market_data","params":{"market":"BTCUSD"}}]}')
  const until = async (count: number) => {
    while (types.length < count) await once(socket, 'message')
    return types
  }
  await until(1)
  return { until }
}

it('a frame passes the files that src/streaming/README.md names: at most 14, and 28 with those that they use', async () => {
  const { path, used } = describedPath()
  const { url, send } = await serveMarket()
  const subscribers = [await subscribe(url, []), await subscribe(url, [EXTENDED_SUBPROTOCOL])]
  // After the first update both subscribers are current, whatever their subscription still had to do.
  send()
  for (const { until } of subscribers) await until(2)
  const files = await filesThatRun(async () => {
    send()
    for (const { until } of subscribers) expect(await until(3)).toEqual(['SNAPSHOT', 'UPDATE', 'UPDATE'])
  })
  expect(files).toEqual([...new Set([...path, ...used])].sort())
  expect(path.length).toBeLessThanOrEqual(PATH_FILES_MAX)
  expect(files.length).toBeLessThanOrEqual(FILES_MAX)
})
