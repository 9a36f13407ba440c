/** Books, assets and settings for the tests of prices. */
import {
  BASE_SCALE,
  type PricedAsset,
  type PricingBook,
  type PricingContext,
  type PricingLevel,
  type PricingMarket,
  type PricingSettings,
} from '../../../../src/money/orchestrations/pricing/context.ts'

export const BTC: PricedAsset = { symbol: 'BTC', decimals: 8 }
export const ETH: PricedAsset = { symbol: 'ETH', decimals: 18 }
export const USD: PricedAsset = { symbol: 'USD', decimals: 2 }
export const USDC: PricedAsset = { symbol: 'USDC', decimals: 6 }

export const BTCUSD: PricingMarket = { symbol: 'BTCUSD', baseAsset: 'BTC', quoteAsset: 'USD', priceDecimals: 2 }
export const USDCUSD: PricingMarket = { symbol: 'USDCUSD', baseAsset: 'USDC', quoteAsset: 'USD', priceDecimals: 4 }

export const SETTINGS: PricingSettings = {
  pegBpsMax: 50,
  slippageBpsMax: 100,
  depthSeconds: 10,
  bookAgeSecondsMax: 5,
  notionalMax: new Map(),
  deskLimits: new Map(),
}

/** `0.5` as base units of a book. */
export function baseUnits(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(BASE_SCALE, '0'))
}

/** Levels of `[price in units of the market, amount]`. */
export function levels(...rows: readonly (readonly [price: number, amount: string])[]): PricingLevel[] {
  return rows.map(([price, amount]) => ({ price: BigInt(price), amount: baseUnits(amount) }))
}

export function book(changes: Partial<PricingBook> = {}): PricingBook {
  return {
    cursor: 'pEcT_n4Z.7',
    time: '2026-11-22T10:00:00.123Z',
    ageMilliseconds: 20,
    isLive: true,
    isSimulated: false,
    bids: levels([6_000_000, '1'], [5_999_900, '2']),
    asks: levels([6_000_100, '1'], [6_000_200, '2']),
    ...changes,
  }
}

/** A book of the pair USDC and USD around a price in units of 10^-4. */
export function pegBook(price: number): PricingBook {
  return book({ bids: levels([price - 1, '1000']), asks: levels([price + 1, '1000']) })
}

export function context(
  books: Readonly<Record<string, PricingBook>>,
  changes: Partial<PricingContext> = {},
): PricingContext {
  return {
    assets: [BTC, ETH, USD, USDC],
    parAssets: ['USD', 'USDC'],
    markets: [BTCUSD, USDCUSD],
    settings: SETTINGS,
    isSandbox: false,
    bookOf: (symbol) => books[symbol],
    ...changes,
  }
}
