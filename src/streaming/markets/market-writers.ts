/**
 * The markets' writing side: one sequencer per configured market, one source per feed for all its markets, and each
 * market's inputs between them. Markets are added and removed while it runs, by a reload or because another process
 * leads them. A market that is added again continues with later commit times than before.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { SourcePositionLog } from '../links/source-positions.ts'
import type { SourcePresence } from '../market/aggregate.ts'
import { type ConfiguredMarket, sourceText } from '../market/configured-market.ts'
import { type Instrument, type InstrumentState, type Proof, weakestProof } from '../market/event.ts'
import type { Bus, Continuation } from '../sequencing/bus.ts'
import type { Replica } from '../sequencing/replica.ts'
import { Sequencer } from '../sequencing/sequencer.ts'
import { forgetMarket, type SequencerMetrics } from '../sequencing/sequencer-metrics.ts'
import type { Source, SourceMarket } from '../sources/source.ts'
import { newEpoch } from './epochs.ts'
import type { ExecutionProgress } from './execution-progress.ts'
import { followedPublication, sendPositions } from './followed-positions.ts'
import { type InputState, type MarketInput, MarketInputs, SOURCES_CHANGED } from './market-inputs.ts'
import type { CreateSource } from './sources.ts'

/** The state for a market with several sources: the first in this list found on any source. */
const OPENNESS: readonly InstrumentState[] = ['OPEN', 'AUCTION', 'HALTED', 'CLOSED']

/** Executions given to a source to continue after. Venues list the last 50 to 1,000. */
const RESUMED_EXECUTIONS_MAX = 1_000

/** The part that a process leading feed groups may write. */
export interface Lead {
  /** The lease's epoch: larger than every earlier leader's epoch in the group. */
  leaseEpochOf(feedGroup: string): number
  /** Whether it may publish now. */
  mayPublish(feedGroup: string): boolean
}

export interface MarketWritersOptions {
  readonly markets: readonly ConfiguredMarket[]
  /** How long a market may be without a live source before its book is withdrawn. Undefined = it stays. */
  readonly withdrawAfterMilliseconds?: number | undefined
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: SequencerMetrics
  /** Absent where no other process can write the markets. */
  readonly lead?: Lead | undefined
  /** The replica that follows a market here until its sequencer starts. Absent where no other process can write it. */
  readonly replicaOf?: ((symbol: string) => Replica | undefined) | undefined
  /** How far publications are followed, here and by other processes. Absent where no other process can write them. */
  readonly positions?: SourcePositionLog | undefined
  /** The current value for `simulator.allowed`. */
  readonly allowsSimulated: () => boolean
  /** Called for each feed, the simulator and the recording player when a market begins to use it. */
  readonly createSource: CreateSource
}

interface WrittenMarket {
  configured: ConfiguredMarket
  readonly epoch: string
  /** What was heard of an earlier leader. */
  readonly continues: Continuation | undefined
  readonly sequencer: Sequencer
  readonly inputs: MarketInputs
  readonly endPositions: (() => void) | undefined
}

/** A market's source as it is now. */
export interface SourceState extends InputState {
  /** As the configuration names it: `kraken:BTC/USD`. */
  readonly source: string
  /** Operator notices, also about a live source. */
  readonly notices: readonly string[]
  /** What proves its book. */
  readonly proof: Proof
  /** Its contribution to a book from several sources. Absent before its first message. */
  readonly presence?: SourcePresence | undefined
}

export class MarketWriters {
  readonly #options: MarketWritersOptions
  readonly #markets = new Map<string, WrittenMarket>()
  /** Removed markets' last commit times, milliseconds since the epoch. */
  readonly #removedTimes = new Map<string, number>()
  /** Sources without a market, until they have stopped. */
  readonly #stopping = new Set<Promise<void>>()
  #floors: ReadonlyMap<string, number> = new Map()
  /** By name: a feed's, `simulator` or `replay`. */
  readonly #sources = new Map<string, Source>()
  readonly #starting: Set<string>
  #onStarted: () => void = () => undefined

  constructor(options: MarketWritersOptions) {
    this.#options = options
    this.#starting = new Set(options.markets.map(({ definition }) => definition.symbol))
  }

  /** Undefined before `start`, and when the market is not configured. */
  sequencerOf(symbol: string): Sequencer | undefined {
    return this.#markets.get(symbol)?.sequencer
  }

