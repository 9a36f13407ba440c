/**
 * The markets of this process, from source to replica: each configured market gets one writer and one reader on the
 * bus, and each feed one source that feeds all markets that name it. It starts and stops them, and lets them come and
 * go; what a book is, it does not know. A market that comes back goes on with later times than it had.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import type { Bus } from '../channel/bus.ts'
import { Replica } from '../channel/replica.ts'
import { forgetMarket, Sequencer, type SequencerMetrics } from '../channel/sequencer.ts'
import { type ConfiguredMarket, isSimulated } from '../config/markets.ts'
import { isFed, sourceText } from '../config/sources.ts'
import type { Source, SourceMarket } from '../feed/source.ts'
import type { Instrument, InstrumentState } from '../market/event.ts'
import { type InputState, MarketFeed, type MarketInput, SOURCES_CHANGED } from './market-feed.ts'

/** What counts for a market with several sources: the first of these that any of them is in. */
const OPENNESS: readonly InstrumentState[] = ['OPEN', 'AUCTION', 'HALTED', 'CLOSED']

export type CreateSource = (name: string, markets: readonly SourceMarket[]) => Source

export interface MarketDataOptions {
  readonly markets: readonly ConfiguredMarket[]
  readonly executionsKept: number
  /** How long a market may be without a trusted source before its book is withdrawn; undefined = it stays. */
  readonly withdrawAfterMilliseconds?: number | undefined
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: SequencerMetrics
  /** How the source of a feed is made, or of the simulator or of recordings; called once for each that a market names. */
  readonly createSource: CreateSource
}

interface RunningMarket {
  configured: ConfiguredMarket
  readonly replica: Replica
  /** The writer, and what its sources feed it through, once the market is started. */
  sequencer: Sequencer | undefined
  feed: MarketFeed | undefined
}

/** One source of a market as it is now. */
export interface SourceState extends InputState {
  /** As the configuration names it: `kraken:BTC/USD`. */
  readonly source: string
  /** What an operator should know although it may be live. */
  readonly notices: readonly string[]
}

export interface MarketChanges {
  /** Readers of the markets that have come. */
  readonly added: readonly Replica[]
  /** Symbols of the markets that have gone; one that has changed is in both. */
  readonly removed: readonly string[]
  /** Symbols of the markets that are fed differently now, which their readers do not notice. */
  readonly refed: readonly string[]
}

/**
 * The markets of the process. Readers are there from the beginning, so that a commit is never one that nobody heard;
 * writers and sources come with `start`.
 */
export class MarketData {
  readonly #options: MarketDataOptions
  #markets = new Map<string, RunningMarket>()
  /** Times of the last commits of markets that have gone: milliseconds since the epoch. */
  readonly #gone = new Map<string, number>()
  /** Sources that have no market left, on their way to their end. */
  readonly #ending = new Set<Promise<void>>()
  #floors: ReadonlyMap<string, number> = new Map()
  /** By the names of feeds. */
  readonly #sources = new Map<string, Source>()
  readonly #starting: Set<string>
  #onStarted: () => void = () => undefined

  constructor(options: MarketDataOptions) {
    this.#options = options
    for (const configured of options.markets) this.#read(configured)
    this.#starting = new Set(this.#markets.keys())
  }

