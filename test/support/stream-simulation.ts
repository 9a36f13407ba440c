/**
 * The whole path from source messages to socket bytes under a virtual clock: sequencers, bus, replicas, hub, and
 * clients whose sockets drain as the seed determines. Every message read by a client is checked by its verifier.
 */
import type { Log } from '../../src/platform/base/log.ts'
import { createLog } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import { Hub } from '../../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../src/streaming/gateway/metrics.ts'
import type { HubSettings } from '../../src/streaming/gateway/requests.ts'
import type { Session } from '../../src/streaming/gateway/session.ts'
import type { MarketDefinition } from '../../src/streaming/market/event.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import type { ReceiptSigner } from '../../src/streaming/sequencing/receipt-signer.ts'
import { Replica } from '../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../src/streaming/sequencing/sequencer-metrics.ts'
import { ANY_TOKEN, FakeTransport } from './fake-transport.ts'
import { MarketHistory } from './market-history.ts'
import { MarketNoise, type NoiseOptions } from './market-noise.ts'
import { Random } from './random.ts'
import { StreamVerifier } from './stream-verifier.ts'
import { VirtualClock } from './virtual-clock.ts'

export const SETTINGS: HubSettings = {
  outboxBytesMax: 16_384,
  writeIntervalMilliseconds: 0,
  inboundPerSecond: 50,
  inboundBurst: 1_000,
  subscriptionsMax: 1_000,
  closesExpired: false,
  heartbeatSeconds: 1,
  pingSeconds: 15,
  silenceSeconds: 900,
  staleSeconds: 0,
  closesStale: false,
}

/** The effect of the settings `stream.stale_*` on lost books; undefined = a lost book stays. */
export function withdrawAfter({
  staleSeconds = 0,
  closesStale = false,
}: Partial<HubSettings> = {}): number | undefined {
  return staleSeconds > 0 && !closesStale ? staleSeconds * 1000 : undefined
}

export function testMarket(symbol: string, depth: number): MarketDefinition {
  return {
    symbol,
    baseAsset: symbol.slice(0, 3),
    quoteAsset: symbol.slice(3),
    priceDecimals: 2,
    amountDecimals: 4,
    depth,
  }
}

/** Rounds without queued data after which a simulation is idle. */
const QUIET_ROUNDS = 20

export interface SimulatedClient {
  readonly transport: FakeTransport
  readonly verifier: StreamVerifier
  readonly session: Session
  /** How many unsubscribe requests were sent. */
  unsubscribesAsked: number
}

export interface SimulationOptions {
  readonly seed: number
  readonly markets: readonly MarketDefinition[]
  /** For every market, or for each by its place. */
  readonly noise: NoiseOptions | readonly NoiseOptions[]
  readonly settings?: Partial<HubSettings>
  readonly executionsKept?: number
  /** Signs receipts. Absent: there are none. */
  readonly receipts?: (clock: VirtualClock) => ReceiptSigner
}

/** A transport that detects the writing of a SNAPSHOT: for a live market, or in place of a withdrawn book. */
export class WatchedTransport extends FakeTransport {
  readonly #histories: ReadonlyMap<string, MarketHistory>

  constructor(kernelBytes: number, onText: (text: string) => void, histories: ReadonlyMap<string, MarketHistory>) {
    super(kernelBytes, onText)
    this.#histories = histories
  }

  override write(bytes: Buffer, onWritten?: () => void): void {
    for (const [market, history] of this.#histories) if (this.isOpen && !history.isLive) check(bytes, market, history)
    super.write(bytes, onWritten)
  }
}

function check(bytes: Buffer, market: string, { isWithdrawn }: MarketHistory): void {
  const head = `"market":"${market}","type":"SNAPSHOT","time":"`
  const start = bytes.indexOf(head)
  if (start < 0) return
  const levels = bytes.toString('latin1', start + head.length + '2026-01-01T00:00:00.000Z",'.length).slice(0, 20)
  if (!isWithdrawn || levels !== '"bids":[],"asks":[]}') throw new Error(`an untrusted SNAPSHOT of ${market}`)
}

export class StreamSimulation {
  readonly clock = new VirtualClock()
  readonly random: Random
  readonly bus = createMemoryBus()
  readonly histories = new Map<string, MarketHistory>()
  readonly sequencers = new Map<string, Sequencer>()
  readonly noise = new Map<string, MarketNoise>()
  readonly replicas = new Map<string, Replica>()
  readonly hub: Hub
  readonly log: Log = createLog('silent')
  readonly metrics = createGatewayMetrics(createMetricsRegistry())

  readonly #executionsKept: number
  readonly #withdrawAfterMilliseconds: number | undefined
  readonly #sequencerMetrics = createSequencerMetrics(createMetricsRegistry())
  readonly #lastMilliseconds = new Map<string, number>()

