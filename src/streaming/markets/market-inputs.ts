/**
 * One market's inputs: a listener for each source, each source's state, and, for several sources, the aggregate that
 * makes one book from them. With several sources, one that breaks an invariant is counted, logged and asked for a fresh
 * snapshot while the others continue. A source whose book may not be served (`refusalOf`) counts as lost, and none of
 * its data reaches the book or the executions. The sources can be changed while the sequencer stays the same. The
 * market is then stale until one has sent a fresh snapshot. Executions whose source names no venue get their feed's
 * name. It starts and stops no source.
 */
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Counter } from '../../platform/base/metrics.ts'
import { Aggregate, type SourcePresence } from '../market/aggregate.ts'
import { type ConfiguredMarket, type MarketSource, sourceText } from '../market/configured-market.ts'
import type { Execution, MarketEvent } from '../market/event.ts'
import type { FollowedPosition, SourceMarket } from '../sources/source.ts'
import { ExecutionProgress } from './execution-progress.ts'

/** One source in the market, and the object given to the source to feed it. */
export interface MarketInput {
  readonly source: MarketSource
  readonly sourceMarket: SourceMarket
}

export interface InputState {
  /** `starting` until the source has sent its first snapshot (`live`), or reported why it has none (`lost`). */
  readonly state: 'starting' | 'live' | 'lost'
  /** Why it is not live. */
  readonly reason: string
  /** When the state changed last: milliseconds since the epoch, by the wall clock. */
  readonly sinceMilliseconds: number
}

export interface MarketInputsOptions {
  readonly configured: ConfiguredMarket
  readonly clock: Clock
  readonly log: Log
  readonly violations: Counter<'market'>
  /** Hands an event to the market's sequencer. */
  readonly offer: (event: MarketEvent) => void
  /** Called when a source has sent a snapshot, or all sources have sent a message. */
  readonly onStarted: () => void
  /** Called when the instrument state has changed at a source. */
  readonly onInstrument: () => void
  /** Asks one source for a fresh snapshot. */
  readonly rebuild: (input: MarketInput, reason: string) => void
  /** How far an input's publication was followed. Undefined where its source is not a publication. */
  readonly followedBy: (input: MarketInput) => FollowedPosition | undefined
  /** Why a source may not be served, although it has a book. Undefined = it may. */
  readonly refusalOf: (input: MarketInput) => string | undefined
}

/** A source that may not be served. */
interface Refusal {
  readonly reason: string
  /** Whether it has executed anything meanwhile. */
  hasExecutions: boolean
}

/** The inputs added, removed and kept by a source change. */
interface InputChanges {
  readonly added: readonly MarketInput[]
  readonly removed: readonly MarketInput[]
  /** With the same listeners as before. The caller asks their sources for fresh snapshots. */
  readonly kept: readonly MarketInput[]
}

/** Why a refused source is asked for a snapshot. */
const ALLOWED_AGAIN = 'the source may be served again'

/** Why a market is stale right after its sources were changed. */
export const SOURCES_CHANGED = 'the market’s sources were changed'

export class MarketInputs {
  readonly executionProgress: ExecutionProgress
  readonly #options: MarketInputsOptions
  #configured: ConfiguredMarket
  #inputs: readonly MarketInput[]
  #aggregate: Aggregate | undefined
  /** In the same order as the inputs. */
  #states: InputState[]
  /** The first configuration's inputs without a message so far. */
  readonly #silent: Set<SourceMarket>
  /** The inputs that may not be served. */
  readonly #refused = new Map<SourceMarket, Refusal>()
  /** How far the publications were followed with what was handed to the sequencer. */
  readonly #followed = new Map<SourceMarket, FollowedPosition>()

  constructor(options: MarketInputsOptions) {
    const { configured, clock } = options
    this.#options = options
    this.executionProgress = new ExecutionProgress(clock)
    this.#configured = configured
    this.#inputs = configured.sources.map((source) => this.#createInput(source))
    this.#aggregate = createAggregate(configured)
    this.#states = this.#inputs.map(() => this.#initialState())
    this.#silent = new Set(this.#inputs.map(({ sourceMarket }) => sourceMarket))
  }

  /** In configuration order. */
  get list(): readonly MarketInput[] {
    return this.#inputs
  }

  /** In the same order as `list`. */
  get states(): readonly InputState[] {
    return this.#states
  }

