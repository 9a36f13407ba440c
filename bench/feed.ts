/**
 * The connectors: messages per second of CPU time that each can process, and its added latency. *Read* is the protocol,
 * the pair and its listener in this process, compared with `JSON.parse` on the same frames in the same rounds. *Socket*
 * is the whole source with its connection, fed by another process. The latency is measured at ten times the recorded
 * speed: from the moment a frame leaves the WebSocket client to its event at the listener, and from the other process's
 * write to the same.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import type { SourceMarket } from '../src/streaming/sources/source.ts'
import type { VenueMessage, VenueProtocol } from '../src/streaming/sources/venues/venue.ts'
import { pairMetrics, venueMetrics } from '../src/streaming/sources/venues/venue-metrics.ts'
import { VenuePair } from '../src/streaming/sources/venues/venue-pair.ts'
import { VenueSource } from '../src/streaming/sources/venues/venue-source.ts'
import { VenueTradeBridge } from '../src/streaming/sources/venues/venue-trade-bridge.ts'
import { VenueTrades } from '../src/streaming/sources/venues/venue-trades.ts'
import { VENUE_NAMES } from '../src/streaming/sources/venues/venues.ts'
import { END_FRAME, LISTINGS_FRAME, nowMicroseconds, STAMP_DIGITS } from './feed-venue.ts'
import { WORKLOADS, type Workload } from './feed-workloads.ts'
import { type BenchResult, resultTable } from './result.ts'

const PACE = 10
const CONTROL = '#'.charCodeAt(0)
const log = createLog('error')
const clock = createSystemClock()

/** Frames to read per run. Small recordings are read repeatedly. */
interface Size {
  readonly rounds: number
  readonly frames: number
  readonly pacedRounds: number
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? { rounds: 3, frames: 20_000, pacedRounds: 1 } : { rounds: 7, frames: 30_000, pacedRounds: 3 }
  const venue = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('feed-venue.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => venue.kill('SIGKILL'))
  const url = `ws://127.0.0.1:${await firstLine(venue)}`
  const results: BenchResult[] = []
  for (const name of VENUE_NAMES) {
    const workload = await WORKLOADS[name]?.()
    if (workload === undefined) console.error(`${name} is left out: there is no recording of it`)
    else results.push(...(await measure(workload, url, size)))
  }
  venue.kill('SIGKILL')
  await once(venue, 'exit')
  return results
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string]
  return line
}

async function measure(workload: Workload, url: string, size: Size): Promise<BenchResult[]> {
  const { venue, origin, frames } = workload
  const passes = Math.ceil(size.frames / frames.length)
  const name = (what: string) => `${venue} (${origin}): ${what}`
  const parsed: BenchResult = { name: name('JSON.parse'), unit: 'messages/CPU s', runs: [] }
  const read: BenchResult = { name: name('read'), unit: 'messages/CPU s', runs: [], reference: parsed.name }
  const socket: BenchResult = { name: name('socket'), unit: 'messages/CPU s', runs: [], reference: parsed.name }
  // The first round of each warms up the compiler.
  for (let round = 0; round <= size.rounds; round++) {
    const values = [
      parseAll(workload, passes),
      await readAll(workload, passes),
      await readFromSocket(workload, `${url}/${venue}/fast/${passes}`, passes),
    ]
    if (round === 0) continue
    for (const [index, result] of [parsed, read, socket].entries()) result.runs.push(values[index]!)
  }
  const delays = { read: [] as number[][], write: [] as number[][] }
  for (let round = 0; round < size.pacedRounds; round++) {
    const { fromRead, fromWrite } = await readAtPace(workload, `${url}/${venue}/pace/${PACE}`)
    delays.read.push(fromRead)
    delays.write.push(fromWrite)
  }
  const delay = (what: string, runs: readonly number[][], part: number): BenchResult => ({
    name: name(`${what}, p${part * 100}`),
    unit: 'us',
    runs: runs.map((values) => quantile(values, part)),
  })
  return [
    parsed,
    read,
    socket,
    delay('frame to event', delays.read, 0.5),
    delay('frame to event', delays.read, 0.99),
    delay('write to event', delays.write, 0.5),
    delay('write to event', delays.write, 0.99),
  ]
}