  constructor(options: SimulationOptions) {
    this.random = new Random(options.seed)
    this.#executionsKept = options.executionsKept ?? 10_000
    this.#withdrawAfterMilliseconds = withdrawAfter(options.settings)
    for (const [place, market] of options.markets.entries()) {
      const noise = [options.noise].flat()
      this.noise.set(market.symbol, new MarketNoise(this.random, noise[place % noise.length] as NoiseOptions))
      this.histories.set(market.symbol, new MarketHistory(market, this.bus))
      this.#createMarket(market)
    }
    this.hub = new Hub({
      replicas: [...this.replicas.values()],
      bus: this.bus,
      clock: this.clock,
      log: this.log,
      metrics: this.metrics,
      settings: { ...SETTINGS, ...options.settings },
      receipts: options.receipts?.(this.clock),
      random: () => this.random.next(),
    })
  }

  /** Gives every market its first book. */
  start(): void {
    for (const symbol of this.sequencers.keys()) this.offer(symbol, 'snapshot')
    this.clock.advance(5)
  }

  /** Adds a market, even again: its clients may subscribe at once, and its book follows with the first snapshot. */
  addMarket(market: MarketDefinition): void {
    this.histories.get(market.symbol)?.restart(market)
    this.#createMarket(market)
    this.hub.addMarket(this.replicas.get(market.symbol) as Replica)
  }

  removeMarket(symbol: string): void {
    this.hub.removeMarket(symbol, 'changed')
    this.sequencers.get(symbol)?.stop()
    const replica = this.replicas.get(symbol)
    // Removing it again before its first commit does not undo its earlier commits.
    const milliseconds = replica?.instant.milliseconds ?? 0
    if (milliseconds > 0) this.#lastMilliseconds.set(symbol, milliseconds)
    replica?.stop()
    this.sequencers.delete(symbol)
    this.replicas.delete(symbol)
  }

  #createMarket(market: MarketDefinition): void {
    const { bus, clock, log } = this
    const noise = this.noise.get(market.symbol) as MarketNoise
    this.replicas.set(market.symbol, new Replica({ market, bus, executionsKept: this.#executionsKept }))
    const sequencer = new Sequencer({
      market,
      epoch: `test ${clock.monotonicMilliseconds()}`,
      bus,
      clock,
      log,
      metrics: this.#sequencerMetrics,
      floorMilliseconds: this.#lastMilliseconds.get(market.symbol) ?? 0,
      withdrawAfterMilliseconds: this.#withdrawAfterMilliseconds,
      onRebuildNeeded: () => sequencer.offer(noise.snapshot()),
    })
    this.sequencers.set(market.symbol, sequencer)
  }

  offer(symbol: string, kind: 'snapshot' | 'update' | 'lost' | 'missed'): void {
    const noise = this.noise.get(symbol) as MarketNoise
    const event = kind === 'lost' || kind === 'missed' ? { type: kind, reason: 'test' } : noise[kind]()
    this.sequencers.get(symbol)?.offer(event)
  }

  connect(kernelBytes = 8_192): SimulatedClient {
    const verifier = new StreamVerifier(this.histories)
    const transport = new WatchedTransport(kernelBytes, (text) => verifier.onText(text), this.histories)
    const session = this.hub.open(transport, ANY_TOKEN)
    return { verifier, transport, session, unsubscribesAsked: 0 }
  }

  send(client: SimulatedClient, request: unknown): void {
    client.session.receive({ data: Buffer.from(JSON.stringify(request)), isBinary: false })
  }

  subscribe(client: SimulatedClient, types: readonly string[], markets: readonly string[]): void {
    this.send(client, { type: 'subscribe', channels: channelEntries(types, markets) })
  }

  unsubscribe(client: SimulatedClient, types: readonly string[], markets: readonly string[]): void {
    client.unsubscribesAsked += 1
    this.send(client, { type: 'unsubscribe', channels: channelEntries(types, markets) })
  }

  /** Lets every client read until no message is pending. */
  quiesce(clients: readonly Pick<SimulatedClient, 'transport'>[]): void {
    for (let round = 0, quiet = 0; round < 10_000; round++) {
      this.clock.advance(0.5)
      for (const { transport } of clients) {
        transport.flush()
        transport.drain()
      }
      this.clock.settle()
      quiet = clients.every(({ transport }) => transport.queuedBytes === 0) ? quiet + 1 : 0
      if (quiet === QUIET_ROUNDS) return
    }
    throw new Error('the simulation did not come to rest')
  }
}

function channelEntries(types: readonly string[], markets: readonly string[]): unknown[] {
  return markets.flatMap((market) => types.map((type) => ({ type, params: { market } })))
}
