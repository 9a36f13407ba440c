/**
 * What can be deposited, converted and delivered: assets as the configuration names them, and the ways of money that
 * is at a bank. An asset that no crypto network carries is such money, and arrives and leaves over FIAT_NETWORKS. Pure.
 */
import type { CryptoNetwork } from './crypto-networks.ts'

export interface Asset {
  /** Capital letters and digits: `BTC`. */
  readonly symbol: string
  /** Digits behind the point that an amount of it can have. */
  readonly decimals: number
  /** The crypto networks that carry it; none: money at a bank. */
  readonly networks: readonly CryptoNetwork[]
}

/** Between banks. */
export const FIAT_NETWORKS = ['WIRE', 'CUBIX'] as const

export type FiatNetwork = (typeof FIAT_NETWORKS)[number]

/** How the account that money is paid into is numbered. */
export const FIAT_ACCOUNT_TYPES = ['SWIFT', 'ABA'] as const

export type FiatAccountType = (typeof FIAT_ACCOUNT_TYPES)[number]

export function isFiat({ networks }: Asset): boolean {
  return networks.length === 0
}

/** What can be converted and what carries it, as the configuration in force has it. */
export interface Conversions {
  readonly assets: readonly Asset[]
  /** The setting `conversion.par_assets`. */
  readonly parAssets: readonly string[]
  readonly markets: readonly { readonly baseAsset: string; readonly quoteAsset: string }[]
}

/** Whether `source` becomes `destination`: they are the same, both at par, or the two sides of a market. */
export function isConvertible(source: string, destination: string, { parAssets, markets }: Conversions): boolean {
  if (source === destination) return true
  if (parAssets.includes(source) && parAssets.includes(destination)) return true
  return markets.some(
    ({ baseAsset, quoteAsset }) =>
      (baseAsset === source && quoteAsset === destination) || (baseAsset === destination && quoteAsset === source),
  )
}
