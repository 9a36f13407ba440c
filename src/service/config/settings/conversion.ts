/** The settings for conversions: assets at par, conditions on books, and limits on prices and the desk. */
import { assetAmounts } from '../asset-amounts.ts'
import { isAssetSymbol } from '../assets.ts'
import { integer, list, seconds } from '../setting-kinds.ts'

export const CONVERSION_SETTINGS = {
  'conversion.par_assets': list({
    initial: ['USD', 'USDC', 'USDG', 'PYUSD', 'USDP'],
    live: true,
    meaning: 'assets converted into each other at par. Other pairs need a market',
    accepts: 'asset symbols',
    fits: isAssetSymbol,
  }),
  'conversion.peg_bps_max': integer({
    initial: 50,
    min: 0,
    max: 10_000,
    live: true,
    meaning:
      'largest deviation of a par market’s mid from 1, in basis points. Beyond it, or without a live book, conversions wait with PEG. Par assets without a market are not monitored',
  }),
  'conversion.book_age_seconds_max': seconds({
    initial: 5,
    min: 0.1,
    max: 3600,
    live: true,
    meaning: 'largest age of a book’s last commit for pricing. Conversions wait with PRICE for a newer one',
  }),
  'conversion.slippage_bps_max': integer({
    initial: 100,
    min: 0,
    max: 10_000,
    live: true,
    meaning:
      'largest difference between a conversion’s average price and the mid, in basis points. Beyond it, the conversion waits with SLIPPAGE',
  }),
  'conversion.depth_seconds': seconds({
    initial: 10,
    min: 1,
    max: 3600,
    live: true,
    meaning: 'how long the depth taken by a conversion is unavailable to other conversions',
  }),
  'conversion.notional_max': assetAmounts({
    live: true,
    meaning:
      'largest quote amount per conversion at a market, by quote asset, such as {USD: 250000}. A larger conversion waits with SLIPPAGE. Empty = no limit',
  }),
  'conversion.desk_limits': assetAmounts({
    live: true,
    meaning:
      'the desk’s largest negative position, by asset, such as {USD: 1000000, BTC: "2.5"}. Conversions beyond it wait with DESK_LIMIT. Empty = no limit',
  }),
} as const
