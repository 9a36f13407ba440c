/**
 * The words of market data: what a source says (`MarketEvent`) and what the book engine passes on. Prices and amounts
 * are integers at the market's scale (`base/decimal`), amount 0 removes a level.
 */
import type { Scaled } from '../base/decimal.ts'

/** A market as the configuration defines it. */
export interface MarketDefinition {
  /** What customers subscribe to: base + quote, like BTCUSD. */
  readonly symbol: string
  readonly baseAsset: string
  readonly quoteAsset: string
  /** Fraction digits of every price of this market, on the wire and at rest. */
  readonly priceDecimals: number
  /** Fraction digits of every amount of this market. */
  readonly amountDecimals: number
  /** Published levels a side; 0 = all. */
  readonly depth: number
}

/**
 * Whether an instrument trades at its venue: as usual; not, although it is there; in an auction; not any more, or not yet.
 * It says nothing about trust: the book of an instrument that does not trade stands still, and is right.
 */
export const INSTRUMENT_STATES = ['OPEN', 'HALTED', 'AUCTION', 'CLOSED'] as const

export type InstrumentState = (typeof INSTRUMENT_STATES)[number]

export interface Instrument {
  readonly state: InstrumentState
  /** The venue's own word for it; empty while it trades as usual. */
  readonly reason: string
}

export const BID = 0
export const ASK = 1
export type Side = typeof BID | typeof ASK

/** One level with its absolute amount; amount 0 = the level is gone. Prices are safe integers. */
export interface LevelChange {
  readonly side: Side
  readonly price: number
  readonly amount: Scaled
}

/** A level whose amount really differs, with both amounts (0 = not there). */
export interface AppliedChange {
  readonly side: Side
  readonly price: number
  readonly before: Scaled
  readonly after: Scaled
}

export interface Execution {
  readonly price: number
  readonly amount: Scaled
  /** The source's trade time in milliseconds since the epoch; absent when it gives none (then the commit time counts). */
  readonly executedAtMilliseconds?: number
}

/**
 * What a source reports about one market, whole source message by whole source message.
 * - `snapshot`: the complete book as the source has it now; replaces what was known.
 * - `update`: level changes (any order, the last wins a price) and executions that belong together.
 * - `lost`: the source cannot vouch for its book any more (disconnected, gap, bad checksum, refused); the last book
 *   stays published until the next `snapshot`, or until it is withdrawn.
 * - `missed`: executions took place between the last one reported and the next, and cannot be had any more (the
 *   source's numbering proves it). Says nothing about the book.
 */
export type MarketEvent =
  | { readonly type: 'snapshot'; readonly levels: readonly LevelChange[] }
  | { readonly type: 'update'; readonly changes: readonly LevelChange[]; readonly executions: readonly Execution[] }
  | { readonly type: 'lost'; readonly reason: string }
  | { readonly type: 'missed'; readonly reason: string }