function parseAll({ frames }: Workload, passes: number): number {
  const started = cpuMicroseconds()
  for (let pass = 0; pass < passes; pass++) for (const { text } of frames) JSON.parse(text)
  return perSecond(frames.length * passes, cpuMicroseconds() - started)
}

/** Each pass begins with new pairs, whose creation costs the run no time. */
async function readAll(workload: Workload, passes: number): Promise<number> {
  const { frames } = workload
  let microseconds = 0
  for (let pass = 0; pass < passes; pass++) {
    const counter = new EventCounter(workload)
    const protocol = workload.createProtocol()
    const pairs = createPairs(workload, protocol, counter)
    const bridge = createBridge(protocol, pairs)
    // Fetched data is available after this tick.
    await new Promise((resolve) => setImmediate(resolve))
    const started = cpuMicroseconds()
    for (const { text } of frames) {
      for (const message of protocol.read(text)) {
        if (message.kind === 'book') pairs.get(message.symbol)?.apply(message.data)
        else if (message.kind === 'trades' && bridge !== undefined) bridge.take(message.symbol, message.trades)
        else if (message.kind === 'trades') pairs.get(message.symbol)?.trade(message.trades, message.isRepeat)
      }
    }
    microseconds += cpuMicroseconds() - started
    counter.expectClean()
    for (const pair of pairs.values()) pair.stop()
  }
  return perSecond(frames.length * passes, microseconds)
}

/** Numbers the trades from venues that do not. Nothing interrupts them here. */
function createBridge(
  { hasUnnumberedTrades }: VenueProtocol<unknown>,
  pairs: ReadonlyMap<string, VenuePair<unknown>>,
): VenueTradeBridge | undefined {
  if (hasUnnumberedTrades !== true) return undefined
  return new VenueTradeBridge({
    clock,
    random: Math.random,
    log,
    fetchPage: () => Promise.resolve({ problem: 'not recorded' }),
    position: () => undefined,
    pass: (symbol, trades, isRepeat) => pairs.get(symbol)?.trade(trades, isRepeat),
  })
}

function createPairs(
  { venue, listings }: Workload,
  protocol: VenueProtocol<unknown>,
  counter: EventCounter,
): Map<string, VenuePair<unknown>> {
  const metrics = venueMetrics(createMetricsRegistry())
  const { fetchSnapshot } = protocol
  return new Map(
    listings.map((listing) => {
      const { symbol } = listing
      const fetch =
        fetchSnapshot === undefined
          ? {}
          : { fetchSnapshot: (depth: number, signal: AbortSignal) => fetchSnapshot(symbol, depth, signal) }
      const pair = new VenuePair({
        venue,
        symbol,
        markets: counter.markets.filter(({ venueSymbol }) => venueSymbol === symbol),
        protocol,
        trades: new VenueTrades(symbol),
        hasTrades: false,
        isTrading: () => true,
        clock,
        random: Math.random,
        log,
        metrics: pairMetrics(metrics, venue, symbol),
        request: () => undefined,
        ...fetch,
      })
      if (pair.list(listing)) pair.subscribed()
      pair.acknowledge()
      return [symbol, pair]
    }),
  )
}

/** All rounds over one connection: from the first frame to the last, without the time until the snapshots. */
async function readFromSocket(workload: Workload, url: string, passes: number): Promise<number> {
  let started: number | undefined
  let value = 0
  const count = workload.frames.length * passes
  const counter = new EventCounter(workload)
  await connect(workload, url, counter, (protocol) => ({
    onFrame: (text) => {
      started ??= cpuMicroseconds()
      return protocol.read(text)
    },
    onEnd: () => {
      value = perSecond(count, cpuMicroseconds() - (started ?? 0))
    },
  }))
  counter.expectClean()
  return value
}

