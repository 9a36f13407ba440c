/**
 * A feed with several markets and a gateway that follows the wanted ones over a link that may lose and delay messages,
 * on a virtual clock. Base-protocol clients check every message against the feed's history.
 */
import { createLog } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import { Hub } from '../../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../src/streaming/gateway/metrics.ts'
import type { Session } from '../../src/streaming/gateway/session.ts'
import { BusExport } from '../../src/streaming/links/bus-export.ts'
import { BusImport, createImportMetrics } from '../../src/streaming/links/bus-import.ts'
import { FollowedMarkets } from '../../src/streaming/links/followed-markets.ts'
import { MarketReports } from '../../src/streaming/links/market-reports.ts'
import type { ConfiguredMarket } from '../../src/streaming/market/configured-market.ts'
import type { MarketDefinition } from '../../src/streaming/market/event.ts'
import { MarketReplicas } from '../../src/streaming/markets/market-replicas.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../src/streaming/sequencing/sequencer-metrics.ts'
import { ANY_TOKEN, FakeTransport } from './fake-transport.ts'
import { LossyLink } from './lossy-link.ts'
import { MarketHistory } from './market-history.ts'
import { MarketNoise } from './market-noise.ts'
import { Random } from './random.ts'
import { SETTINGS } from './stream-simulation.ts'
import { StreamVerifier } from './stream-verifier.ts'
import type { VirtualClock } from './virtual-clock.ts'

const EXECUTIONS_KEPT = 1_000
const WITHDRAW_AFTER_MILLISECONDS = 10_000

/** The process that writes the markets. */
export class WantedFeed {
  readonly histories = new Map<string, MarketHistory>()
  readonly exporter: BusExport
  readonly #clock: VirtualClock
  readonly #bus = createMemoryBus()
  readonly #noise = new Map<string, MarketNoise>()
  readonly #replicas = new Map<string, Replica>()
  readonly #sequencers = new Map<string, Sequencer>()
  readonly #metrics = createSequencerMetrics(createMetricsRegistry())

