/**
 * The writing side of the markets: one sequencer per configured market, one source per feed that feeds all markets that
 * name it, and between them the inputs of each market. Markets are added and removed while it runs, by a reload or because
 * another process leads them. A market that is added again continues with later commit times than it had.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Log } from '../../platform/base/log.ts'
import type { SourcePositionLog } from '../links/source-positions.ts'
import type { SourcePresence } from '../market/aggregate.ts'
import { type ConfiguredMarket, sourceText } from '../market/configured-market.ts'
import { type Instrument, type InstrumentState, type Proof, weakestProof } from '../market/event.ts'
import type { Bus } from '../sequencing/bus.ts'
import type { Replica } from '../sequencing/replica.ts'
import { Sequencer } from '../sequencing/sequencer.ts'
import { forgetMarket, type SequencerMetrics } from '../sequencing/sequencer-metrics.ts'
import type { Source, SourceMarket } from '../sources/source.ts'
import { followedPublication, sendPositions } from './followed-positions.ts'
import { type InputState, type MarketInput, MarketInputs, SOURCES_CHANGED } from './market-inputs.ts'
import type { CreateSource } from './sources.ts'

/** State of a market with several sources: the first of these that any of them is in. */
const OPENNESS: readonly InstrumentState[] = ['OPEN', 'AUCTION', 'HALTED', 'CLOSED']

/** Digits of a time in milliseconds, hexadecimal: enough until the year 10889. */
const EPOCH_TIME_DIGITS = 12
const LEASE_EPOCH_DIGITS = 8
/** Executions that a source is given to continue after: venues list the last 50 to 1,000. */
const RESUMED_EXECUTIONS_MAX = 1_000
const LEASE_EPOCH = new RegExp(`^[0-9a-f]{${LEASE_EPOCH_DIGITS}}-`)

/** What a process that leads feed groups may write. */
export interface Lead {
  /** The epoch of the lease: larger than that of every process that led the group before. */
  leaseEpochOf(feedGroup: string): number
  /** Whether it may publish now. */
  mayPublish(feedGroup: string): boolean
}

export interface MarketWritersOptions {
  readonly markets: readonly ConfiguredMarket[]
  /** How long a market may be without a live source before its book is withdrawn; undefined = it stays. */
  readonly withdrawAfterMilliseconds?: number | undefined
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: SequencerMetrics
  /** Absent where no other process can write the markets. */
  readonly lead?: Lead | undefined
  /** What has followed a market here until its sequencer starts; absent where no other process can write it. */
  readonly replicaOf?: ((symbol: string) => Replica | undefined) | undefined
  /** How far publications are followed, here and by other processes; absent where no other process can write them. */
  readonly positions?: SourcePositionLog | undefined
  /** The current value of `simulator.allowed`. */
  readonly allowsSimulated: () => boolean
  /** Called for each feed, the simulator and the player of recordings when a market begins to use it. */
  readonly createSource: CreateSource
}

interface WrittenMarket {
  configured: ConfiguredMarket
  readonly sequencer: Sequencer
  readonly inputs: MarketInputs
  readonly endPositions: (() => void) | undefined
}

/** One source of a market as it is now. */
export interface SourceState extends InputState {
  /** As the configuration names it: `kraken:BTC/USD`. */
  readonly source: string
  /** Notices for the operator, also about a source that is live. */
  readonly notices: readonly string[]
  /** What proves its book. */
  readonly proof: Proof
  /** What it contributes to the book of several sources; absent before its first message. */
  readonly presence?: SourcePresence | undefined
}

export class MarketWriters {
  readonly #options: MarketWritersOptions
  readonly #markets = new Map<string, WrittenMarket>()
  /** Times of the last commits of removed markets: milliseconds since the epoch. */
  readonly #removedTimes = new Map<string, number>()
  /** Sources without a market, until they have stopped. */
  readonly #stopping = new Set<Promise<void>>()
  #floors: ReadonlyMap<string, number> = new Map()
  /** By name: of a feed, `simulator` or `replay`. */
  readonly #sources = new Map<string, Source>()
  readonly #starting: Set<string>
  #onStarted: () => void = () => undefined

