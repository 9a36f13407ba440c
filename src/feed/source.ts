/**
 * The contract of a market-data source. A source connects by itself, keeps itself connected, and hands every whole
 * message of its venue, normalised, to the listener of the market it belongs to: first a `snapshot`, then `update`s;
 * `lost` whenever it cannot vouch for its book, after which only a new `snapshot` makes it live again. It never
 * throws into its caller after `start`, and never calls a listener after `stop` has been called. Markets come and go
 * while it runs; those that stay lose nothing by it.
 */
import type { Instrument, MarketDefinition, MarketEvent } from '../market/event.ts'

/** One market that a source feeds; the object itself is its name in every later call. */
export interface SourceMarket {
  readonly market: MarketDefinition
  /** The venue's own symbol, the part after the colon in `kraken:BTC/USD`; empty for the simulator. */
  readonly venueSymbol: string
  readonly listener: (event: MarketEvent) => void
}

export interface Source {
  start(): void
  /** Feeds one more market. To be called after `start`. */
  add(market: SourceMarket): void
  /** Feeds a market no longer: its listener is not called any more. A market that is not fed is ignored. */
  remove(market: SourceMarket): void
  /** Ends the source and everything it has open; resolves when nothing of it is left. */
  stop(): Promise<void>
  /** Asks for a fresh `snapshot` of one market because its book broke an invariant; the reason goes to the log. */
  rebuild(market: SourceMarket, reason: string): void
  /** Whether a market's instrument trades, as far as its venue has reported; undefined while nothing is known. */
  instrument(market: SourceMarket): Instrument | undefined
  /** What an operator should know of a market although it is fed: the venue is post-only, gives fewer levels, and so on. */
  notices(market: SourceMarket): readonly string[]
}
