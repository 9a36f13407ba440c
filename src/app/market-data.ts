/**
 * The markets of this process, from source to replica: each configured market gets one writer and one reader on the
 * bus, and each venue one source that feeds all of its markets. It starts and stops them; what a book is, it does not
 * know.
 */
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { Bus } from '../channel/bus.ts'
import { Replica } from '../channel/replica.ts'
import { Sequencer, type SequencerMetrics } from '../channel/sequencer.ts'
import type { Source, SourceMarket } from '../feed/source.ts'
import type { MarketEvent } from '../market/event.ts'
import type { ConfiguredMarket, MarketSource } from './markets-config.ts'

export type CreateSource = (markets: readonly SourceMarket[]) => Source

export interface MarketDataOptions {
  readonly markets: readonly ConfiguredMarket[]
  readonly executionsKept: number
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: SequencerMetrics
  /** Times that the commits of a market have to be later than, from before this start. */
  readonly floors: ReadonlyMap<string, number>
  /** How the source of a venue is made; called once for each venue that a market names. */
  readonly createSource: Readonly<Record<MarketSource['venue'], CreateSource>>
}

export interface MarketData {
  /** In the order of the configuration. */
  readonly replicas: readonly Replica[]
  /** Symbols of the markets whose source has said nothing yet. */
  readonly starting: ReadonlySet<string>
  /** Begins to read the sources; resolves when each has said something about each of its markets. */
  start(): Promise<void>
  /** Ends the sources and the writers; the replicas keep their last books. */
  stopSources(): Promise<void>
  stopReplicas(): void
}

export function createMarketData(options: MarketDataOptions): MarketData {
  const { markets, bus, clock, log, metrics } = options
  const sources = new Map<MarketSource['venue'], Source>()
  // Readers first: a commit that nobody heard would be missing for ever.
  const replicas = markets.map(
    ({ definition }) => new Replica({ market: definition, bus, executionsKept: options.executionsKept }),
  )
  const starting = new Set(markets.map(({ definition }) => definition.symbol))
  let onStarted: () => void = () => undefined
  const sequencers: Sequencer[] = []
  const fed = new Map<MarketSource['venue'], SourceMarket[]>()
  for (const { definition: market, source } of markets) {
    const sequencer = new Sequencer({
      market,
      epoch: newId(),
      bus,
      clock,
      log,
      metrics,
      floorMilliseconds: options.floors.get(market.symbol) ?? 0,
      onRebuildNeeded: (reason) => sources.get(source.venue)?.rebuild(market.symbol, reason),
    })
    sequencers.push(sequencer)
    const list = fed.get(source.venue) ?? []
    const listener = (event: MarketEvent): void => {
      if (starting.delete(market.symbol) && starting.size === 0) onStarted()
      sequencer.offer(event)
    }
    list.push({ market, venueSymbol: source.symbol, listener })
    fed.set(source.venue, list)
  }
  for (const [venue, list] of fed) sources.set(venue, options.createSource[venue](list))

  return {
    replicas,
    starting,
    start() {
      const started = new Promise<void>((resolve) => {
        onStarted = resolve
      })
      if (starting.size === 0) onStarted()
      for (const source of sources.values()) source.start()
      return started
    },
    async stopSources() {
      await Promise.all([...sources.values()].map((source) => source.stop()))
      for (const sequencer of sequencers) sequencer.stop()
    },
    stopReplicas() {
      for (const replica of replicas) replica.stop()
    },
  }
}
