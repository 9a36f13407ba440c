/**
 * The market data types: a source's reports (`MarketEvent`) and the book's results. Prices and amounts are integers at
 * the market's scale (`platform/base/decimal`). Amount 0 removes a level. Pure.
 */
import type { Scaled } from '../../platform/base/decimal.ts'

/** A configured market's symbol, assets and scale. */
export interface MarketDefinition {
  /** Name for subscriptions: base + quote, like BTCUSD. */
  readonly symbol: string
  readonly baseAsset: string
  readonly quoteAsset: string
  /** Fraction digits in every price of this market. */
  readonly priceDecimals: number
  /** Fraction digits in every amount of this market. */
  readonly amountDecimals: number
  /** Published levels per side (0 = all). */
  readonly depth: number
}

/**
 * An instrument's trading state at its venue: trading, halted, in an auction, or closed. It does not concern trust: the
 * book of an instrument that does not trade is correct, even when it no longer changes.
 */
export const INSTRUMENT_STATES = ['OPEN', 'HALTED', 'AUCTION', 'CLOSED'] as const

export type InstrumentState = (typeof INSTRUMENT_STATES)[number]

export interface Instrument {
  readonly state: InstrumentState
  /** The status as the venue names it. Empty for a market that is OPEN. */
  readonly reason: string
  /** The prices are simulated: the source is a simulator, or a relay of one. */
  readonly simulated?: true
}

/**
 * What proves that a source's book equals its venue's book, strongest first:
 * - CHECKSUM: the venue's checksum or digest of the book
 * - SEQUENCE: numbers that show every missing message
 * - COMPARISON: only an occasional snapshot
 * - NONE: nothing, as for a simulator or a recording
 */
export const PROOFS = ['CHECKSUM', 'SEQUENCE', 'COMPARISON', 'NONE'] as const

export type Proof = (typeof PROOFS)[number]

/** NONE for an empty list. */
export function weakestProof(proofs: readonly Proof[]): Proof {
  return PROOFS[Math.max(...proofs.map((proof) => PROOFS.indexOf(proof)))] ?? 'NONE'
}

export const BID = 0
export const ASK = 1
export type Side = typeof BID | typeof ASK

/** One level with its absolute amount. Amount 0 = removed. Prices are safe integers. */
export interface LevelChange {
  readonly side: Side
  readonly price: number
  readonly amount: Scaled
}

/** A level whose amount changed, with both amounts (0 = no level). */
export interface AppliedChange {
  readonly side: Side
  readonly price: number
  readonly before: Scaled
  readonly after: Scaled
}

/** One venue's share in a level. The amount is not 0. */
export type VenueShare = readonly [venue: string, amount: Scaled]

/** A level's shares, whose sum is the level's amount. None = there is no such level. */
export interface LevelVenues {
  readonly side: Side
  readonly price: number
  readonly venues: readonly VenueShare[]
}

/**
 * Each venue's share in each level, each level once.
 * - `only`: every level, also a later one, belongs to this venue.
 * - `all`: replaces everything known.
 * - `some`: replaces these levels' shares. The other levels keep theirs.
 */
export type Attribution =
  | { readonly type: 'only'; readonly venue: string }
  | { readonly type: 'all' | 'some'; readonly levels: readonly LevelVenues[] }

export type TakerSide = 'buy' | 'sell'

export interface Execution {
  readonly price: number
  readonly amount: Scaled
  /** The source's trade identifier, unique among its trades in the market. Absent when it gives none. */
  readonly id?: string
  /** The taker's side. Absent when the source does not report it. */
  readonly side?: TakerSide
  /**
   * Where it was traded, as the source names it. A relay passes on its upstream's name. When a source names no venue,
   * the market's input adds the name of the source's feed.
   */
  readonly venue?: string
  /** The source's trade time in milliseconds since the epoch. When it is absent, the commit time applies. */
  readonly executedAtMilliseconds?: number
}

/**
 * A source's report about one market: one complete source message.
 * - `snapshot`: the complete book, which replaces the known one.
 * - `update`: level changes (in any order, a price's last one wins) and the executions that belong to them.
 * - `lost`: the book is out of sync (disconnected, gap, wrong checksum, refused). The last book stays published until
 *   the next `snapshot`, or until it is withdrawn.
 * - `missed`: executions between the last reported one and the next are lost, as the source's numbers prove. Does not
 *   concern the book.
 *
 * The market's inputs add `attribution`: `only` or `all` with a snapshot, `some` with an update. Sources do not set it.
 * `origin` is the message's position in the publication it was relayed from, `EPOCH.SEQ`
 * (docs/how-to/feeding-your-own-book.md). It is absent where the source is not a publication.
 */
export type MarketEvent =
  | {
      readonly type: 'snapshot'
      readonly levels: readonly LevelChange[]
      readonly attribution?: Attribution
      readonly origin?: string
    }
  | {
      readonly type: 'update'
      readonly changes: readonly LevelChange[]
      readonly executions: readonly Execution[]
      readonly attribution?: Attribution
      readonly origin?: string
    }
  | { readonly type: 'lost'; readonly reason: string }
  | { readonly type: 'missed'; readonly reason: string }
