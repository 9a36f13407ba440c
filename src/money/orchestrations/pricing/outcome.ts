/**
 * Determines a price request's outcome from books, settings and the amounts taken before. The outcome is a price (at
 * par inside the peg, or from a market's levels), a wait, or impossible. Pure.
 */
import type { MinorUnits } from '../../ledger/posting.ts'
import type { PricedAsset, PricingContext, PricingMarket } from './context.ts'
import { marketEvidence, type PriceEvidence, parEvidence } from './evidence.ts'
import { type MarketTerms, marketPrice, sideOf, type Walk } from './market.ts'
import { isInsidePeg, parAmounts } from './par.ts'
import { marketsOfPair } from './pegs.ts'
import { type Impossible, impossible, type Waiting, waits } from './refusal.ts'
import { type UsableBook, usableBook } from './usable-book.ts'

export interface PriceRequest {
  readonly orchestrationId: string
  readonly sourceAsset: string
  /** Above zero, without the fee. */
  readonly sourceAmount: MinorUnits
  readonly destinationAsset: string
}

/** A priced conversion, which the caller posts and stores with `recordConversions` in the same transaction. */
export interface Conversion {
  readonly orchestrationId: string
  readonly sourceAsset: string
  /** The amount the desk receives: the requested amount less `remainder`. */
  readonly sourceAmount: MinorUnits
  /** The part the destination's decimals cannot represent. It stays with the profile. 0 in market conversions. */
  readonly remainder: MinorUnits
  readonly destinationAsset: string
  /** The amount the desk pays. */
  readonly destinationAmount: MinorUnits
  /** Destination asset for 1 of the source asset: decimal text, rounded down to 18 fraction digits. */
  readonly price: string
  /** `par`, or the market's symbol. */
  readonly priceSource: string
  readonly evidence: PriceEvidence
}

export type PriceOutcome = { readonly kind: 'priced'; readonly conversion: Conversion } | Waiting | Impossible

/** How a request is converted, chosen without reading a book. */
type Plan =
  | { readonly kind: 'par'; readonly source: PricedAsset; readonly destination: PricedAsset }
  | ({ readonly kind: 'market' } & MarketTerms)
  | Impossible

/** The inputs for a sequence of prices. Each price changes it. */
export interface PricingState {
  readonly context: PricingContext
  /** Books by market, or why a book is not usable. Each is read once, so all prices use one version. */
  readonly books: Map<string, UsableBook | string>
  /** The base amount recent conversions took, including this state's conversions, by market and side. */
  readonly taken: Map<string, bigint>
  /** The amount the desk may still pay, by asset with a limit. */
  readonly payable: Map<string, MinorUnits>
}

/**
 * One request's outcome without locks, from this context's books alone.
 *
 * @param takenBefore the amount recent conversions took from the side it uses
 */
export function priceFrom(request: PriceRequest, context: PricingContext, takenBefore: bigint): PriceOutcome {
  const plan = planOf(request, context)
  const taken = new Map(plan.kind === 'market' ? [[takenKey(plan), takenBefore]] : [])
  return outcomeOf(request, plan, { context, books: new Map(), taken, payable: new Map() })
}

export function planOf(
  { sourceAsset, destinationAsset }: PriceRequest,
  { assets, parAssets, markets }: PricingContext,
): Plan {
  const source = assets.find(({ symbol }) => symbol === sourceAsset)
  const destination = assets.find(({ symbol }) => symbol === destinationAsset)
  if (source === undefined || destination === undefined || source === destination) {
    return impossible(`${sourceAsset} cannot be converted into ${destinationAsset}`)
  }
  if (parAssets.includes(sourceAsset) && parAssets.includes(destinationAsset)) {
    return { kind: 'par', source, destination }
  }
  const [market] = marketsOfPair(markets, sourceAsset, destinationAsset)
  if (market !== undefined) return { kind: 'market', market, source, destination }
  return impossible(`${sourceAsset} and ${destinationAsset} are not at par and have no market`)
}

