/**
 * The types of market data: what a source reports (`MarketEvent`) and what the book returns. Prices and amounts are
 * integers at the scale of the market (`platform/base/decimal`); amount 0 removes a level. Pure.
 */
import type { Scaled } from '../../platform/base/decimal.ts'

/** A market as configured. */
export interface MarketDefinition {
  /** Name for subscriptions: base + quote, like BTCUSD. */
  readonly symbol: string
  readonly baseAsset: string
  readonly quoteAsset: string
  /** Fraction digits of every price of this market. */
  readonly priceDecimals: number
  /** Fraction digits of every amount of this market. */
  readonly amountDecimals: number
  /** Published levels per side; 0 = all. */
  readonly depth: number
}

/**
 * Trading state of an instrument at its venue: trading, halted, in an auction, or closed. It does not concern trust:
 * the book of an instrument that does not trade is correct, even when it no longer changes.
 */
export const INSTRUMENT_STATES = ['OPEN', 'HALTED', 'AUCTION', 'CLOSED'] as const

export type InstrumentState = (typeof INSTRUMENT_STATES)[number]

export interface Instrument {
  readonly state: InstrumentState
  /** The status as the venue names it. A market that is OPEN has none. */
  readonly reason: string
  /** Its prices are invented: the source is a simulator, or a relay of one. */
  readonly simulated?: true
}

/**
 * What proves that the book of a source is that of its venue, the strongest first. CHECKSUM: the venue's checksum or digest
 * of the book. SEQUENCE: numbers that show every missing message. COMPARISON: only a snapshot now and then. NONE: nothing,
 * as where a simulator or a recording is the source.
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

/** One level with its absolute amount; amount 0 = removed. Prices are safe integers. */
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

/** What one venue has of a level; the amount is not 0. */
export type VenueShare = readonly [venue: string, amount: Scaled]

/** The shares of a level, which sum up to its amount; none = there is no such level. */
export interface LevelVenues {
  readonly side: Side
  readonly price: number
  readonly venues: readonly VenueShare[]
}

/**
 * Which venue has how much of each level; each level once.
 * - `only`: every level, also later ones, is of this venue.
 * - `all`: replaces everything known.
 * - `some`: of these levels; the others are as before.
 */
export type Attribution =
  | { readonly type: 'only'; readonly venue: string }
  | { readonly type: 'all' | 'some'; readonly levels: readonly LevelVenues[] }

export type TakerSide = 'buy' | 'sell'

export interface Execution {
  readonly price: number
  readonly amount: Scaled
  /** The source's identifier of the trade, unique among its trades in the market; absent when it gives none. */
  readonly id?: string
  /** Side of the taker; absent when the source does not report it. */
  readonly side?: TakerSide
  /**
   * Where it was traded, as the source names it: a relay passes on the name that its upstream gave. Sources that name
   * nothing leave it out, and the input of the market adds the name of their feed.
   */
  readonly venue?: string
  /**
   * Trade time of the source in milliseconds since the epoch; absent when the source gives none (the commit time then
   * applies).
   */
  readonly executedAtMilliseconds?: number
}

/**
 * A report of a source about one market: one complete source message.
 * - `snapshot`: the complete book; replaces the known one.
 * - `update`: level changes (any order, the last of a price wins) and executions that belong together.
 * - `lost`: the book is out of sync (disconnected, gap, wrong checksum, refused); the last book stays published until
 *   the next `snapshot`, or until it is withdrawn.
 * - `missed`: executions between the last reported one and the next are lost, as the numbers of the source prove. Does
 *   not concern the book.
 *
 * `attribution` is added by the inputs of the market, not by sources: `only` or `all` with a snapshot, `some` with an update.
 *
 * `origin` is the position of the message in the publication that it was relayed from, `EPOCH.SEQ`
 * (docs/how-to/feeding-your-own-book.md); absent where the source is not a publication.
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
