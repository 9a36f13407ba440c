/**
 * The ingest benchmark's receiving process: the ingest listener on a real socket, or the pulling source, each with a
 * sequencer, a bus and a replica, and the same pipeline behind the simulator. The processor time is the whole
 * process's, from the first message after the SNAPSHOT until nothing is left to do. A market that is lost or misses
 * executions meanwhile ends the process, because it would measure nothing.
 */
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { Directory } from '../src/access/clients/directory.ts'
import { PUBLISH_SCOPE } from '../src/contract/scopes.ts'
import { type Clock, createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import { createHttpServer } from '../src/platform/http/server.ts'
import { Ingest } from '../src/streaming/ingest/ingest.ts'
import type { MarketEvent } from '../src/streaming/market/event.ts'
import { createMemoryBus } from '../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../src/streaming/sequencing/sequencer-metrics.ts'
import { createSimulator } from '../src/streaming/sources/simulator/simulator.ts'
import type { Source } from '../src/streaming/sources/source.ts'
import { TidegateSource } from '../src/streaming/sources/tidegate/tidegate-source.ts'
import { VirtualClock } from '../test/support/virtual-clock.ts'
import { type Answer, answerCommands, writeAnswer } from './fanout-driver.ts'
import { INGEST_MARKET, INGEST_TOKEN, SEED } from './ingest-messages.ts'

/** The simulator's virtual rate at full speed: about as many messages per commit as publishers reach. */
const FAST_PER_SECOND = 50_000
/** Time after the last message for its commit, and for the other line. */
const SETTLE_MILLISECONDS = 30
const WAIT_MILLISECONDS = 10

const clock = createSystemClock()
const log = createLog('error')

/** A market from its source to its replica. */
class Pipeline {
  readonly sourceMarket = { market: INGEST_MARKET, venueSymbol: INGEST_MARKET.symbol, listener: this.#take.bind(this) }
  readonly #sequencer: Sequencer
  readonly #replica: Replica
  #isLive = false
  #isMeasuring = false
  #count = 0
  #expected = 0
  #usage: NodeJS.CpuUsage | undefined
  #version = 0
  #begunMilliseconds = 0
  #endedMilliseconds = 0

  constructor(pipelineClock: Clock) {
    const bus = createMemoryBus()
    this.#replica = new Replica({ market: INGEST_MARKET, bus, executionsKept: 1000 })
    this.#sequencer = new Sequencer({
      market: INGEST_MARKET,
      epoch: 'bench',
      bus,
      clock: pipelineClock,
      log,
      metrics: createSequencerMetrics(createMetricsRegistry()),
      floorMilliseconds: 0,
      onRebuildNeeded: (reason) => {
        throw new Error(reason)
      },
    })
  }

  get isComplete(): boolean {
    return this.#count >= this.#expected
  }

  /** Waits for the SNAPSHOT before a run with this many messages. */
  async expect(count: number): Promise<Answer> {
    while (!this.#isLive) await pause(WAIT_MILLISECONDS)
    await pause(SETTLE_MILLISECONDS)
    this.measure(count)
    return {}
  }

  measure(count: number): void {
    this.#isMeasuring = true
    this.#count = 0
    this.#expected = count
    this.#usage = undefined
  }

  async finish(): Promise<Answer> {
    while (!this.isComplete) await pause(WAIT_MILLISECONDS)
    await pause(SETTLE_MILLISECONDS)
    return this.result()
  }

  result(): Answer {
    this.#isMeasuring = false
    this.#isLive = false
    const { user, system } = process.cpuUsage(this.#usage)
    return {
      cpuMicroseconds: user + system,
      seconds: (this.#endedMilliseconds - this.#begunMilliseconds) / 1000,
      messages: this.#count,
      commits: this.#replica.version - this.#version,
    }
  }

  #take(event: MarketEvent): void {
    if (event.type === 'update') {
      if (this.#usage === undefined) {
        this.#usage = process.cpuUsage()
        this.#begunMilliseconds = performance.now()
        this.#version = this.#replica.version
      }
      this.#count += 1
      if (this.#count === this.#expected) this.#endedMilliseconds = performance.now()
    } else if (event.type === 'snapshot') this.#isLive = true
    else if (this.#isMeasuring) throw new Error(`${event.type} after ${this.#count} messages: ${event.reason}`)
    this.#sequencer.offer(event)
  }
}

/** The ingest listener, with one client that may publish the market. Its token is its id. */
export async function openIngest(
  pipeline: Pick<Pipeline, 'sourceMarket'>,
): Promise<{ readonly port: number; readonly source: Source }> {
  const directory = new Directory()
  const metrics = createMetricsRegistry()
  const token = {
    clientId: INGEST_TOKEN,
    customerId: 'exchange',
    tokenId: 'token',
    keyId: 'key',
    scopes: new Set([PUBLISH_SCOPE]),
    issuedAtSeconds: 0,
    expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
  }
  const publishMarkets = new Set([INGEST_MARKET.symbol])
  directory.replace({
    customers: [{ id: 'exchange', name: 'exchange', enabled: true, streaming: false }],
    clients: [{ ...token, name: 'engine', publishMarkets, enabled: true }],
  })
  const ingest = new Ingest({
    directory,
    verifier: { verify: async () => ({ ok: true, token }) },
    clock,
    log,
    metrics,
    settings: {
      connectionsMax: () => 8,
      lineWaitMilliseconds: () => 1_000,
      messageBytesMax: 16_777_216,
      closesExpired: false,
    },
  })
  const app = createHttpServer({
    listener: 'ingest',
    log,
    metrics,
    clock,
    headerBytesMax: 32_768,
    requestMilliseconds: 60_000,
    translate: () => undefined,
    upgrade: (request, socket, head) => ingest.upgrade(request, socket, head, { address: '127.0.0.1', holder: '' }),
  })
  ingest.registerRoutes(app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const source = ingest.createSource([pipeline.sourceMarket])
  source.start()
  ingest.open()
  return { port: (app.server.address() as AddressInfo).port, source }
}

/** Pulls from the publisher at this port. */
export function startPull(pipeline: Pick<Pipeline, 'sourceMarket'>, port: number): Source {
  const source = new TidegateSource({
    name: 'engine',
    url: `ws://127.0.0.1:${port}/`,
    credentials: { kind: 'none' },
    markets: [pipeline.sourceMarket],
    clock,
    random: Math.random,
    log,
    metrics: createMetricsRegistry(),
  })
  source.start()
  return source
}

/** The simulator in real time at this rate, or without a pause (0). */
async function simulate(rate: number, count: number): Promise<Answer> {
  const virtual = rate === 0 ? new VirtualClock() : undefined
  const pipeline = new Pipeline(virtual ?? clock)
  const simulator = createSimulator({
    markets: [pipeline.sourceMarket],
    seed: SEED,
    updatesPerSecond: rate === 0 ? FAST_PER_SECOND : rate,
    clock: virtual ?? clock,
  })
  pipeline.measure(count)
  simulator.start()
  while (virtual !== undefined && !pipeline.isComplete) {
    virtual.advance(1)
    await new Promise((resolve) => setImmediate(resolve))
  }
  while (!pipeline.isComplete) await pause(WAIT_MILLISECONDS)
  const result = pipeline.result()
  await simulator.stop()
  return result
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const pushed = new Pipeline(clock)
  const pulled = new Pipeline(clock)
  let current = pushed
  let pulling: Source | undefined
  const { port, source } = await openIngest(pushed)
  writeAnswer({ port })
  answerCommands({
    expect: (count) => current.expect(count),
    finish: () => current.finish(),
    simulate,
    pull: (publisherPort) => {
      current = pulled
      pulling = startPull(pulled, publisherPort)
      return {}
    },
    /** Resolves when none of the market's lines is connected. */
    async idle() {
      await pulling?.stop()
      pulling = undefined
      current = pushed
      while ((source.notices?.(pushed.sourceMarket) ?? []).length > 0) await pause(WAIT_MILLISECONDS)
      return {}
    },
  })
}