export function outcomeOf(request: PriceRequest, plan: Plan, state: PricingState): PriceOutcome {
  if (plan.kind === 'impossible') return plan
  const priced = plan.kind === 'par' ? parOutcome(request, plan, state) : marketOutcome(request, plan, state)
  if ('kind' in priced) return priced
  const { conversion, walk } = priced
  const { destinationAsset, destinationAmount } = conversion
  const payable = state.payable.get(destinationAsset)
  if (payable !== undefined && destinationAmount > payable) {
    return waits(
      'DESK_LIMIT',
      `the amount exceeds what conversion.desk_limits lets the desk pay in ${destinationAsset}`,
    )
  }
  if (payable !== undefined) state.payable.set(destinationAsset, payable - destinationAmount)
  if (plan.kind === 'market' && walk !== undefined) take(state.taken, takenKey(plan), walk.base)
  return { kind: 'priced', conversion }
}

interface Priced {
  readonly conversion: Conversion
  readonly walk?: Walk
}

function parOutcome(
  request: PriceRequest,
  plan: Plan & { kind: 'par' },
  state: PricingState,
): Priced | Waiting | Impossible {
  const { source, destination } = plan
  const { context } = state
  const amounts = parAmounts(request.sourceAmount, source, destination)
  if ('kind' in amounts) return amounts
  const pegs: { readonly market: PricingMarket; readonly book: UsableBook }[] = []
  for (const market of marketsOfPair(context.markets, source.symbol, destination.symbol)) {
    const book = bookOf(market.symbol, state)
    if (typeof book === 'string') return waits('PEG', `${market.symbol}: ${book}`)
    if (!isInsidePeg(book.doubleMid, market.priceDecimals, context.settings.pegBpsMax)) {
      return waits('PEG', `${market.symbol} is more than ${context.settings.pegBpsMax} bps away from 1`)
    }
    pegs.push({ market, book })
  }
  return {
    conversion: {
      orchestrationId: request.orchestrationId,
      sourceAsset: source.symbol,
      sourceAmount: amounts.converted,
      remainder: amounts.remainder,
      destinationAsset: destination.symbol,
      destinationAmount: amounts.destination,
      price: '1',
      priceSource: 'par',
      evidence: parEvidence(plan, amounts, pegs, context.settings),
    },
  }
}

function marketOutcome(
  request: PriceRequest,
  plan: Plan & { kind: 'market' },
  state: PricingState,
): Priced | Waiting | Impossible {
  const { symbol } = plan.market
  const { settings } = state.context
  const book = bookOf(symbol, state)
  if (typeof book === 'string') return waits('PRICE', `${symbol}: ${book}`)
  const takenBefore = state.taken.get(takenKey(plan)) ?? 0n
  const price = marketPrice(plan, request.sourceAmount, book, takenBefore, settings)
  if ('kind' in price) return price.kind === 'waits' ? { ...price, detail: `${symbol}: ${price.detail}` } : price
  return {
    walk: price.walk,
    conversion: {
      orchestrationId: request.orchestrationId,
      sourceAsset: plan.source.symbol,
      sourceAmount: request.sourceAmount,
      remainder: 0n,
      destinationAsset: plan.destination.symbol,
      destinationAmount: price.destinationAmount,
      price: price.price,
      priceSource: symbol,
      evidence: marketEvidence(plan, request.sourceAmount, book, takenBefore, price, settings),
    },
  }
}

function bookOf(symbol: string, { books, context }: PricingState): UsableBook | string {
  const known = books.get(symbol)
  if (known !== undefined) return known
  const book = usableBook(context.bookOf(symbol), context)
  books.set(symbol, book)
  return book
}

function takenKey(terms: MarketTerms): string {
  return `${terms.market.symbol}/${sideOf(terms)}`
}

function take(amounts: Map<string, bigint>, key: string, amount: bigint): void {
  amounts.set(key, (amounts.get(key) ?? 0n) + amount)
}
