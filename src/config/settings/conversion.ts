/** The settings of conversions: what is at par, and what a book must be like to set a price. */
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
      'hundredths of a percent that the mid of a market of two par assets may be away from 1; further away, or without a live book, their conversions wait with PEG; a pair without a market is not monitored',
  }),
  'conversion.book_age_seconds_max': seconds({
    initial: 5,
    min: 0.1,
    max: 3600,
    live: true,
    meaning:
      'age of the last commit of a book up to which it sets a price; conversions wait with PRICE for a newer one',
  }),
  'conversion.slippage_bps_max': integer({
    initial: 100,
    min: 0,
    max: 10_000,
    live: true,
    meaning:
      'hundredths of a percent that the average price of a conversion may be worse than the mid; it waits with SLIPPAGE otherwise',
  }),
  'conversion.depth_seconds': seconds({
    initial: 10,
    min: 1,
    max: 3600,
    live: true,
    meaning:
      'how long what a conversion took of one side of a book is not there for other conversions; the book shows nothing of them',
  }),
  'conversion.notional_max': assetAmounts({
    live: true,
    meaning:
      'by quote asset, the largest quote amount of one conversion at a market, such as {USD: 250000}; a larger one waits with SLIPPAGE; none = no limit',
  }),
  'conversion.desk_limits': assetAmounts({
    live: true,
    meaning:
      'by asset, how far below zero conversions may bring the position of the desk, such as {USD: 1000000, BTC: "2.5"}; more waits with DESK_LIMIT; none = no limit',
  }),
} as const
