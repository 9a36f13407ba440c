/**
 * The inputs of a price that do not come from the store: assets, settings and the live books of the markets. Types and the
 * scales of their integers only; `app` provides the values. Pure.
 */
import type { MinorUnits } from '../../ledger/posting.ts'

/** Levels per side that a price may use, at most; this also bounds the evidence of a price. */
export const LEVELS_MAX = 200

/** Amounts of a book, and amounts taken from it, are in units of 10^-BASE_SCALE of the base asset. */
export const BASE_SCALE = 18

export interface PricedAsset {
  readonly symbol: string
  readonly decimals: number
}

export interface PricingMarket {
  readonly symbol: string
  readonly baseAsset: string
  readonly quoteAsset: string
  readonly priceDecimals: number
}

export interface PricingLevel {
  /** In units of 10^-priceDecimals of the market. */
  readonly price: bigint
  /** In units of 10^-BASE_SCALE of the base asset. */
  readonly amount: bigint
}

/** The book of a market at one version. */
export interface PricingBook {
  /** The cursor by which `tidegate.v1` names this version of the published depth. */
  readonly cursor: string
  /** The `time` of the UPDATE with this cursor. */
  readonly time: string
  /** Time since the newest message in the book arrived; negative when the wall clock was set back since. */
  readonly ageMilliseconds: number
  readonly isLive: boolean
  /** Whether one of its sources is a simulator or a recording. */
  readonly isSimulated: boolean
  /** The best first; at most LEVELS_MAX. */
  readonly bids: readonly PricingLevel[]
  readonly asks: readonly PricingLevel[]
}

/** The settings `conversion.*` that bound a price. */
export interface PricingSettings {
  readonly pegBpsMax: number
  readonly slippageBpsMax: number
  readonly depthSeconds: number
  readonly bookAgeSecondsMax: number
  /** The largest quote amount of one conversion, by quote asset, in minor units. */
  readonly notionalMax: ReadonlyMap<string, MinorUnits>
  /** How far below zero the position of the desk may be, by asset, in minor units. */
  readonly deskLimits: ReadonlyMap<string, MinorUnits>
}

export interface PricingContext {
  readonly assets: readonly PricedAsset[]
  readonly parAssets: readonly string[]
  readonly markets: readonly PricingMarket[]
  readonly settings: PricingSettings
  /** Whether prices may come from the simulator and from recordings. */
  readonly isSandbox: boolean
  /** The book of a market now; undefined when this process does not have it. */
  bookOf(symbol: string): PricingBook | undefined
}