  constructor(options: MarketWritersOptions) {
    this.#options = options
    this.#starting = new Set(options.markets.map(({ definition }) => definition.symbol))
  }

  /** Undefined before `start` and for a market that is not configured. */
  sequencerOf(symbol: string): Sequencer | undefined {
    return this.#markets.get(symbol)?.sequencer
  }

  /** The sources of a market, in the order of its configuration; none before `start` or for an unknown market. */
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

  /** What proves the book of a market: the weakest proof of its live sources; NONE without one. */
  proofOf(symbol: string): Proof {
    return weakestProof(this.sourcesOf(symbol).flatMap(({ state, proof }) => (state === 'live' ? [proof] : [])))
  }

  /**
   * Whether a market's instrument trades: it does when it trades at any of its sources. Undefined while no source has
   * reported it. The reason names its source, and is empty while it trades. Only a market with one source can be simulated
   * (`#refusalOf`).
   */
  #instrumentOf(symbol: string): Instrument | undefined {
    const inputs = this.#markets.get(symbol)?.inputs.list ?? []
    const known = inputs.flatMap(({ source, sourceMarket }) => {
      const instrument = this.#sources.get(source.feed)?.instrument(sourceMarket)
      if (instrument === undefined || (instrument.simulated === true && inputs.length > 1)) return []
      // A publisher may keep the reason of a halt that is over.
      const reason = instrument.state === 'OPEN' ? '' : instrument.reason
      // A recorded reason names the source of that time.
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
   * Why the book of a source may not be served. Whether an engine or another Tidegate invents its prices is known when it
   * says so; the rules for it are those that a configuration with the simulator has to comply with.
   */
  #refusalOf({ source, sourceMarket }: MarketInput, sourceCount: number): string | undefined {
    if (this.#sources.get(source.feed)?.instrument(sourceMarket)?.simulated !== true) return undefined
    const name = sourceText(source)
    if (!this.#options.allowsSimulated()) {
      return `${name} is simulated by its publisher; simulator.allowed must be true to serve it (it is false)`
    }
    if (sourceCount === 1) return undefined
    return `${name} is simulated by its publisher; a simulated book must be the only source of its market`
  }

  /** Symbols of the markets that were configured at the start, have no book, and have sources that sent nothing yet. */
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
   * then the sources. Resolves when each market has a book, or a message from each of its sources.
   */
  start(floors: ReadonlyMap<string, number>): Promise<void> {
    const started = new Promise<void>((resolve) => {
      this.#onStarted = resolve
    })
    this.#floors = floors
    if (this.#starting.size === 0) this.#onStarted()
    const bySource = new Map<string, SourceMarket[]>()
    for (const configured of this.#options.markets) {
      for (const { source, sourceMarket } of this.#write(configured)) {
        bySource.set(source.feed, [...(bySource.get(source.feed) ?? []), sourceMarket])
      }
    }
    for (const [name, list] of bySource) this.#sources.set(name, this.#options.createSource(name, list))
    for (const source of this.#sources.values()) source.start()
    return started
  }

  /** Whether the sequencer of a market with this definition runs here. */
  writes({ definition }: ConfiguredMarket): boolean {
    return isDeepStrictEqual(this.#markets.get(definition.symbol)?.configured.definition, definition)
  }

  /** Stops the sequencers of the markets that are not in this list, or not with the same definition. */
  stopMissing(markets: readonly ConfiguredMarket[]): void {
    for (const { sequencer, symbol } of this.#missing(markets)) {
      sequencer.stop()
      if (sequencer.committedMilliseconds > 0) this.#removedTimes.set(symbol, sequencer.committedMilliseconds)
      this.#remove(symbol)
    }
  }

  /**
   * Ends the sequencers of the markets that are not in this list and publishes nothing more of them: another process
   * writes them now, and its commits are later. `change` is to be called afterwards.
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
   * Starts the sequencers of added markets. A market that differs in its sources or their aggregation keeps its
   * sequencer; their symbols are returned. To be called after `stopMissing`.
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
      const inputs = this.#write(configured)
      for (const input of inputs) this.#addInput(input)
      this.#resumeExecutions(configured.definition.symbol, inputs)
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

  /** Stops the sources, then the sequencers. */
  async stop(): Promise<void> {
    await Promise.all([...this.#stopping, ...[...this.#sources.values()].map((source) => source.stop())])
    for (const { sequencer } of this.#markets.values()) sequencer.stop()
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

  /** Continues the executions of the process that led the market before, or reports that some may be missing. */
  #resumeExecutions(symbol: string, inputs: readonly MarketInput[]): void {
    const replica = this.#options.replicaOf?.(symbol)
    const state = replica?.state('', 0)
    if (replica === undefined || state === undefined) return
    const { positions } = this.#options
    const isResumed = inputs.every((input) => {
      const { feed } = input.source
      const executed = replica.executions.lastOf(feed, RESUMED_EXECUTIONS_MAX)
      const followed = positions && followedPublication(input, inputs.length === 1, state, positions)
      return this.#sources.get(feed)?.resume?.(input.sourceMarket, executed, followed) === true
    })
    if (isResumed) return
    const reason = 'executions between the last leader of the market and this one are not known'
    this.#markets.get(symbol)?.sequencer.offer({ type: 'missed', reason })
  }

  /** The sources that stay are asked for fresh snapshots and lose no execution. */
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
    const wanted = new Map(markets.map(({ definition }) => [definition.symbol, definition]))
    return [...this.#markets]
      .filter(([symbol, { configured }]) => !isDeepStrictEqual(configured.definition, wanted.get(symbol)))
      .map(([symbol, market]) => ({ ...market, symbol }))
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

  /** Creates the sequencer of a market; returns the inputs that feed it. */
  #write(configured: ConfiguredMarket): readonly MarketInput[] {
    const { bus, clock, log, metrics, withdrawAfterMilliseconds, lead } = this.#options
    const { definition: market, feedGroup } = configured
    const { symbol } = market
    const replica = this.#options.replicaOf?.(symbol)
    const heardMilliseconds = replica?.instant.milliseconds ?? 0
    const writtenMilliseconds = Math.max(this.#removedTimes.get(symbol) ?? 0, this.#floors.get(symbol) ?? 0)
    const floorMilliseconds = Math.max(writtenMilliseconds, heardMilliseconds)
    const beganMilliseconds = Math.max(clock.wallInstant().milliseconds, floorMilliseconds)
    const sequencer = new Sequencer({
      market,
      epoch: newEpoch(lead?.leaseEpochOf(feedGroup) ?? 0, beganMilliseconds),
      bus,
      clock,
      log,
      metrics,
      floorMilliseconds,
      continues: replica?.followed,
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
    this.#markets.set(symbol, { configured, sequencer, inputs, endPositions })
    if (replica?.followed !== undefined) sequencer.announce()
    return inputs.list
  }
}

/**
 * An epoch that is greater, as text, than those of all earlier sequencers of the market: of other processes by the lease,
 * and of those of this process, or of runs before it, by the time. The time is later than every commit of them, also
 * after the wall clock was set back.
 * @param leaseEpoch 0 where there is no lease
 */
function newEpoch(leaseEpoch: number, milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(EPOCH_TIME_DIGITS, '0')
  return `${earliestEpoch(leaseEpoch)}${time}-${newId()}`
}

/** What is later than every epoch with a smaller lease epoch, and earlier than every other with this one. */
export function earliestEpoch(leaseEpoch: number): string {
  return `${leaseEpoch.toString(16).padStart(LEASE_EPOCH_DIGITS, '0')}-`
}

/** The lease epoch in the epoch of a sequencer; undefined for a text that is none. */
export function leaseEpochIn(epoch: string): number | undefined {
  return LEASE_EPOCH.test(epoch) ? Number.parseInt(epoch.slice(0, LEASE_EPOCH_DIGITS), 16) : undefined
}
