/**
 * What the price of a conversion is made from, besides the store: assets, settings, and the live books of the markets.
 * Types and the scales of their integers; where the values come from is the concern of `app`. Pure.
 */
import type { MinorUnits } from '../../ledger/posting.ts'

/** Levels per side that a price may be made from; the evidence of a price is never larger. */
export const LEVELS_MAX = 200

/** Amounts of a book, and what was taken from it, are counted in units of 10^-BASE_SCALE of the base asset. */
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

/** The book of a market at one moment: every member is of the same version. */
export interface PricingBook {
  /** The life of the market's writer, within which `version` counts. */
  readonly epoch: string
  readonly version: number
  /** RFC 3339, nine fraction digits. */
  readonly committedAt: string
  /** How long ago the newest message in the book arrived; below zero when the wall clock was set back since. */
  readonly ageMilliseconds: number
  readonly isLive: boolean
  /** Whether the simulator or a recording is among its sources. */
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
  /** By quote asset, in its minor units: the largest quote amount of one conversion. */
  readonly notionalMax: ReadonlyMap<string, MinorUnits>
  /** By asset, in its minor units: how far below zero the desk may be. */
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
