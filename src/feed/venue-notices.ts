/** Notices about a pair that has a book but deserves attention: text for `/readyz` and `check-config`. Pure. */
import { BID, type MarketDefinition } from '../market/event.ts'
import type { Listing, UnfitLevel } from './venue.ts'

export interface NoticedPair {
  readonly venue: string
  readonly symbol: string
  readonly listing: Listing | undefined
  /** Levels per side that were requested, and that the venue serves. */
  readonly depthAsked: number
  readonly depthServed: number
  readonly unfit: readonly UnfitLevel[]
}

/** Digits that are shown of a price or an amount that a market cannot hold. */
const DIGITS_SHOWN_MAX = 40

/** The notices of a pair for one market that uses it. */
export function pairNotices(pair: NoticedPair, market: MarketDefinition): string[] {
  const { venue, symbol, listing, depthAsked, depthServed, unfit } = pair
  const notices: string[] = []
  if (listing?.state === 'restricted') notices.push(`${venue} lists ${symbol} as ${listing.status}`)
  if (listing?.feedSymbol !== undefined) {
    notices.push(`${venue} sends the book and the trades of ${listing.feedSymbol} for ${symbol}`)
  }
  if ((market.depth === 0 ? Number.POSITIVE_INFINITY : market.depth) > depthAsked) {
    notices.push(`${venue} offers no deeper book of ${symbol} than ${depthAsked} levels`)
  }
  if (depthServed < depthAsked) notices.push(`${venue} serves ${depthServed} levels of ${symbol}, not ${depthAsked}`)
  for (const { side, price, amount } of unfit) {
    const [one, all] = side === BID ? ['bid', 'bids'] : ['ask', 'asks']
    notices.push(
      `${market.symbol} cannot hold ${venue}'s ${one} of ${amount.slice(0, DIGITS_SHOWN_MAX)} ` +
        `at ${price.slice(0, DIGITS_SHOWN_MAX)}: the ${all} of ${symbol} end before it`,
    )
  }
  return notices
}