  constructor(clock: VirtualClock, link: LossyLink, importer: () => BusImport, markets: readonly MarketDefinition[]) {
    this.#clock = clock
    const random = new Random(29)
    for (const market of markets) {
      this.#noise.set(market.symbol, new MarketNoise(random, { levels: 20, changesMax: 4 }))
      this.histories.set(market.symbol, new MarketHistory(market, this.#bus))
      this.#replicas.set(market.symbol, new Replica({ market, bus: this.#bus, executionsKept: EXECUTIONS_KEPT }))
    }
    this.exporter = new BusExport({
      bus: this.#bus,
      clock,
      transport: link.exportTransport(importer),
      replicaOf: (symbol) => this.#replicas.get(symbol),
    })
    for (const { symbol } of markets) this.exporter.add(symbol, true)
    for (const market of markets) this.lead(market, 'e1')
  }

  history(symbol: string): MarketHistory {
    return this.histories.get(symbol) as MarketHistory
  }

  /** Begins an epoch of a market, with a book. */
  lead(market: MarketDefinition, epoch: string): void {
    const { symbol } = market
    if (this.#sequencers.has(symbol)) this.history(symbol).restart(market)
    this.#sequencers.set(
      symbol,
      new Sequencer({
        market,
        epoch,
        bus: this.#bus,
        clock: this.#clock,
        log: createLog('silent'),
        metrics: this.#metrics,
        floorMilliseconds: this.#replicas.get(symbol)?.instant.milliseconds ?? 0,
        withdrawAfterMilliseconds: WITHDRAW_AFTER_MILLISECONDS,
        onRebuildNeeded: () => undefined,
      }),
    )
    this.offer(symbol, 'snapshot')
  }

  /** Ends a market's epoch without a last commit, as a crash does. */
  crash(symbol: string): void {
    this.#clock.advance(2)
    this.#sequencers.get(symbol)?.stop()
  }

  offer(symbol: string, kind: 'snapshot' | 'update' | 'lost'): void {
    const event = kind === 'lost' ? ({ type: kind, reason: 'test' } as const) : this.#noise.get(symbol)?.[kind]()
    if (event !== undefined) this.#sequencers.get(symbol)?.offer(event)
  }

  requestCommit(symbol: string, laterThanMilliseconds: number): void {
    this.#bus.requestCommit(symbol, laterThanMilliseconds)
  }
}

export interface WantingClient {
  readonly session: Session
  readonly transport: FakeTransport
  readonly verifier: StreamVerifier
  /** Everything it received. */
  readonly texts: string[]
}

/** The process that serves the stream. */
export class WantedGateway {
  readonly link: LossyLink
  readonly feed: WantedFeed
  readonly hub: Hub
  readonly replicas: MarketReplicas
  readonly followed: FollowedMarkets
  readonly reports: MarketReports
  /** The markets whose state was requested, in order. */
  readonly requests: string[] = []
  readonly #clock: VirtualClock

  constructor(clock: VirtualClock, markets: readonly MarketDefinition[]) {
    this.#clock = clock
    const bus = createMemoryBus()
    const log = createLog('silent')
    this.link = new LossyLink(clock, () => 0.5)
    this.replicas = new MarketReplicas({ markets: markets.map(configured), bus, executionsKept: EXECUTIONS_KEPT })
    this.reports = new MarketReports(clock, (symbol) => this.replicas.replicaOf(symbol)?.market)
    const transport = this.link.importTransport(
      () => [this.feed.exporter],
      () => importer,
      ({ market, laterThanMilliseconds }) => this.feed.requestCommit(market, laterThanMilliseconds),
    )
    const importer: BusImport = new BusImport({
      bus,
      clock,
      log,
      random: () => 0.5,
      transport: {
        ...transport,
        requestState: (request) => {
          this.requests.push(request.market)
          transport.requestState(request)
        },
      },
      replicaOf: (symbol) => this.replicas.replicaOf(symbol),
      reports: this.reports,
      withdrawAfterMilliseconds: WITHDRAW_AFTER_MILLISECONDS,
      metrics: createImportMetrics(createMetricsRegistry()),
    })
    this.followed = new FollowedMarkets({
      clock,
      reports: this.reports,
      isPinned: () => false,
      follow: (symbol) => {
        const { market, instant } = this.replicas.replicaOf(symbol) as Replica
        return importer.add(market, instant.milliseconds)
      },
    })
    this.followed.change([], markets)
    this.hub = new Hub({
      replicas: this.replicas.all,
      bus,
      following: this.followed,
      clock,
      log,
      metrics: createGatewayMetrics(createMetricsRegistry()),
      settings: SETTINGS,
      random: () => 0.5,
    })
    this.followed.start({
      isSubscribed: (symbol) => this.hub.served.isSubscribed(symbol),
      drop: (symbols) => this.hub.dropMarkets(symbols.flatMap((symbol) => this.replicas.renew(symbol) ?? [])),
    })
    this.feed = new WantedFeed(clock, this.link, () => importer, markets)
  }

  connect(subprotocol = ''): WantingClient {
    const verifier = new StreamVerifier(this.feed.histories)
    const texts: string[] = []
    const transport = new FakeTransport(1_000_000, (text) => {
      texts.push(text)
      if (subprotocol === '') verifier.onText(text)
    })
    transport.subprotocol = subprotocol
    const session = this.hub.open(transport, ANY_TOKEN)
    return { session, transport, verifier, texts }
  }

  send(client: WantingClient, type: 'subscribe' | 'unsubscribe', channels: readonly unknown[]): void {
    client.session.receive({ data: Buffer.from(JSON.stringify({ type, channels })), isBinary: false })
  }

  disconnect({ transport, session }: WantingClient): void {
    transport.ended()
    session.end()
  }

  /** Advances in steps in which everything that was written is read. */
  run(milliseconds: number, clients: readonly WantingClient[], stepMilliseconds = 1): void {
    for (let done = 0; done < milliseconds; done += stepMilliseconds) {
      this.#clock.advance(stepMilliseconds)
      for (const { transport } of clients) {
        transport.flush()
        transport.drain()
      }
      this.#clock.settle()
    }
  }
}

function configured(definition: MarketDefinition): ConfiguredMarket {
  return { definition, sources: [], aggregation: { policy: 'recency' }, feedGroup: 'default' }
}
