/**
 * What feeds one market: a listener for each of its sources, what is known of each, and, where there are several, the
 * aggregate that makes one book of them. It promises that a source that breaks an invariant is counted, logged and
 * asked to begin anew while the others go on. It starts and stops nothing.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Counter } from '../base/metrics.ts'
import type { ConfiguredMarket } from '../config/markets.ts'
import { type MarketSource, sourceText } from '../config/sources.ts'
import type { SourceMarket } from '../feed/source.ts'
import { Aggregate } from '../market/aggregate.ts'
import type { MarketEvent } from '../market/event.ts'

/** One source of the market, and how it is fed. */
export interface MarketInput {
  readonly source: MarketSource
  readonly fed: SourceMarket
}

/** What is known of one source of a market. */
export interface InputState {
  /** `starting` until its first book, or the reason why there is none. */
  readonly state: 'starting' | 'live' | 'lost'
  /** Why it is not live. */
  readonly reason: string
  /** Since when it has been so: milliseconds since the epoch, by the wall clock. */
  readonly sinceMilliseconds: number
}

export interface MarketFeedOptions {
  readonly configured: ConfiguredMarket
  readonly clock: Clock
  readonly log: Log
  readonly violations: Counter<'market'>
  /** Takes what the market's writer is to be offered. */
  readonly offer: (event: MarketEvent) => void
  /** One of the sources has given a book, or all have said something. */
  readonly onStarted: () => void
  /** Asks one source for a fresh snapshot. */
  readonly rebuild: (input: MarketInput, reason: string) => void
}

export class MarketFeed {
  readonly inputs: readonly MarketInput[]
  readonly #options: MarketFeedOptions
  readonly #aggregate: Aggregate | undefined
  readonly #states: InputState[]
  readonly #silent: Set<number>

  constructor(options: MarketFeedOptions) {
    const { configured, clock } = options
    const { definition: market, sources } = configured
    this.#options = options
    this.inputs = sources.map((source, index) => ({
      source,
      fed: { market, venueSymbol: source.symbol, listener: (event) => this.#take(index, event) },
    }))
    // A single source goes straight to the writer, which holds it to the same invariants.
    this.#aggregate = sources.length > 1 ? createAggregate(configured) : undefined
    const sinceMilliseconds = clock.wallInstant().milliseconds
    this.#states = sources.map(() => ({ state: 'starting', reason: 'it has said nothing yet', sinceMilliseconds }))
    this.#silent = new Set(sources.keys())
  }

  /** In the order of `inputs`. */
  get states(): readonly InputState[] {
    return this.#states
  }

  /** What an operator should know of an input while it is live. */
  noticesOf(place: number): readonly string[] {
    if (this.#aggregate?.isExcluded(place) !== true) return []
    const milliseconds = maxAgeOf(this.#options.configured, this.inputs[place]!.source)
    return [`excluded from the book: no book message for ${milliseconds} ms while other sources changed`]
  }

  /** Asks all sources for fresh snapshots, because the writer found the book to be wrong. */
  rebuild(reason: string): void {
    this.#aggregate?.startOver()
    for (const input of this.inputs) this.#options.rebuild(input, reason)
  }

  #take(index: number, event: MarketEvent): void {
    const { offer, onStarted } = this.#options
    this.#silent.delete(index)
    if (event.type === 'snapshot') this.#note(index, 'live', '')
    if (event.type === 'lost') this.#note(index, 'lost', event.reason)
    if (event.type === 'snapshot' || this.#silent.size === 0) onStarted()
    if (this.#aggregate === undefined) {
      offer(event)
      return
    }
    const { events, violation } = this.#aggregate.offer(index, event, this.#options.clock.monotonicMilliseconds())
    for (const aggregated of events) offer(aggregated)
    if (violation !== undefined) this.#throwOut(index, violation)
  }

  #throwOut(index: number, reason: string): void {
    const { configured, violations, log, rebuild } = this.#options
    const input = this.inputs[index]!
    const market = configured.definition.symbol
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

function createAggregate(configured: ConfiguredMarket): Aggregate {
  const inputs = configured.sources.map((source) => {
    const maxAgeMilliseconds = maxAgeOf(configured, source)
    return { name: sourceText(source), ...(maxAgeMilliseconds === undefined ? {} : { maxAgeMilliseconds }) }
  })
  return new Aggregate(inputs, configured.aggregation.policy)
}

/** The maximum age of a source: its own, or that of its market; `undefined` = none. */
function maxAgeOf({ aggregation }: ConfiguredMarket, source: MarketSource): number | undefined {
  return source.maxAgeMilliseconds ?? aggregation.maxAgeMilliseconds
}