/** Latencies in microseconds, for each frame that causes an event. */
async function readAtPace(workload: Workload, url: string): Promise<{ fromRead: number[]; fromWrite: number[] }> {
  const fromRead: number[] = []
  const fromWrite: number[] = []
  let readAt = 0n
  let writtenMicroseconds = 0
  const counter = new EventCounter(workload, () => {
    if (readAt === 0n) return
    fromRead.push(Number(process.hrtime.bigint() - readAt) / 1000)
    fromWrite.push(nowMicroseconds() - writtenMicroseconds)
    readAt = 0n
  })
  await connect(workload, url, counter, (protocol) => ({
    onFrame: (text) => {
      readAt = process.hrtime.bigint()
      // A later event, from the fetched snapshot of a book, does not belong to this frame.
      queueMicrotask(() => {
        readAt = 0n
      })
      writtenMicroseconds = Number(text.slice(1, 1 + STAMP_DIGITS))
      return protocol.read(text.slice(1 + STAMP_DIGITS))
    },
    onEnd: () => undefined,
  }))
  counter.expectClean()
  return { fromRead, fromWrite }
}

interface Handlers {
  readonly onFrame: (text: string) => readonly VenueMessage<unknown>[]
  readonly onEnd: () => void
}

/** Runs a source on one connection to the other process until everything is sent. */
async function connect(
  workload: Workload,
  url: string,
  counter: EventCounter,
  handle: (protocol: VenueProtocol<unknown>) => Handlers,
): Promise<void> {
  const own = workload.createProtocol()
  const { onFrame, onEnd } = handle(own)
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const read = (text: string): readonly VenueMessage<unknown>[] => {
    if (text.charCodeAt(0) === CONTROL && text === LISTINGS_FRAME) return beginning(workload)
    if (text.charCodeAt(0) !== CONTROL || text !== END_FRAME) return onFrame(text)
    onEnd()
    end()
    return []
  }
  // Nothing is sent, but a protocol may read only what it has requested on this connection.
  const requests: typeof own.requests = (...request) => {
    own.requests(...request)
    return []
  }
  const source = new VenueSource({
    venue: workload.venue,
    proof: 'NONE',
    protocol: { ...own, listings: { requests: () => [] }, read, createBook: own.createBook, requests },
    url,
    markets: counter.markets,
    clock,
    random: Math.random,
    log,
    metrics: createMetricsRegistry(),
  })
  source.start()
  await ended
  await source.stop()
}

/** The messages that a venue sends before its first frames. */
function beginning({ listings }: Workload): VenueMessage<unknown>[] {
  const acknowledged = listings.map(({ symbol }) => ({ kind: 'acknowledged', symbol }) as const)
  return [{ kind: 'listings', isComplete: true, listings }, ...acknowledged]
}

/** Listens to a market for each pair. */
class EventCounter {
  readonly markets: readonly SourceMarket[]
  readonly #reasons: string[] = []
  readonly #venue: string
  #events = 0

  constructor({ venue, listings, depths }: Workload, onEvent: () => void = () => undefined) {
    this.#venue = venue
    this.markets = listings.map(({ symbol, priceDecimals, amountDecimals }) => ({
      venueSymbol: symbol,
      market: {
        symbol,
        baseAsset: symbol,
        quoteAsset: symbol,
        priceDecimals,
        amountDecimals,
        depth: depths.get(symbol) ?? 0,
      },
      listener: (event) => {
        onEvent()
        this.#events += 1
        if (event.type === 'lost' || event.type === 'missed') this.#reasons.push(event.reason)
      },
    }))
  }

  /** A connector that loses the frame sequence measures nothing. */
  expectClean(): void {
    if (this.#events === 0 || this.#reasons.length > 0) {
      throw new Error(`${this.#venue}: ${this.#events} events; lost: ${this.#reasons.slice(0, 3).join('; ')}`)
    }
  }
}

/** CPU time for all threads in this process, which other load on the machine hardly affects. */
function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

function perSecond(count: number, microseconds: number): number {
  return (count * 1e6) / microseconds
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(resultTable(await run({ quick: process.argv.includes('--quick') })))
}
