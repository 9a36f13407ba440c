/**
 * What feeds one market: a listener for each of its sources, what is known of each, and, where there are several, the
 * aggregate that makes one book of them. It promises that a source that breaks an invariant is counted, logged and
 * asked to begin again while the others continue, and that its sources can be changed under the same writer: the book
 * is not trusted from then on until one of the new ones has given a snapshot. It starts and stops nothing.
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

/** Which inputs a change of the sources has brought, ended and kept. */
interface InputChanges {
  readonly added: readonly MarketInput[]
  readonly removed: readonly MarketInput[]
  /** The same listeners as before; their sources are to be asked for fresh snapshots. */
  readonly kept: readonly MarketInput[]
}

/** Why a book is not trusted right after its sources were changed. */
export const SOURCES_CHANGED = 'the sources of the market were changed'

export class MarketFeed {
  readonly #options: MarketFeedOptions
  #configured: ConfiguredMarket
  #inputs: readonly MarketInput[]
  #aggregate: Aggregate | undefined
  /** In the order of the inputs. */
  #states: InputState[]
  readonly #silent: Set<SourceMarket>

  constructor(options: MarketFeedOptions) {
    const { configured } = options
    this.#options = options
    this.#configured = configured
    this.#inputs = configured.sources.map((source) => this.#createInput(source))
    this.#aggregate = createAggregate(configured)
    this.#states = this.#inputs.map(() => this.#initialState())
    this.#silent = new Set(this.#inputs.map(({ fed }) => fed))
  }

  /** In the order of the configuration. */
  get inputs(): readonly MarketInput[] {
    return this.#inputs
  }

  /** In the order of `inputs`. */
  get states(): readonly InputState[] {
    return this.#states
  }

  /**
   * Feeds the market from the sources of another configuration of the same definition. Nothing of the ended inputs is
   * taken any more; those whose source stays keep their listener.
   */
  change(configured: ConfiguredMarket): InputChanges {
    const before = new Map(this.#inputs.map((input, index) => [sourceText(input.source), { input, index }]))
    const states = this.#states
    this.#configured = configured
    this.#inputs = configured.sources.map((source) => {
      const fed = before.get(sourceText(source))?.input.fed
      return fed === undefined ? this.#createInput(source) : { source, fed }
    })
    this.#states = configured.sources.map((source) => {
      const known = before.get(sourceText(source))
      return known === undefined ? this.#initialState() : states[known.index]!
    })
    this.#aggregate = createAggregate(configured)
    this.#options.offer({ type: 'lost', reason: SOURCES_CHANGED })
    const isIn = (inputs: readonly MarketInput[]) => (input: MarketInput) => inputs.some(({ fed }) => fed === input.fed)
    const earlier = [...before.values()].map(({ input }) => input)
    const removed = earlier.filter((input) => !isIn(this.#inputs)(input))
    for (const { fed } of removed) this.#silent.delete(fed)
    const wasThere = isIn(earlier)
    return {
      added: this.#inputs.filter((input) => !wasThere(input)),
      removed,
      kept: this.#inputs.filter(wasThere),
    }
  }

  /** What an operator should know of an input while it is live. */
  noticesOf(place: number): readonly string[] {
    if (this.#aggregate?.isExcluded(place) !== true) return []
    const milliseconds = maxAgeOf(this.#configured, this.#inputs[place]!.source)
    return [`excluded from the book: no book message for ${milliseconds} ms while other sources changed`]
  }

  /** Asks all sources for fresh snapshots, because the writer found the book to be wrong. */
  rebuild(reason: string): void {
    this.#aggregate?.startOver()
    for (const input of this.#inputs) this.#options.rebuild(input, reason)
  }

  #createInput(source: MarketSource): MarketInput {
    const { definition: market } = this.#configured
    const fed: SourceMarket = { market, venueSymbol: source.symbol, listener: (event) => this.#take(fed, event) }
    return { source, fed }
  }

  #initialState(): InputState {
    const sinceMilliseconds = this.#options.clock.wallInstant().milliseconds
    return { state: 'starting', reason: 'it has said nothing yet', sinceMilliseconds }
  }

  #take(fed: SourceMarket, event: MarketEvent): void {
    const index = this.#inputs.findIndex((input) => input.fed === fed)
    if (index === -1) return
    const { offer, onStarted } = this.#options
    this.#silent.delete(fed)
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

/** None for a single source: it goes straight to the writer, which holds it to the same invariants. */
function createAggregate(configured: ConfiguredMarket): Aggregate | undefined {
  if (configured.sources.length === 1) return undefined
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
