/** The settings for conversions: assets at par, conditions on books, and limits on prices and the desk. */
import { assetAmounts } from '../asset-amounts.ts'
import { isAssetSymbol } from '../assets.ts'
import { integer, list, seconds } from '../setting-kinds.ts'

export const CONVERSION_SETTINGS = {
  'conversion.par_assets': list({
    initial: ['USD', 'USDC', 'USDG', 'PYUSD', 'USDP'],
    live: true,
    meaning: 'assets that are converted into each other one to one, at par; other pairs need a market',
    accepts: 'symbols of assets',
    fits: isAssetSymbol,
  }),
  'conversion.peg_bps_max': integer({
    initial: 50,
    min: 0,
    max: 10_000,
    live: true,
    meaning:
      'largest deviation of the mid of a market of two par assets from 1, in hundredths of a percent; beyond it, or without a live book, their conversions wait with PEG; a pair without a market is not monitored',
  }),
  'conversion.book_age_seconds_max': seconds({
    initial: 5,
    min: 0.1,
    max: 3600,
    live: true,
    meaning: 'largest age of the last commit of a book that sets a price; conversions wait with PRICE for a newer one',
  }),
  'conversion.slippage_bps_max': integer({
    initial: 100,
    min: 0,
    max: 10_000,
    live: true,
    meaning:
      'largest difference of the average price of a conversion from the mid, in hundredths of a percent; beyond it the conversion waits with SLIPPAGE',
  }),
  'conversion.depth_seconds': seconds({
    initial: 10,
    min: 1,
    max: 3600,
    live: true,
    meaning:
      'how long the amount that a conversion took from one side of a book is unavailable to other conversions; conversions do not change the book itself',
  }),
  'conversion.notional_max': assetAmounts({
    live: true,
    meaning:
      'by quote asset, the largest quote amount of one conversion at a market, such as {USD: 250000}; a larger one waits with SLIPPAGE; none = no limit',
  }),
  'conversion.desk_limits': assetAmounts({
    live: true,
    meaning:
      'by asset, the largest negative position of the desk, such as {USD: 1000000, BTC: "2.5"}; conversions beyond it wait with DESK_LIMIT; none = no limit',
  }),
} as const
