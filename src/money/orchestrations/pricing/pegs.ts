/** The asset pairs at par, and the markets that check their pegs. Pure. */
import type { PricingContext, PricingMarket } from './context.ts'
import { isInsidePeg } from './par.ts'
import { usableBook } from './usable-book.ts'

type Pairs = Pick<PricingContext, 'assets' | 'parAssets' | 'markets'>

/** The markets between two assets: none, one, or one in each direction. */
export function marketsOfPair(markets: readonly PricingMarket[], one: string, other: string): readonly PricingMarket[] {
  return markets.filter(
    ({ baseAsset, quoteAsset }) =>
      (baseAsset === one && quoteAsset === other) || (baseAsset === other && quoteAsset === one),
  )
}

/** Pairs at par that are converted without a peg check because they have no configured market, such as `USD/USDC`. */
export function pairsWithoutPeg({ assets, parAssets, markets }: Pairs): readonly string[] {
  const symbols = parAssets.filter((symbol) => assets.some((asset) => asset.symbol === symbol))
  return symbols.flatMap((one, index) =>
    symbols
      .slice(index + 1)
      .filter((other) => marketsOfPair(markets, one, other).length === 0)
      .map((other) => `${one}/${other}`),
  )
}

/** The markets between pairs at par, and whether each is inside the peg now. */
export function pegStates(context: PricingContext): readonly { readonly market: string; readonly holds: boolean }[] {
  const { markets, parAssets, settings } = context
  return markets
    .filter(({ baseAsset, quoteAsset }) => parAssets.includes(baseAsset) && parAssets.includes(quoteAsset))
    .map(({ symbol, priceDecimals }) => {
      const book = usableBook(context.bookOf(symbol), context)
      const holds = typeof book !== 'string' && isInsidePeg(book.doubleMid, priceDecimals, settings.pegBpsMax)
      return { market: symbol, holds }
    })
}
