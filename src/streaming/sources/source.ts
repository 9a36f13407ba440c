/**
 * The contract for market-data sources. A source keeps itself connected and passes every normalised venue message to
 * its market's listener: first a `snapshot`, then `update`s, and `lost` whenever the book is out of sync. After `lost`
 * only a new `snapshot` makes the book live again. A source never throws into its caller after `start`, and never calls
 * a listener after `stop`. Markets are added and removed while it runs without affecting the others. Pure.
 */
import type { Execution, Instrument, LevelChange, MarketDefinition, MarketEvent, Proof } from '../market/event.ts'

/** How far a publication (docs/how-to/feeding-your-own-book.md) was followed. */
export interface FollowedPosition {
  /** `EPOCH.SEQ`: every execution up to there was passed on, or reported as missed. */
  readonly position: string
  /** Whether the last published book is the one after this message. */
  readonly hasBook: boolean
}

/** A publication as another process followed it. */
export interface FollowedPublication {
  readonly epoch: string
  readonly seq: number
  /** The full book after this message; absent where it is not known. */
  readonly levels?: readonly LevelChange[]
  /** The origin a relay names for this book. */
  readonly origin?: string
  readonly instrument?: Instrument
}

/** A simulator's notice for each market. `simulator.allowed` permits such a market. */
export const SIMULATED_NOTICE = 'simulated: its prices are invented'

/** One market on a source. The object identifies the market in every later call. */
export interface SourceMarket {
  readonly market: MarketDefinition
  /** The venue's symbol, the part after the colon in `kraken:BTC/USD`; empty for the simulator. */
  readonly venueSymbol: string
  readonly listener: (event: MarketEvent) => void
  /** Called after this market's `instrument` result has changed. */
  readonly onInstrument?: () => void
}

export interface Source {
  start(): void
  /** Adds a market. May be called only after `start`. */
  add(market: SourceMarket): void
  /**
   * Continues a market's executions after those published by another process, oldest first. Must be called in the tick
   * in which the market was added. It passes on every later execution, each once, or reports that some were missed. A
   * publication continues after `followed`, where known. False, or absent: it cannot.
   */
  resume?(market: SourceMarket, executed: readonly Execution[], followed: FollowedPublication | undefined): boolean
  /** How far the market's publication was followed; absent where the source is not a publication. */
  followed?(market: SourceMarket): FollowedPosition | undefined
  /** Removes a market: its listener is not called any more. An unknown market is ignored. */
  remove(market: SourceMarket): void
  /** Ends the source. Resolves when its connections are closed. */
  stop(): Promise<void>
  /** Requests a market's new `snapshot` because its book broke an invariant. The reason is logged. */
  rebuild(market: SourceMarket, reason: string): void
  /** The instrument state as the venue reported it; undefined while unknown. */
  instrument(market: SourceMarket): Instrument | undefined
  /** The proof for a market's book, while it has one. */
  proof(market: SourceMarket): Proof
  /** Operator notices about a market with a book: the venue is post-only, serves fewer levels, and so on. */
  notices(market: SourceMarket): readonly string[]
}
