/** One process with the role `gateway`: follows the markets over a link with faults, and serves sessions. */
import { millisecondText } from '../../src/platform/base/clock.ts'
import { createLog } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import { Hub } from '../../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../src/streaming/gateway/metrics.ts'
import type { HubSettings } from '../../src/streaming/gateway/requests.ts'
import { BusImport, createImportMetrics, type ImportTransport } from '../../src/streaming/links/bus-import.ts'
import type { MarketDefinition } from '../../src/streaming/market/event.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import type { ReceiptSigner } from '../../src/streaming/sequencing/receipt-signer.ts'
import { Replica } from '../../src/streaming/sequencing/replica.ts'
import type { Random } from '../support/random.ts'
import type { VirtualClock } from '../support/virtual-clock.ts'
import { WITHDRAW_AFTER_MILLISECONDS } from './feed.ts'
import type { CheckedNode } from './frame-checker.ts'

export const SETTINGS: HubSettings = {
  outboxBytesMax: 16_384,
  writeIntervalMilliseconds: 0,
  inboundPerSecond: 50,
  inboundBurst: 200,
  subscriptionsMax: 100,
  closesExpired: false,
  heartbeatSeconds: 1,
  pingSeconds: 3_600,
  silenceSeconds: 1e9,
  staleSeconds: WITHDRAW_AFTER_MILLISECONDS / 1_000,
  closesStale: false,
}

const EXECUTIONS_KEPT = 60

const LATER_THAN_ALL = '~'

export class GatewayNode implements CheckedNode {
  readonly bus = createMemoryBus()
  readonly importer: BusImport
  readonly hub: Hub
  readonly #markets = new Map<string, { readonly replica: Replica; readonly end: () => void }>()
  /** By market: the times between which its book was empty, because this process withdrew it and no feed had one. */
  readonly #withdrawn = new Map<string, { readonly from: string; until: string }[]>()

  constructor(
    clock: VirtualClock,
    random: Random,
    writeIntervalMilliseconds: number,
    markets: Iterable<MarketDefinition>,
    transport: (importer: () => BusImport) => ImportTransport,
    receipts: ReceiptSigner | undefined,
  ) {
    this.importer = new BusImport({
      bus: this.bus,
      clock,
      log: createLog('silent'),
      random: () => random.next(),
      transport: transport(() => this.importer),
      replicaOf: (symbol) => this.#markets.get(symbol)?.replica,
      withdrawAfterMilliseconds: WITHDRAW_AFTER_MILLISECONDS,
      metrics: createImportMetrics(createMetricsRegistry()),
    })
    this.hub = new Hub({
      replicas: [],
      bus: this.bus,
      clock,
      log: createLog('silent'),
      metrics: createGatewayMetrics(createMetricsRegistry()),
      settings: { ...SETTINGS, writeIntervalMilliseconds },
      receipts,
      random: () => random.next(),
    })
    for (const market of markets) this.add(market)
  }

  /** Follows a market, or follows it again with another definition, as a reload does. */
  add(market: MarketDefinition): void {
    const { symbol } = market
    const earlier = this.#markets.get(symbol)
    if (earlier !== undefined) {
      this.hub.removeMarket(symbol, 'changed')
      earlier.end()
      earlier.replica.stop()
    }
    const lastInstant = earlier?.replica.instant
    const replica = new Replica({ market, bus: this.bus, executionsKept: EXECUTIONS_KEPT, lastInstant })
    const ends: (() => void)[] = []
    const end = () => {
      for (const each of ends) each()
    }
    // Before it is followed: what is published at once reaches the replica.
    this.#markets.set(symbol, { replica, end })
    ends.push(this.importer.add(market, replica.instant.milliseconds))
    const endNotes = this.bus.subscribe(symbol, (message) => {
      if (message.type === 'status') return
      const time = millisecondText(message.milliseconds)
      const withdrawn = this.#withdrawn.get(symbol) ?? []
      this.#withdrawn.set(symbol, withdrawn)
      if (message.type === 'withdrawal') withdrawn.push({ from: time, until: LATER_THAN_ALL })
      else if (message.type === 'state' ? message.hasBook : message.beginsBook === true) {
        const last = withdrawn.at(-1)
        if (last?.until === LATER_THAN_ALL) last.until = time
      }
    })
    ends.push(endNotes)
    this.hub.addMarket(replica)
  }

  publishedDepth = (symbol: string): number => this.#markets.get(symbol)?.replica.market.depth ?? 0

  isWithdrawn = (symbol: string, time: string): boolean =>
    this.#withdrawn.get(symbol)?.some(({ from, until }) => from <= time && time < until) === true

  stop(): void {
    this.importer.stop()
    this.hub.stop()
    for (const { replica } of this.#markets.values()) replica.stop()
  }
}
