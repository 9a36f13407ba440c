/** One process with the sources and sequencers of all markets, and the ends of its links to the gateways. */
import { createLog } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import { BusExport, type BusExportOptions } from '../../src/streaming/links/bus-export.ts'
import type { MarketDefinition } from '../../src/streaming/market/event.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../src/streaming/sequencing/sequencer-metrics.ts'
import { Random } from '../support/random.ts'
import type { VirtualClock } from '../support/virtual-clock.ts'
import { type BookText, EMPTY_BOOK, type MarketTruth, ScriptedSource } from './truth.ts'

const EXECUTIONS_KEPT = 60

/** How long a market without a source keeps its book. */
export const WITHDRAW_AFTER_MILLISECONDS = 10_000

interface FedMarket {
  readonly source: ScriptedSource
  readonly replica: Replica
  readonly sequencer: Sequencer
  readonly truth: MarketTruth
  readonly end: () => void
  /** What the last commit led to. */
  book: BookText
}

export class Feed {
  readonly bus = createMemoryBus()
  readonly exporter: BusExport
  readonly epoch: string
  readonly #clock: VirtualClock
  readonly #markets = new Map<string, FedMarket>()

  constructor(clock: VirtualClock, epoch: string, transport: BusExportOptions['transport']) {
    this.#clock = clock
    this.epoch = epoch
    this.exporter = new BusExport({
      bus: this.bus,
      clock,
      transport,
      replicaOf: (symbol) => this.#markets.get(symbol)?.replica,
    })
  }

  /** Begins a market, or begins it again with another definition and a later epoch. */
  add(market: MarketDefinition, truth: MarketTruth, epoch: string, seed: number): void {
    const { symbol } = market
    const earlier = this.#markets.get(symbol)
    if (earlier !== undefined) this.#end(earlier)
    const source = new ScriptedSource()
    const replica = new Replica({ market, bus: this.bus, executionsKept: EXECUTIONS_KEPT })
    const endNotes = this.bus.subscribe(symbol, (message) => {
      if (message.type === 'commit') fed.book = truth.note(message, source)
    })
    const sequencer = new Sequencer({
      market,
      epoch,
      bus: this.bus,
      clock: this.#clock,
      log: createLog('silent'),
      metrics: createSequencerMetrics(createMetricsRegistry()),
      floorMilliseconds: earlier?.replica.instant.milliseconds ?? 0,
      withdrawAfterMilliseconds: WITHDRAW_AFTER_MILLISECONDS,
      onRebuildNeeded: () => sequencer.offer(source.snapshot(seed)),
    })
    const fed: FedMarket = {
      source,
      replica,
      sequencer,
      truth,
      book: EMPTY_BOOK,
      end: () => {
        endExport()
        endNotes()
      },
    }
    this.#markets.set(symbol, fed)
    const endExport = this.exporter.add(symbol, true)
  }

  update(symbol: string, seed: number, count: number): void {
    const { source, sequencer, truth } = this.#market(symbol)
    const random = new Random(seed)
    for (let place = 0; place < count && !source.isLost; place++) {
      sequencer.offer(source.update(random, () => truth.nextExecution()))
    }
  }

  snapshot(symbol: string, seed: number): void {
    const { source, sequencer } = this.#market(symbol)
    sequencer.offer(source.snapshot(seed))
  }

  lost(symbol: string): void {
    const { source, sequencer } = this.#market(symbol)
    sequencer.offer(source.lost())
  }

  missed(symbol: string): void {
    this.#market(symbol).sequencer.offer({ type: 'missed', reason: 'a gap at the source' })
  }

  isLost(symbol: string): boolean {
    return this.#market(symbol).source.isLost
  }

  /** What subscribers must have when nothing is on its way. */
  bookOf(symbol: string): BookText {
    return this.#market(symbol).book
  }

  epochOf(symbol: string): string {
    return this.#market(symbol).replica.followed?.epoch ?? ''
  }

  stop(): void {
    this.exporter.stop()
    for (const market of this.#markets.values()) this.#end(market)
  }

  #end({ sequencer, replica, end }: FedMarket): void {
    sequencer.stop()
    end()
    replica.stop()
  }

  #market(symbol: string): FedMarket {
    return this.#markets.get(symbol) as FedMarket
  }
}