  /** A market's executions as they are written here: their epoch, what it continues, and how far each source is. */
  executionsOf(
    symbol: string,
  ): (Pick<WrittenMarket, 'epoch' | 'continues'> & { progress: ExecutionProgress }) | undefined {
    const market = this.#markets.get(symbol)
    return market && { epoch: market.epoch, continues: market.continues, progress: market.inputs.executionProgress }
  }

  /** A market's sources, in configuration order. None before `start` or for an unknown market. */
  sourcesOf(symbol: string): readonly SourceState[] {
    const inputs = this.#markets.get(symbol)?.inputs
    if (inputs === undefined) return []
    return inputs.list.map(({ source, sourceMarket }, index) => ({
      source: sourceText(source),
      ...inputs.states[index]!,
      notices: [...inputs.noticesOf(index), ...(this.#sources.get(source.feed)?.notices(sourceMarket) ?? [])],
      proof: this.#sources.get(source.feed)?.proof(sourceMarket) ?? 'NONE',
      presence: inputs.presenceOf(index),
    }))
  }

  /** The proof for a market's book: the weakest among its live sources; NONE without one. */
  proofOf(symbol: string): Proof {
    return weakestProof(this.sourcesOf(symbol).flatMap(({ state, proof }) => (state === 'live' ? [proof] : [])))
  }

  /**
   * Whether a market's instrument trades: it does when it trades at any source. Undefined while no source has reported
   * it. The reason names its source, and is empty while the instrument trades. Only a market with one source can be
   * simulated (`#refusalOf`).
   */
  #instrumentOf(symbol: string): Instrument | undefined {
    const inputs = this.#markets.get(symbol)?.inputs.list ?? []
    const known = inputs.flatMap(({ source, sourceMarket }) => {
      const instrument = this.#sources.get(source.feed)?.instrument(sourceMarket)
      if (instrument === undefined || (instrument.simulated === true && inputs.length > 1)) return []
      // A publisher may keep an ended halt's reason.
      const reason = instrument.state === 'OPEN' ? '' : instrument.reason
      // A recorded reason already names its source.
      const isNamed = reason === '' || source.feed === 'replay'
      return [{ ...instrument, reason: isNamed ? reason : `${sourceText(source)}: ${reason}` }]
    })
    for (const state of OPENNESS) {
      const found = known.find((instrument) => instrument.state === state)
      if (found !== undefined) return found
    }
    return undefined
  }

  /**
   * Why a source's book may not be served. An engine or another Tidegate reports itself whether its prices are
   * simulated. The same rules then apply as for a configuration with the simulator.
   */
  #refusalOf({ source, sourceMarket }: MarketInput, sourceCount: number): string | undefined {
    if (this.#sources.get(source.feed)?.instrument(sourceMarket)?.simulated !== true) return undefined
    const name = sourceText(source)
    if (!this.#options.allowsSimulated()) {
      return `${name} is simulated by its publisher: simulator.allowed must be true to serve it (it is false)`
    }
    if (sourceCount === 1) return undefined
    return `${name} is simulated by its publisher: a simulated book must be its market’s only source`
  }

  /** Symbols for markets that were configured at the start, have no book, and whose sources sent nothing yet. */
  get starting(): ReadonlySet<string> {
    return this.#starting
  }

  /** When each market was last committed, removed ones included: milliseconds since the epoch, 0 before the first. */
  *commitTimes(): Iterable<readonly [market: string, milliseconds: number]> {
    for (const [symbol, { sequencer }] of this.#markets) yield [symbol, sequencer.committedMilliseconds]
    for (const entry of this.#removedTimes) if (!this.#markets.has(entry[0])) yield entry
  }

  /**
   * Starts the sequencers, each committing later than its floor (milliseconds since the epoch, from before this start),
   * then the sources. Resolves when each market has a book, or a message from each source.
   */
  start(floors: ReadonlyMap<string, number>): Promise<void> {
    const started = new Promise<void>((resolve) => {
      this.#onStarted = resolve
    })
    this.#floors = floors
    if (this.#starting.size === 0) this.#onStarted()
    const bySource = new Map<string, SourceMarket[]>()
    for (const configured of this.#options.markets) {
      for (const { source, sourceMarket } of this.#write(configured).inputs.list) {
        bySource.set(source.feed, [...(bySource.get(source.feed) ?? []), sourceMarket])
      }
    }
    for (const [name, list] of bySource) this.#sources.set(name, this.#options.createSource(name, list))
    for (const source of this.#sources.values()) source.start()
    return started
  }

  /** Whether the sequencer for a market with this definition runs here, and with a `lead` for this feed group. */
  writes(wanted: ConfiguredMarket): boolean {
    const configured = this.#markets.get(wanted.definition.symbol)?.configured
    const isSameGroup = this.#options.lead === undefined || configured?.feedGroup === wanted.feedGroup
    return isSameGroup && isDeepStrictEqual(configured?.definition, wanted.definition)
  }

  /** Stops the sequencers that write no market in this list. */
  stopMissing(markets: readonly ConfiguredMarket[]): void {
    for (const { sequencer, symbol } of this.#missing(markets)) {
      sequencer.stop()
      if (sequencer.committedMilliseconds > 0) this.#removedTimes.set(symbol, sequencer.committedMilliseconds)
      this.#remove(symbol)
    }
  }

  /**
   * Ends the sequencers that write no market in this list and publishes nothing more from them: another process writes
   * theirs now, and its commits are later. `change` must be called afterwards.
   */
  abandonMissing(markets: readonly ConfiguredMarket[]): void {
    for (const { sequencer, symbol } of this.#missing(markets)) {
      sequencer.abandon()
      this.#remove(symbol)
    }
  }

  /** Commits what waits because it might not be published. */
  resume(): void {
    for (const { sequencer } of this.#markets.values()) sequencer.resume()
  }

  /**
   * Starts the added markets' sequencers. A market with other sources or another aggregation keeps its sequencer. These
   * symbols are returned. Must be called after `stopMissing`.
   */
  change(markets: readonly ConfiguredMarket[]): readonly string[] {
    const resourced: string[] = []
    const added: ConfiguredMarket[] = []
    for (const configured of markets) {
      const { symbol } = configured.definition
      const market = this.#markets.get(symbol)
      if (market === undefined) {
        added.push(configured)
      } else if (!isDeepStrictEqual(market.configured, configured)) {
        this.#changeSources(market, configured)
        resourced.push(symbol)
      }
    }
    for (const configured of added) {
      const market = this.#write(configured)
      for (const input of market.inputs.list) this.#addInput(input)
      this.#resumeExecutions(configured.definition.symbol, market)
    }
    this.#stopIdleSources()
    return resourced
  }

  /** To be called when `simulator.allowed` has changed. */
  followAllowed(): void {
    for (const [symbol, { inputs }] of this.#markets) {
      inputs.followRefusals()
      this.#noteInstrument(symbol)
    }
  }

  /** Stops the sources and then, in the same tick, the sequencers. Resolves when the sources have ended. */
  async stop(): Promise<void> {
    const ending = [...this.#stopping, ...[...this.#sources.values()].map((source) => source.stop())]
    for (const { sequencer } of this.#markets.values()) sequencer.stop()
    await Promise.all(ending)
  }

  #addInput({ source, sourceMarket }: MarketInput): void {
    const running = this.#sources.get(source.feed)
    if (running === undefined) {
      const created = this.#options.createSource(source.feed, [sourceMarket])
      this.#sources.set(source.feed, created)
      created.start()
    } else {
      running.add(sourceMarket)
    }
  }

  /** Continues the executions after the market's earlier leader, or reports that some may be missing. */
  #resumeExecutions(symbol: string, { inputs, sequencer }: WrittenMarket): void {
    const replica = this.#options.replicaOf?.(symbol)
    const state = replica?.state('', 0)
    if (replica === undefined || state === undefined) return
    const { positions } = this.#options
    const { executionProgress, list } = inputs
    const resumed = list.map((input) => {
      const { sourceMarket, source } = input
      const { feed } = source
      // A feed's pairs have numbers of their own.
      const others = list.filter((other) => other !== input).map((other) => other.source.feed)
      const executed = others.includes(feed) ? [] : replica.executions.lastOf(feed, RESUMED_EXECUTIONS_MAX)
      const followed = positions && followedPublication(input, list.length === 1, state, positions)
      const isResumed = this.#sources.get(feed)?.resume?.(sourceMarket, executed, followed) === true
      const milliseconds = executed.at(-1)?.executedAtMilliseconds
      // A publication's executions may name venues of their own.
      const venueTimes = milliseconds === undefined ? replica.executions.lastTimes(others) : undefined
      if (isResumed) executionProgress.resume(sourceMarket, milliseconds, state.milliseconds, venueTimes)
      else executionProgress.lose(Math.min(milliseconds ?? 0, state.milliseconds))
      return isResumed
    })
    if (!resumed.includes(false)) return
    const reason = 'executions between the market’s previous leader and this one are not known'
    sequencer.offer({ type: 'missed', reason })
  }

  /** Unchanged sources are asked for fresh snapshots and lose no execution. */
  #changeSources(market: WrittenMarket, configured: ConfiguredMarket): void {
    market.configured = configured
    const { added, removed, kept } = market.inputs.change(configured)
    for (const { source, sourceMarket } of removed) this.#sources.get(source.feed)?.remove(sourceMarket)
    for (const input of added) this.#addInput(input)
    for (const { source, sourceMarket } of kept) {
      this.#sources.get(source.feed)?.rebuild(sourceMarket, SOURCES_CHANGED)
    }
    this.#noteInstrument(market.configured.definition.symbol)
  }

  #missing(markets: readonly ConfiguredMarket[]): (WrittenMarket & { readonly symbol: string })[] {
    const kept = new Set(markets.filter((market) => this.writes(market)).map(({ definition }) => definition.symbol))
    return [...this.#markets].flatMap(([symbol, market]) => (kept.has(symbol) ? [] : [{ ...market, symbol }]))
  }

  /** Its sequencer has ended. */
  #remove(symbol: string): void {
    const { inputs, endPositions } = this.#markets.get(symbol) as WrittenMarket
    endPositions?.()
    for (const { source, sourceMarket } of inputs.list) this.#sources.get(source.feed)?.remove(sourceMarket)
    this.#markets.delete(symbol)
    this.#noteStarted(symbol)
    forgetMarket(this.#options.metrics, symbol)
  }

  #stopIdleSources(): void {
    const markets = [...this.#markets.values()]
    const names = new Set(markets.flatMap(({ configured }) => configured.sources.map(({ feed }) => feed)))
    for (const [name, source] of this.#sources) {
      if (names.has(name)) continue
      this.#sources.delete(name)
      const stopping = source.stop().finally(() => this.#stopping.delete(stopping))
      this.#stopping.add(stopping)
    }
  }

  #noteInstrument(symbol: string): void {
    this.#markets.get(symbol)?.sequencer.setInstrument(this.#instrumentOf(symbol))
  }

  #noteStarted(symbol: string): void {
    if (this.#starting.delete(symbol) && this.#starting.size === 0) this.#onStarted()
  }

  /** Creates a market's sequencer and the inputs that feed it. */
  #write(configured: ConfiguredMarket): WrittenMarket {
    const { bus, clock, log, metrics, withdrawAfterMilliseconds, lead } = this.#options
    const { definition: market, feedGroup } = configured
    const { symbol } = market
    const replica = this.#options.replicaOf?.(symbol)
    const continues = replica?.followed
    const heardMilliseconds = replica?.instant.milliseconds ?? 0
    const writtenMilliseconds = Math.max(this.#removedTimes.get(symbol) ?? 0, this.#floors.get(symbol) ?? 0)
    const floorMilliseconds = Math.max(writtenMilliseconds, heardMilliseconds)
    const beganMilliseconds = Math.max(clock.wallInstant().milliseconds, floorMilliseconds)
    const epoch = newEpoch(lead?.leaseEpochOf(feedGroup) ?? 0, beganMilliseconds)
    const sequencer = new Sequencer({
      market,
      epoch,
      bus,
      clock,
      log,
      metrics,
      floorMilliseconds,
      continues,
      withdrawAfterMilliseconds,
      mayCommit: lead === undefined ? undefined : () => lead.mayPublish(feedGroup),
      onRebuildNeeded: (reason) => inputs.rebuild(reason),
    })
    const inputs = new MarketInputs({
      configured,
      clock,
      log,
      violations: metrics.violations,
      offer: (event) => sequencer.offer(event),
      onStarted: () => this.#noteStarted(symbol),
      onInstrument: () => this.#noteInstrument(symbol),
      rebuild: ({ source, sourceMarket }, reason) => this.#sources.get(source.feed)?.rebuild(sourceMarket, reason),
      followedBy: ({ source, sourceMarket }) => this.#sources.get(source.feed)?.followed?.(sourceMarket),
      refusalOf: (input): string | undefined => this.#refusalOf(input, inputs.list.length),
    })
    const { positions } = this.#options
    const endPositions = positions && sendPositions(bus, symbol, inputs, positions)
    const written = { configured, epoch, continues, sequencer, inputs, endPositions }
    this.#markets.set(symbol, written)
    if (continues !== undefined) sequencer.announce()
    return written
  }
}
