/**
 * Bank networks, and the assets of the setting `assets`, which can be deposited, converted and delivered. An asset without a
 * crypto network is fiat and uses FIAT_NETWORKS. Pure.
 */
import type { CryptoNetwork } from './crypto-networks.ts'

export interface Asset {
  /** Capital letters and digits: `BTC`. */
  readonly symbol: string
  /** Fraction digits of an amount. */
  readonly decimals: number
  /** The crypto networks that carry it; none: fiat. */
  readonly networks: readonly CryptoNetwork[]
}

/** Networks between banks. */
export const FIAT_NETWORKS = ['WIRE', 'CUBIX'] as const

export type FiatNetwork = (typeof FIAT_NETWORKS)[number]

/** The numbering scheme of the bank account for fiat payments. */
export const FIAT_ACCOUNT_TYPES = ['SWIFT', 'ABA'] as const

export type FiatAccountType = (typeof FIAT_ACCOUNT_TYPES)[number]

export function isFiat({ networks }: Asset): boolean {
  return networks.length === 0
}

/** The conversions in the current configuration. */
export interface Conversions {
  readonly assets: readonly Asset[]
  /** The setting `conversion.par_assets`. */
  readonly parAssets: readonly string[]
  readonly markets: readonly { readonly baseAsset: string; readonly quoteAsset: string }[]
}

/** Whether `source` can be converted to `destination`: they are equal, both at par, or the two assets of a market. */
export function isConvertible(source: string, destination: string, { parAssets, markets }: Conversions): boolean {
  if (source === destination) return true
  if (parAssets.includes(source) && parAssets.includes(destination)) return true
  return markets.some(
    ({ baseAsset, quoteAsset }) =>
      (baseAsset === source && quoteAsset === destination) || (baseAsset === destination && quoteAsset === source),
  )
}