  /** How far each source's publication was followed, by source as configured. Publications only. */
  get positions(): readonly (readonly [source: string, position: string])[] {
    return this.#inputs.flatMap(({ source, sourceMarket }) => {
      const followed = this.#followed.get(sourceMarket)
      return followed === undefined ? [] : [[sourceText(source), followed.position] as const]
    })
  }

  /** Whether the book is the one source's book at its position. */
  get isBookFollowed(): boolean {
    const [only, ...others] = this.#inputs
    return others.length === 0 && this.#followed.get(only!.sourceMarket)?.hasBook === true
  }

  /**
   * Feeds the market from another configuration's sources, with the same definition. Events from removed inputs are
   * ignored from now on. Inputs whose source stays keep their listener.
   */
  change(configured: ConfiguredMarket): InputChanges {
    const before = new Map(this.#inputs.map((input, index) => [sourceText(input.source), { input, index }]))
    const states = this.#states
    this.#configured = configured
    this.#inputs = configured.sources.map((source) => {
      const sourceMarket = before.get(sourceText(source))?.input.sourceMarket
      return sourceMarket === undefined ? this.#createInput(source) : { source, sourceMarket }
    })
    this.#states = configured.sources.map((source) => {
      const known = before.get(sourceText(source))
      return known === undefined ? this.#initialState() : states[known.index]!
    })
    this.#aggregate = createAggregate(configured)
    this.#options.offer({ type: 'lost', reason: SOURCES_CHANGED })
    const isIn = (inputs: readonly MarketInput[]) => (input: MarketInput) =>
      inputs.some(({ sourceMarket }) => sourceMarket === input.sourceMarket)
    const earlier = [...before.values()].map(({ input }) => input)
    const removed = earlier.filter((input) => !isIn(this.#inputs)(input))
    for (const { sourceMarket } of removed) {
      this.#silent.delete(sourceMarket)
      this.#refused.delete(sourceMarket)
      this.#followed.delete(sourceMarket)
      this.executionProgress.remove(sourceMarket)
    }
    const wasThere = isIn(earlier)
    const added = this.#inputs.filter((input) => !wasThere(input))
    // What it executed before belonged to no market here.
    for (const { sourceMarket } of added) this.executionProgress.begin(sourceMarket)
    return { added, removed, kept: this.#inputs.filter(wasThere) }
  }

  /** Must be called when the answers from `refusalOf` may have changed. */
  followRefusals(): void {
    for (const [index, input] of this.#inputs.entries()) {
      const reason = this.#options.refusalOf(input)
      if (reason !== undefined) this.#refuse(index, reason)
      // Its next snapshot is served.
      else if (this.#refused.has(input.sourceMarket)) this.#options.rebuild(input, ALLOWED_AGAIN)
    }
  }

  /** An input's contribution to the book, with its last message's wall-clock time. Only with several inputs. */
  presenceOf(place: number): SourcePresence | undefined {
    const presence = this.#aggregate?.presenceOf(place)
    if (presence === undefined || presence.heardMilliseconds === 0) return undefined
    const { clock } = this.#options
    const age = clock.monotonicMilliseconds() - presence.heardMilliseconds
    return { ...presence, heardMilliseconds: Math.round(clock.wallInstant().milliseconds - age) }
  }

  /** Operator notices about a live input. */
  noticesOf(place: number): readonly string[] {
    if (this.#aggregate?.isExcluded(place) !== true) return []
    const milliseconds = this.#aggregate.maxAgeOf(place)
    return [`excluded from the book: no book message for ${milliseconds} ms while other sources changed`]
  }

  /** Asks all sources for fresh snapshots, because the sequencer found the book to be wrong. */
  rebuild(reason: string): void {
    this.#aggregate?.startOver()
    for (const input of this.#inputs) this.#options.rebuild(input, reason)
  }

  #createInput(source: MarketSource): MarketInput {
    const { definition: market } = this.#configured
    const sourceMarket: SourceMarket = {
      market,
      venueSymbol: source.symbol,
      listener: (event) => this.#take(sourceMarket, event),
      onInstrument: () => {
        this.followRefusals()
        this.#options.onInstrument()
      },
    }
    this.executionProgress.add(sourceMarket)
    return { source, sourceMarket }
  }

  #initialState(): InputState {
    const sinceMilliseconds = this.#options.clock.wallInstant().milliseconds
    return { state: 'starting', reason: 'no message received yet', sinceMilliseconds }
  }

  #take(sourceMarket: SourceMarket, event: MarketEvent): void {
    const index = this.#inputs.findIndex((input) => input.sourceMarket === sourceMarket)
    if (index === -1) return
    const { onStarted } = this.#options
    this.#silent.delete(sourceMarket)
    const isServed = this.#isServed(index, event)
    if (this.#silent.size === 0 || (isServed && event.type === 'snapshot')) onStarted()
    if (!isServed) return
    if (event.type === 'snapshot') this.#note(index, 'live', '')
    if (event.type === 'lost') this.#note(index, 'lost', event.reason)
    const followed = this.#options.followedBy(this.#inputs[index]!)
    if (followed !== undefined) this.#followed.set(sourceMarket, followed)
    this.#offer(index, withVenues(event, this.#inputs[index]!.source))
  }

  /** Whether the event may reach the book. A refused source returns with a snapshot. */
  #isServed(index: number, event: MarketEvent): boolean {
    const input = this.#inputs[index]!
    const reason = this.#options.refusalOf(input)
    if (reason !== undefined) this.#refuse(index, reason)
    const refusal = this.#refused.get(input.sourceMarket)
    if (refusal === undefined) return true
    if (event.type === 'missed' || (event.type === 'update' && event.executions.length > 0)) {
      refusal.hasExecutions = true
    }
    if (reason !== undefined || event.type !== 'snapshot') return false
    this.#refused.delete(input.sourceMarket)
    if (refusal.hasExecutions) this.#offer(index, { type: 'missed', reason: refusal.reason })
    return true
  }

  #refuse(index: number, reason: string): void {
    const { sourceMarket, source } = this.#inputs[index]!
    const known = this.#refused.get(sourceMarket)
    if (known?.reason === reason) return
    this.#refused.set(sourceMarket, { reason, hasExecutions: known?.hasExecutions ?? false })
    const { log } = this.#options
    log.warn({ market: this.#configured.definition.symbol, source: sourceText(source), reason }, 'source refused')
    this.#note(index, 'lost', reason)
    this.#offer(index, { type: 'lost', reason })
  }

  #offer(index: number, event: MarketEvent): void {
    const { offer } = this.#options
    const isOfBook = event.type === 'update' && event.executions.length === 0
    if (!isOfBook) this.executionProgress.follow(this.#inputs[index]!.sourceMarket, event)
    if (this.#aggregate === undefined) {
      const { feed: venue } = this.#inputs[index]!.source
      offer(event.type === 'snapshot' ? { ...event, attribution: { type: 'only', venue } } : event)
      return
    }
    const { events, violation } = this.#aggregate.offer(index, event, this.#options.clock.monotonicMilliseconds())
    for (const aggregated of events) offer(aggregated)
    if (violation !== undefined) this.#reject(index, violation)
  }

  #reject(index: number, reason: string): void {
    const { violations, log, rebuild } = this.#options
    const input = this.#inputs[index]!
    const market = this.#configured.definition.symbol
    violations.inc({ market })
    log.error({ market, source: sourceText(input.source), reason }, 'market invariant violated')
    this.#note(index, 'lost', reason)
    rebuild(input, reason)
  }

  #note(index: number, state: InputState['state'], reason: string): void {
    const known = this.#states[index]!
    const sinceMilliseconds =
      known.state === state ? known.sinceMilliseconds : this.#options.clock.wallInstant().milliseconds
    this.#states[index] = { state, reason, sinceMilliseconds }
  }
}

/** The event with a venue at each execution. */
function withVenues(event: MarketEvent, { feed }: MarketSource): MarketEvent {
  if (event.type !== 'update' || event.executions.every(hasVenue)) return event
  const executions = event.executions.map((execution) =>
    // In this order: Node.js 20 gives each copy that adds a member behind a spread a hidden class, 230 bytes.
    hasVenue(execution) ? execution : { venue: feed, ...execution },
  )
  return { ...event, executions }
}

function hasVenue({ venue }: Execution): boolean {
  return venue !== undefined
}

/** None for a single source: its events go straight to the sequencer, which enforces the same invariants. */
function createAggregate(configured: ConfiguredMarket): Aggregate | undefined {
  if (configured.sources.length === 1) return undefined
  const inputs = configured.sources.map((source) => {
    const { aggregation } = configured
    const maxAgeMilliseconds = source.maxAgeMilliseconds ?? aggregation.maxAgeMilliseconds ?? ('usual' as const)
    return { name: sourceText(source), venue: source.feed, maxAgeMilliseconds }
  })
  return new Aggregate(inputs, configured.aggregation.policy)
}
