/**
 * The contract of a market-data source. A source keeps itself connected and passes every message of its venue,
 * normalised, to the listener of its market: first a `snapshot`, then `update`s, and `lost` whenever the book is not in
 * sync, after which only a new `snapshot` makes it live again. It never throws into its caller after `start`, and never
 * calls a listener after `stop`. Markets are added and removed while it runs without affecting the others. Pure.
 */
import type { Execution, Instrument, LevelChange, MarketDefinition, MarketEvent, Proof } from '../market/event.ts'

/** How far a publication (docs/how-to/feeding-your-own-book.md) was followed. */
export interface FollowedPosition {
  /** `EPOCH.SEQ`: every execution up to there was passed on, or reported as missed. */
  readonly position: string
  /** Whether the book that was passed on is the one after that message. */
  readonly hasBook: boolean
}

/** A publication as another process followed it. */
export interface FollowedPublication {
  readonly epoch: string
  readonly seq: number
  /** The full book after that message; absent where it is not known. */
  readonly levels?: readonly LevelChange[]
  /** Where a relay says that this book comes from. */
  readonly origin?: string
  readonly instrument?: Instrument
}

/** What a simulator says about each of its markets; `simulator.allowed` permits such a market. */
export const SIMULATED_NOTICE = 'simulated: its prices are invented'

/** One market of a source. The object identifies the market in every later call. */
export interface SourceMarket {
  readonly market: MarketDefinition
  /** Symbol of the venue, the part after the colon in `kraken:BTC/USD`; empty for the simulator. */
  readonly venueSymbol: string
  readonly listener: (event: MarketEvent) => void
  /** Called after the result of `instrument` for this market has changed. */
  readonly onInstrument?: () => void
}

export interface Source {
  start(): void
  /** Adds a market. May be called only after `start`. */
  add(market: SourceMarket): void
  /**
   * Continues the executions of a market after those that another process published, oldest first; to be called in the
   * tick in which the market was added. It passes on every execution after the last of them, each once, or reports that
   * some were missed. A publication continues after `followed`, where that is known. False, and absent: it cannot.
   */
  resume?(market: SourceMarket, executed: readonly Execution[], followed: FollowedPublication | undefined): boolean
  /** How far the publication of a market was followed; absent where the source is none. */
  followed?(market: SourceMarket): FollowedPosition | undefined
  /** Removes a market: its listener is not called any more. An unknown market is ignored. */
  remove(market: SourceMarket): void
  /** Ends the source; resolves when its connections are closed. */
  stop(): Promise<void>
  /** Requests a new `snapshot` of one market because its book broke an invariant; the reason is logged. */
  rebuild(market: SourceMarket, reason: string): void
  /** State of the instrument as the venue reported it; undefined while unknown. */
  instrument(market: SourceMarket): Instrument | undefined
  /** What proves the book of a market, while it has one. */
  proof(market: SourceMarket): Proof
  /**
   * Notices for the operator about a market that has a book: the venue is post-only, serves fewer levels, and so on.
   */
  notices(market: SourceMarket): readonly string[]
}
