/**
 * A price's inputs that do not come from the store: assets, settings and the markets' live books. This file has only
 * types and the scales of their integers. `app` provides the values. Pure.
 */
import type { MinorUnits } from '../../ledger/posting.ts'

/** The most levels per side that a price may use. This also bounds the price's evidence. */
export const LEVELS_MAX = 200

/** Book amounts, and amounts taken from a book, are in units of 10^-BASE_SCALE of the base asset. */
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

/** A market's book at one version. */
export interface PricingBook {
  /** The `tidegate.v1` cursor that names this version at the published depth. */
  readonly cursor: string
  /** The `time` in the UPDATE with this cursor. */
  readonly time: string
  /** The time since the newest message in the book arrived. Negative when the wall clock was set back since. */
  readonly ageMilliseconds: number
  readonly isLive: boolean
  /** Whether one of its sources is a simulator or a recording. */
  readonly isSimulated: boolean
  /** Best level first, at most LEVELS_MAX. */
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
  /** How far below zero the desk's position may be, by asset, in minor units. */
  readonly deskLimits: ReadonlyMap<string, MinorUnits>
}

export interface PricingContext {
  readonly assets: readonly PricedAsset[]
  readonly parAssets: readonly string[]
  readonly markets: readonly PricingMarket[]
  readonly settings: PricingSettings
  /** Whether prices may come from the simulator and from recordings. */
  readonly isSandbox: boolean
  /** A market's book now. Undefined when this process does not have it. */
  bookOf(symbol: string): PricingBook | undefined
}