  /** In the order of the configuration. */
  get replicas(): readonly Replica[] {
    return [...this.#markets.values()].map(({ replica }) => replica)
  }

  /** The markets that are written here, reader and writer together. */
  get written(): readonly { readonly replica: Replica; readonly sequencer: Sequencer }[] {
    return [...this.#markets.values()].flatMap(({ replica, sequencer }) =>
      sequencer === undefined ? [] : [{ replica, sequencer }],
    )
  }

  /** The sources of a market, in the order of its configuration; none for a market that is not there or not started. */
  sourcesOf(symbol: string): readonly SourceState[] {
    const feed = this.#markets.get(symbol)?.feed
    if (feed === undefined) return []
    return feed.inputs.map(({ source, fed }, index) => ({
      source: sourceText(source),
      ...feed.states[index]!,
      notices: [...feed.noticesOf(index), ...(this.#sources.get(source.feed)?.notices(fed) ?? [])],
    }))
  }

  /** The reader of a market; undefined for one that is not there. */
  replicaOf(symbol: string): Replica | undefined {
    return this.#markets.get(symbol)?.replica
  }

  /** Whether every price of a market comes from a venue, none from the simulator or a recording. */
  isFromVenues(symbol: string): boolean {
    return this.#markets.get(symbol)?.configured.sources.every(isFed) === true
  }

  /** Whether the prices of a market come from the simulator. */
  isSimulated(symbol: string): boolean {
    const configured = this.#markets.get(symbol)?.configured
    return configured !== undefined && isSimulated(configured)
  }

  /**
   * Whether a market's instrument trades, which it does where any of its sources trades; undefined while no source knows.
   * The reason names the source that it is of.
   */
  instrumentOf(symbol: string): Instrument | undefined {
    const inputs = this.#markets.get(symbol)?.feed?.inputs ?? []
    const known = inputs.flatMap(({ source, fed }) => {
      const instrument = this.#sources.get(source.feed)?.instrument(fed)
      if (instrument === undefined) return []
      const { state, reason } = instrument
      return [{ state, reason: reason === '' ? '' : `${sourceText(source)}: ${reason}` }]
    })
    for (const state of OPENNESS) {
      const found = known.find((instrument) => instrument.state === state)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Symbols of the markets that were there at the start, have no book yet, and sources that have said nothing yet. */
  get starting(): ReadonlySet<string> {
    return this.#starting
  }

  /** When each market was last committed, also those that have gone: milliseconds since the epoch, 0 before the first. */
  *commitTimes(): Iterable<readonly [market: string, milliseconds: number]> {
    for (const { replica } of this.#markets.values()) yield [replica.market.symbol, replica.instant.milliseconds]
    for (const entry of this.#gone) if (!this.#markets.has(entry[0])) yield entry
  }

  /**
   * Begins to write the markets, each later than its floor (milliseconds since the epoch, from before this start), and
   * to read the sources; resolves when each market has a book, or has heard from all of its sources.
   */
  start(floors: ReadonlyMap<string, number>): Promise<void> {
    const started = new Promise<void>((resolve) => {
      this.#onStarted = resolve
    })
    this.#floors = floors
    if (this.#starting.size === 0) this.#onStarted()
    const fed = new Map<string, SourceMarket[]>()
    for (const running of this.#markets.values()) {
      for (const { source, fed: market } of this.#write(running)) {
        fed.set(source.feed, [...(fed.get(source.feed) ?? []), market])
      }
    }
    for (const [name, list] of fed) this.#sources.set(name, this.#options.createSource(name, list))
    for (const source of this.#sources.values()) source.start()
    return started
  }

  /**
   * Adds and removes markets, after `start`. A market whose definition differs is removed and added again, because its
   * clients can see the difference. One that differs in its sources or their aggregation keeps its writer and readers.
   * Returns what has gone and the readers of what has come; the rest is not touched.
   */
  change(markets: readonly ConfiguredMarket[]): MarketChanges {
    const wanted = new Map(markets.map((configured) => [configured.definition.symbol, configured]))
    const removed: string[] = []
    const refed: string[] = []
    for (const [symbol, running] of this.#markets) {
      const next = wanted.get(symbol)
      if (isDeepStrictEqual(running.configured, next)) continue
      if (next !== undefined && isDeepStrictEqual(running.configured.definition, next.definition)) {
        this.#feedFrom(running, next)
        refed.push(symbol)
      } else {
        this.#remove(symbol)
        removed.push(symbol)
      }
    }
    const added = markets
      .filter(({ definition }) => !this.#markets.has(definition.symbol))
      .map((configured) => this.#add(configured))
    this.#endIdleSources()
    this.#markets = new Map([...wanted.keys()].map((symbol) => [symbol, this.#markets.get(symbol) as RunningMarket]))
    return { added, removed, refed }
  }

  /** Ends the sources and the writers; the replicas keep their last books. */
  async stopSources(): Promise<void> {
    await Promise.all([...this.#ending, ...[...this.#sources.values()].map((source) => source.stop())])
    for (const { sequencer } of this.#markets.values()) sequencer?.stop()
  }

  stopReplicas(): void {
    for (const { replica } of this.#markets.values()) replica.stop()
  }

  #add(configured: ConfiguredMarket): Replica {
    const running = this.#read(configured)
    for (const input of this.#write(running)) this.#addInput(input)
    return running.replica
  }

  #addInput({ source, fed }: MarketInput): void {
    const known = this.#sources.get(source.feed)
    if (known === undefined) {
      const created = this.#options.createSource(source.feed, [fed])
      this.#sources.set(source.feed, created)
      created.start()
    } else {
      known.add(fed)
    }
  }

  /** Other sources, or another aggregation, behind the same writer; a source that stays loses no execution by it. */
  #feedFrom(running: RunningMarket, configured: ConfiguredMarket): void {
    running.configured = configured
    // After `start` every market has its feed.
    const { added, removed, kept } = (running.feed as MarketFeed).change(configured)
    for (const { source, fed } of removed) this.#sources.get(source.feed)?.remove(fed)
    for (const input of added) this.#addInput(input)
    for (const { source, fed } of kept) this.#sources.get(source.feed)?.rebuild(fed, SOURCES_CHANGED)
  }

  #remove(symbol: string): void {
    const { replica, sequencer, feed } = this.#markets.get(symbol) as RunningMarket
    for (const { source, fed } of feed?.inputs ?? []) this.#sources.get(source.feed)?.remove(fed)
    sequencer?.stop()
    replica.stop()
    if (replica.instant.milliseconds > 0) this.#gone.set(symbol, replica.instant.milliseconds)
    this.#markets.delete(symbol)
    this.#noteStarted(symbol)
    forgetMarket(this.#options.metrics, symbol)
  }

  #endIdleSources(): void {
    const markets = [...this.#markets.values()]
    const names = new Set(markets.flatMap(({ configured }) => configured.sources.map(({ feed }) => feed)))
    for (const [name, source] of this.#sources) {
      if (names.has(name)) continue
      this.#sources.delete(name)
      const ending = source.stop().finally(() => this.#ending.delete(ending))
      this.#ending.add(ending)
    }
  }

  #noteStarted(symbol: string): void {
    if (this.#starting.delete(symbol) && this.#starting.size === 0) this.#onStarted()
  }

  /** Gives a market its reader. */
  #read(configured: ConfiguredMarket): RunningMarket {
    const { bus, executionsKept } = this.#options
    const { definition } = configured
    const replica = new Replica({ market: definition, bus, executionsKept })
    const running = { configured, replica, sequencer: undefined, feed: undefined }
    this.#markets.set(definition.symbol, running)
    return running
  }

  /** Gives a market its writer; returns how its sources feed it. */
  #write(running: RunningMarket): readonly MarketInput[] {
    const { bus, clock, log, metrics, withdrawAfterMilliseconds } = this.#options
    const { configured } = running
    const { definition: market } = configured
    const sequencer = new Sequencer({
      market,
      epoch: newId(),
      bus,
      clock,
      log,
      metrics,
      floorMilliseconds: Math.max(this.#gone.get(market.symbol) ?? 0, this.#floors.get(market.symbol) ?? 0),
      withdrawAfterMilliseconds,
      onRebuildNeeded: (reason) => feed.rebuild(reason),
    })
    const feed = new MarketFeed({
      configured,
      clock,
      log,
      violations: metrics.violations,
      offer: (event) => sequencer.offer(event),
      onStarted: () => this.#noteStarted(market.symbol),
      rebuild: ({ source, fed }, reason) => this.#sources.get(source.feed)?.rebuild(fed, reason),
    })
    running.sequencer = sequencer
    running.feed = feed
    return feed.inputs
  }
}
