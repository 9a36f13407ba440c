/**
 * A price's evidence, as it is stored and shown: all inputs for the price and the amounts, as decimal texts. `explain`
 * recomputes both from the evidence. LEVELS_MAX bounds its size. Pure.
 */
import { formatDecimal } from '../../../platform/base/decimal.ts'
import { formatAmount } from '../../ledger/amounts.ts'
import type { MinorUnits } from '../../ledger/posting.ts'
import { BASE_SCALE, type PricedAsset, type PricingMarket, type PricingSettings } from './context.ts'
import { type BookSide, type MarketPrice, type MarketTerms, sideOf } from './market.ts'
import type { ParAmounts } from './par.ts'
import type { UsableBook } from './usable-book.ts'

export interface EvidenceAmount {
  readonly asset: string
  readonly decimals: number
  readonly amount: string
}

/** A book's version, as the stream names it, and its mid. Earlier program versions stored no cursor and no time. */
export interface EvidenceBook {
  readonly cursor: string
  readonly time: string
  readonly simulated: boolean
  readonly best_bid: string
  readonly best_ask: string
  /** One fraction digit more than prices have. */
  readonly mid: string
}

export interface EvidenceMarket {
  readonly symbol: string
  readonly base_asset: string
  readonly quote_asset: string
  readonly price_decimals: number
}

export interface EvidenceLevel {
  readonly price: string
  /** The level's base amount. */
  readonly amount: string
  /** The base amount other conversions had taken from it. */
  readonly taken_before: string
  readonly taken: string
}

export interface ParEvidence {
  readonly kind: 'par'
  /** The amount to convert. */
  readonly source: EvidenceAmount
  readonly converted_amount: string
  readonly remainder: string
  readonly destination: EvidenceAmount
  /** The pair's markets and their books. Empty when the pair has no market, so the peg is not checked. */
  readonly pegs: readonly { readonly market: EvidenceMarket; readonly book: EvidenceBook }[]
  readonly settings: { readonly peg_bps_max: number; readonly book_age_seconds_max: number }
}

export interface MarketEvidence {
  readonly kind: 'market'
  readonly market: EvidenceMarket
  readonly side: BookSide
  readonly book: EvidenceBook
  /** Base asset other conversions took from this side in the last `depth_seconds`. */
  readonly taken_before: string
  /** The levels used, best one first. */
  readonly levels: readonly EvidenceLevel[]
  readonly source: EvidenceAmount
  /** The exact sums over the levels. */
  readonly base_amount: string
  readonly quote_amount: string
  readonly destination: EvidenceAmount
  readonly price: string
  readonly settings: {
    readonly slippage_bps_max: number
    readonly depth_seconds: number
    readonly book_age_seconds_max: number
    /** In the quote asset. Absent: no limit. */
    readonly notional_max?: string
  }
}

export type PriceEvidence = ParEvidence | MarketEvidence

export function parEvidence(
  terms: { readonly source: PricedAsset; readonly destination: PricedAsset },
  amounts: ParAmounts,
  pegs: readonly { readonly market: PricingMarket; readonly book: UsableBook }[],
  settings: PricingSettings,
): ParEvidence {
  const { source, destination } = terms
  return {
    kind: 'par',
    source: evidenceAmount(source, amounts.converted + amounts.remainder),
    converted_amount: formatAmount(amounts.converted, source.decimals),
    remainder: formatAmount(amounts.remainder, source.decimals),
    destination: evidenceAmount(destination, amounts.destination),
    pegs: pegs.map(({ market, book }) => ({ market: evidenceMarket(market), book: evidenceBook(book, market) })),
    settings: { peg_bps_max: settings.pegBpsMax, book_age_seconds_max: settings.bookAgeSecondsMax },
  }
}

export function marketEvidence(
  terms: MarketTerms,
  amount: MinorUnits,
  book: UsableBook,
  takenBefore: bigint,
  { walk, destinationAmount, price }: MarketPrice,
  settings: PricingSettings,
): MarketEvidence {
  const { market } = terms
  const quote = { decimals: terms[market.quoteAsset === terms.source.symbol ? 'source' : 'destination'].decimals }
  const notionalMax = settings.notionalMax.get(market.quoteAsset)
  return {
    kind: 'market',
    market: evidenceMarket(market),
    side: sideOf(terms),
    book: evidenceBook(book, market),
    taken_before: formatAmount(takenBefore, BASE_SCALE),
    levels: walk.levels.map((level) => ({
      price: formatDecimal(level.price, market.priceDecimals),
      amount: formatAmount(level.amount, BASE_SCALE),
      taken_before: formatAmount(level.takenBefore, BASE_SCALE),
      taken: formatAmount(level.taken, BASE_SCALE),
    })),
    source: evidenceAmount(terms.source, amount),
    base_amount: formatAmount(walk.base, BASE_SCALE),
    quote_amount: formatAmount(walk.quote, BASE_SCALE + market.priceDecimals),
    destination: evidenceAmount(terms.destination, destinationAmount),
    price,
    settings: {
      slippage_bps_max: settings.slippageBpsMax,
      depth_seconds: settings.depthSeconds,
      book_age_seconds_max: settings.bookAgeSecondsMax,
      ...(notionalMax === undefined ? {} : { notional_max: formatAmount(notionalMax, quote.decimals) }),
    },
  }
}

/** The mid as text, with one fraction digit more than prices have. */
function midText(doubleMid: bigint, priceDecimals: number): string {
  return formatDecimal(doubleMid * 5n, priceDecimals + 1)
}

function evidenceAmount({ symbol, decimals }: PricedAsset, amount: MinorUnits): EvidenceAmount {
  return { asset: symbol, decimals, amount: formatAmount(amount, decimals) }
}

function evidenceMarket({ symbol, baseAsset, quoteAsset, priceDecimals }: PricingMarket): EvidenceMarket {
  return { symbol, base_asset: baseAsset, quote_asset: quoteAsset, price_decimals: priceDecimals }
}

function evidenceBook(book: UsableBook, { priceDecimals }: PricingMarket): EvidenceBook {
  return {
    cursor: book.cursor,
    time: book.time,
    simulated: book.isSimulated,
    best_bid: formatDecimal(book.bids[0]!.price, priceDecimals),
    best_ask: formatDecimal(book.asks[0]!.price, priceDecimals),
    mid: midText(book.doubleMid, priceDecimals),
  }
}
