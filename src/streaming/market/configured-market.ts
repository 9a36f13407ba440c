/** A market as an operator configures it: its definition, its sources, and how several sources make one book. Pure. */
import type { AggregationPolicy } from './aggregate.ts'
import type { MarketDefinition } from './event.ts'

export interface ConfiguredMarket {
  readonly definition: MarketDefinition
  /** At least one source. Several make one aggregated book. */
  readonly sources: readonly MarketSource[]
  readonly aggregation: Aggregation
  /** The processes in one feed group lead its markets together, one of them at a time. */
  readonly feedGroup: string
}

/** The feed group of markets that configure none. */
export const FEED_GROUP_DEFAULT = 'default'

/** Where a market's book comes from. */
export interface MarketSource {
  /** The name of a feed, `simulator`, `ingest`, `module` or `replay`. */
  readonly feed: string
  /**
   * The venue's own symbol (`BTC/USD`), a recording's path, or a module's `FILE:SYMBOL`. Empty for the simulator and
   * for `ingest`.
   */
  readonly symbol: string
  /** Its own maximum age in an aggregated book, in milliseconds. Absent = its market's. */
  readonly maxAgeMilliseconds?: number
}

/** How several sources make one book. */
export interface Aggregation {
  readonly policy: AggregationPolicy
  /** For sources without their own maximum age, in milliseconds. Absent = 15 s, or three of the source's usual gaps. */
  readonly maxAgeMilliseconds?: number
}

/** A source as the configuration names it: `kraken:BTC/USD`. */
export function sourceText({ feed, symbol }: MarketSource): string {
  return symbol === '' ? feed : `${feed}:${symbol}`
}

export function isSimulator({ feed }: MarketSource): boolean {
  return feed === 'simulator'
}

/** Whether an engine publishes the book to the ingest listener. */
export function isIngested({ feed }: MarketSource): boolean {
  return feed === 'ingest'
}

/** Whether a source is a venue or an engine, read through a feed. */
export function isVenueSource({ feed }: MarketSource): boolean {
  return !['simulator', 'ingest', 'module', 'replay'].includes(feed)
}

/** Whether a source's prices come from current trading, not from the simulator or a recording. */
export function isTraded({ feed }: MarketSource): boolean {
  return feed !== 'simulator' && feed !== 'replay'
}

/** Whether a market's prices come from the simulator, not from trading. */
export function isSimulated({ sources }: ConfiguredMarket): boolean {
  return sources.some(isSimulator)
}
