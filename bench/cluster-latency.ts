/**
 * What each link adds to a commit's way: from publishing on the feed's bus to publishing on a follower's bus, one
 * commit at a time. Both ends are in this process and share a thread, so the figures are an upper bound. Within a
 * process, publishing is a call.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import { BusExport, type ExportTransport } from '../src/streaming/links/bus-export.ts'
import { BusImport, createImportMetrics, type ImportTransport } from '../src/streaming/links/bus-import.ts'
import { decodeStateRequest, encodeStateRequest } from '../src/streaming/links/bus-requests.ts'
import { NatsLink } from '../src/streaming/links/link-nats.ts'
import { PipeLink } from '../src/streaming/links/link-pipe.ts'
import { BID, type LevelChange } from '../src/streaming/market/event.ts'
import type { Bus } from '../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../src/streaming/sequencing/sequencer-metrics.ts'
import { NATS_SERVER } from '../test/support/foreign-programs.ts'
import { NatsServer } from '../test/support/nats-server.ts'
import type { BenchResult } from './result.ts'

const MARKET = {
  symbol: 'BTCUSD',
  baseAsset: 'BTC',
  quoteAsset: 'USD',
  priceDecimals: 2,
  amountDecimals: 8,
  depth: 0,
}
/** Time between two commits: a sequencer commits at most once per millisecond. */
const PAUSE_MILLISECONDS = 2

const clock = createSystemClock()
const log = createLog('silent')

interface Ends {
  readonly feed: Bus
  readonly follower: Bus
  readonly sequencer: Sequencer
  stop(): Promise<void>
}

export async function measureLatency(commits: number): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  const links = [['a pipe', linkByPipe], ...(NATS_SERVER.isSkipped ? [] : [['NATS', linkByNats] as const])] as const
  for (const [name, link] of links) {
    console.error(`latency over ${name}`)
    const ends = await link()
    const micros = await measure(ends, commits)
    await ends.stop()
    for (const [share, text] of [
      [0.5, 'median'],
      [0.99, '99 %'],
    ] as const) {
      const value = micros[Math.ceil(share * micros.length) - 1] as number
      results.push({ name: `latency of a commit over ${name}, ${text}`, unit: 'µs', runs: [value] })
    }
  }
  return results
}

/** Sorted, in microseconds. */
async function measure({ feed, follower, sequencer }: Ends, commits: number): Promise<number[]> {
  let sent = 0
  let received: (milliseconds: number) => void = () => undefined
  feed.subscribe(MARKET.symbol, ({ type }) => {
    if (type === 'commit') sent = performance.now()
  })
  follower.subscribe(MARKET.symbol, ({ type }) => {
    if (type === 'commit') received(performance.now() - sent)
  })
  const latencies: number[] = []
  for (let count = 1; count <= commits; count++) {
    const arrival = new Promise<number>((resolve) => {
      received = resolve
    })
    const changes: LevelChange[] = [{ side: BID, price: 1_000 + (count % 100), amount: count }]
    sequencer.offer({ type: 'update', changes, executions: [] })
    latencies.push(1_000 * (await arrival))
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS))
  }
  return latencies.sort((left, right) => left - right)
}

async function linkByPipe(): Promise<Ends> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  const server = createServer().listen(join(folder, 'socket'))
  await once(server, 'listening')
  const far = createConnection(join(folder, 'socket'))
  const [near] = (await once(server, 'connection')) as [Socket]
  const { bus, sequencer, exporter } = createFeed({
    sendMessages: (_market, bytes) => sending.send('messages', bytes),
    sendHeartbeats: (bytes) => sending.send('heartbeats', bytes),
    sendDigest: (bytes) => sending.send('digest', bytes),
  })
  const sending = new PipeLink(near, (_name, bytes) =>
    exporter.onStateRequest(decodeStateRequest(bytes), (states) => {
      for (const state of states) sending.send('state', state)
    }),
  )
  const follower = createFollower({
    requestState: (request) => receiving.send('stateRequest', encodeStateRequest(request)),
    requestCommit: () => undefined,
  })
  const receiving = new PipeLink(far, (name, bytes) => {
    if (name === 'messages') follower.importer.onMessages(bytes)
    else if (name === 'heartbeats') follower.importer.onHeartbeats(bytes)
    else if (name === 'digest') follower.importer.onDigest(bytes)
    else follower.importer.onState(bytes)
  })
  await begin(sequencer, follower)
  return {
    feed: bus,
    follower: follower.bus,
    sequencer,
    async stop() {
      for (const end of [follower.importer, exporter, sequencer]) end.stop()
      near.destroy()
      far.destroy()
      server.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function linkByNats(): Promise<Ends> {
  const server = await NatsServer.start()
  const [sending, receiving] = [openLink(server.url), openLink(server.url)]
  const { bus, sequencer, exporter } = createFeed(sending.exportTransport)
  sending.serve(MARKET.symbol, exporter, () => undefined)
  const follower = createFollower(receiving.importTransport)
  receiving.startImport(follower.importer)
  receiving.follow(MARKET.symbol)
  await begin(sequencer, follower)
  return {
    feed: bus,
    follower: follower.bus,
    sequencer,
    async stop() {
      for (const end of [follower.importer, exporter, sequencer]) end.stop()
      await Promise.all([sending.stop(), receiving.stop()])
      await server.remove()
    },
  }
}

function openLink(url: string): NatsLink {
  const node = `bench${Math.random().toString(36).slice(2)}`
  const access = { url, credentials: undefined, tls: {} }
  return new NatsLink({ ...access, node, clock, log, metrics: createMetricsRegistry(), random: Math.random })
}

function createFeed(transport: ExportTransport) {
  const bus = createMemoryBus()
  const replica = new Replica({ market: MARKET, bus, executionsKept: 100 })
  const exporter = new BusExport({ bus, clock, transport, replicaOf: () => replica })
  exporter.add(MARKET.symbol)
  const sequencer = new Sequencer({
    market: MARKET,
    epoch: 'bench',
    bus,
    clock,
    log,
    metrics: createSequencerMetrics(createMetricsRegistry()),
    floorMilliseconds: 0,
    onRebuildNeeded: () => undefined,
  })
  return { bus, sequencer, exporter }
}

function createFollower(transport: ImportTransport) {
  const bus = createMemoryBus()
  const replica = new Replica({ market: MARKET, bus, executionsKept: 100 })
  const importer = new BusImport({
    bus,
    clock,
    log,
    random: Math.random,
    transport,
    replicaOf: () => replica,
    withdrawAfterMilliseconds: undefined,
    metrics: createImportMetrics(createMetricsRegistry()),
  })
  importer.add(MARKET)
  return { bus, replica, importer }
}

/** Resolves when the follower has the first book. */
async function begin(sequencer: Sequencer, { replica }: ReturnType<typeof createFollower>): Promise<void> {
  sequencer.offer({ type: 'snapshot', levels: [{ side: BID, price: 1_000, amount: 1 }] })
  await new Promise<void>((resolve) => {
    const end = replica.listen({
      onCommit: () => undefined,
      onStatus: (live) => {
        if (!live) return
        end()
        resolve()
      },
    })
  })
}
