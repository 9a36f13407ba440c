/**
 * The whole path from source messages to socket bytes under a virtual clock: sequencers, bus, replicas, hub, and
 * clients whose sockets drain as the seed wills. Every message that a client reads is judged by its witness.
 */
import type { Log } from '../../src/base/log.ts'
import { createLog } from '../../src/base/log.ts'
import { createMetricsRegistry } from '../../src/base/metrics.ts'
import { createMemoryBus } from '../../src/channel/bus-memory.ts'
import { Replica } from '../../src/channel/replica.ts'
import { createSequencerMetrics, Sequencer } from '../../src/channel/sequencer.ts'
import { Hub, type HubSettings } from '../../src/gateway/hub.ts'
import { createGatewayMetrics } from '../../src/gateway/metrics.ts'
import type { Session } from '../../src/gateway/session.ts'
import type { MarketDefinition } from '../../src/market/event.ts'
import { FakeTransport } from './fake-transport.ts'
import { MarketNoise, type NoiseOptions } from './market-noise.ts'
import { MarketTruth } from './market-truth.ts'
import { Random } from './random.ts'
import { StreamWitness } from './stream-witness.ts'
import { VirtualClock } from './virtual-clock.ts'

export const SETTINGS: HubSettings = {
  outboxBytesMax: 16_384,
  inboundPerSecond: 50,
  inboundBurst: 1_000,
  subscriptionsMax: 1_000,
  closesExpired: false,
  heartbeatSeconds: 1,
  pingSeconds: 15,
  silenceSeconds: 900,
  staleSeconds: 0,
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

/** Rounds without anything queued after which a simulation is at rest. */
const QUIET_ROUNDS = 20

export interface SimulatedClient {
  readonly transport: FakeTransport
  readonly witness: StreamWitness
  readonly session: Session
}

export interface SimulationOptions {
  readonly seed: number
  readonly markets: readonly MarketDefinition[]
  readonly noise: NoiseOptions
  readonly settings?: Partial<HubSettings>
  readonly executionsKept?: number
}

export class StreamSimulation {
  readonly clock = new VirtualClock()
  readonly random: Random
  readonly bus = createMemoryBus()
  readonly truths = new Map<string, MarketTruth>()
  readonly sequencers = new Map<string, Sequencer>()
  readonly noise = new Map<string, MarketNoise>()
  readonly replicas: Replica[]
  readonly hub: Hub
  readonly log: Log = createLog('silent')
  readonly metrics = createGatewayMetrics(createMetricsRegistry())

  constructor(options: SimulationOptions) {
    this.random = new Random(options.seed)
    const sequencerMetrics = createSequencerMetrics(createMetricsRegistry())
    for (const market of options.markets) {
      const noise = new MarketNoise(this.random, options.noise)
      this.noise.set(market.symbol, noise)
      this.truths.set(market.symbol, new MarketTruth(market, this.bus))
      const sequencer = new Sequencer({
        market,
        epoch: 'test',
        bus: this.bus,
        clock: this.clock,
        log: this.log,
        metrics: sequencerMetrics,
        floorMilliseconds: 0,
        onRebuildNeeded: () => sequencer.offer(noise.snapshot()),
      })
      this.sequencers.set(market.symbol, sequencer)
    }
    this.replicas = options.markets.map(
      (market) => new Replica({ market, bus: this.bus, executionsKept: options.executionsKept ?? 10_000 }),
    )
    this.hub = new Hub({
      replicas: this.replicas,
      bus: this.bus,
      clock: this.clock,
      log: this.log,
      metrics: this.metrics,
      settings: { ...SETTINGS, ...options.settings },
      random: () => this.random.next(),
    })
  }

  /** Gives every market its first book. */
  start(): void {
    for (const symbol of this.sequencers.keys()) this.offer(symbol, 'snapshot')
    this.clock.advance(5)
  }

  offer(symbol: string, kind: 'snapshot' | 'update' | 'lost'): void {
    const noise = this.noise.get(symbol) as MarketNoise
    const event = kind === 'lost' ? ({ type: 'lost', reason: 'test' } as const) : noise[kind]()
    this.sequencers.get(symbol)?.offer(event)
  }

  connect(kernelBytes = 8_192): SimulatedClient {
    const witness = new StreamWitness(this.truths)
    const transport = new FakeTransport(kernelBytes, (text) => witness.onText(text))
    const session = this.hub.open(transport, {
      clientId: 'client',
      customerId: 'customer',
      scopes: new Set(),
      tokenId: 'token',
      expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
    })
    return { witness, transport, session }
  }

  send(client: SimulatedClient, request: unknown): void {
    client.session.receive({ data: Buffer.from(JSON.stringify(request)), isBinary: false })
  }

  subscribe(client: SimulatedClient, types: readonly string[], markets: readonly string[]): void {
    this.send(client, { type: 'subscribe', channels: channelEntries(types, markets) })
  }

  unsubscribe(client: SimulatedClient, types: readonly string[], markets: readonly string[]): void {
    this.send(client, { type: 'unsubscribe', channels: channelEntries(types, markets) })
  }

  /** Lets every client read until nobody is owed anything. */
  quiesce(clients: readonly SimulatedClient[]): void {
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
