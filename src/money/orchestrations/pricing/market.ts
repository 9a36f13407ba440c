/**
 * Conversion at a market price. It uses the levels on one side of the book, less the amounts recent conversions have
 * taken, from the best one until the source amount is used up. Exact integer arithmetic. The part that the destination
 * asset's decimals cannot represent stays with the desk. Pure.
 */
import { AMOUNT_MAX } from '../../ledger/amounts.ts'
import type { MinorUnits } from '../../ledger/posting.ts'
import { BASE_SCALE, type PricedAsset, type PricingLevel, type PricingMarket, type PricingSettings } from './context.ts'
import { type Impossible, impossible, type Waiting, waits } from './refusal.ts'
import type { UsableBook } from './usable-book.ts'

/** Fraction digits in a price text. */
const PRICE_DIGITS = 18

/** The side whose levels are taken: `bids` when the base asset is sold, `asks` when it is bought. */
export type BookSide = 'bids' | 'asks'

export interface WalkedLevel extends PricingLevel {
  /** The base amount other conversions took from it. */
  readonly takenBefore: bigint
  readonly taken: bigint
}

/** The levels used. Base amounts are in units of 10^-BASE_SCALE, quote amounts in 10^-(BASE_SCALE + price decimals). */
export interface Walk {
  readonly levels: readonly WalkedLevel[]
  readonly base: bigint
  readonly quote: bigint
  /** Whether the levels were sufficient for the amount. */
  readonly isComplete: boolean
}

export interface MarketTerms {
  readonly market: PricingMarket
  readonly source: PricedAsset
  readonly destination: PricedAsset
}

export interface MarketPrice {
  readonly walk: Walk
  readonly destinationAmount: MinorUnits
  /** Decimal text with at most PRICE_DIGITS fraction digits, rounded down. */
  readonly price: string
}

export function sideOf({ market, source }: MarketTerms): BookSide {
  return market.baseAsset === source.symbol ? 'bids' : 'asks'
}

/**
 * Walks one side's levels, best first. `bids`: until `amount` of the base asset is sold. `asks`: until `amount` of the
 * quote asset is spent or buys no further base unit. `takenBefore` is taken off the best levels first.
 */
function walkLevels(levels: Iterable<PricingLevel>, side: BookSide, amount: bigint, takenBefore: bigint): Walk {
  const walked: WalkedLevel[] = []
  let left = amount
  let leftBefore = takenBefore
  let base = 0n
  let quote = 0n
  for (const level of levels) {
    const before = smaller(level.amount, leftBefore)
    leftBefore -= before
    const available = level.amount - before
    const taken = smaller(available, side === 'bids' ? left : left / level.price)
    walked.push({ ...level, takenBefore: before, taken })
    base += taken
    quote += taken * level.price
    left -= side === 'bids' ? taken : taken * level.price
    if (left === 0n || taken < available) return { levels: walked, base, quote, isComplete: true }
  }
  return { levels: walked, base, quote, isComplete: false }
}

/** The source amount in the units of `walkLevels`. */
function walkedAmount(terms: MarketTerms, amount: MinorUnits): bigint {
  const scale = sideOf(terms) === 'bids' ? BASE_SCALE : BASE_SCALE + terms.market.priceDecimals
  return amount * 10n ** BigInt(scale - terms.source.decimals)
}

/** The amount the desk pays for a walk, in the destination's minor units, rounded down. */
function paidAmount(terms: MarketTerms, { base, quote }: Pick<Walk, 'base' | 'quote'>): MinorUnits {
  const { decimals } = terms.destination
  if (sideOf(terms) === 'asks') return base / 10n ** BigInt(BASE_SCALE - decimals)
  return quote / 10n ** BigInt(BASE_SCALE + terms.market.priceDecimals - decimals)
}

/** A walk's average price: destination asset for 1 of the source asset. The walk must not be empty. */
function priceText(terms: MarketTerms, { base, quote }: Pick<Walk, 'base' | 'quote'>): string {
  const scaledBase = base * 10n ** BigInt(terms.market.priceDecimals)
  const [paid, received] = sideOf(terms) === 'bids' ? [quote, scaledBase] : [scaledBase, quote]
  const digits = String((paid * 10n ** BigInt(PRICE_DIGITS)) / received).padStart(PRICE_DIGITS + 1, '0')
  return `${digits.slice(0, -PRICE_DIGITS)}.${digits.slice(-PRICE_DIGITS)}`.replace(/\.?0+$/, '')
}

/**
 * The price for the whole amount, or why there is none. `takenBefore` is in units of 10^-BASE_SCALE of the base asset.
 */
export function marketPrice(
  terms: MarketTerms,
  amount: MinorUnits,
  book: UsableBook,
  takenBefore: bigint,
  settings: PricingSettings,
): MarketPrice | Waiting | Impossible {
  const { market, source, destination } = terms
  const side = sideOf(terms)
  const walk = walkLevels(book[side], side, walkedAmount(terms, amount), takenBefore)
  if (!walk.isComplete) {
    return waits('SLIPPAGE', `the first ${book[side].length} book levels are not sufficient for the amount`)
  }
  const destinationAmount = paidAmount(terms, walk)
  if (walk.base === 0n || destinationAmount === 0n) {
    return impossible(
      `the amount is worth less than ${destination.symbol} can represent with ${destination.decimals} decimals`,
    )
  }
  if (destinationAmount > AMOUNT_MAX) return impossible(`the amount has too many digits in ${destination.symbol}`)
  if (!isInsideSlippage(walk, side, book.doubleMid, settings.slippageBpsMax)) {
    return waits('SLIPPAGE', `the average price is more than ${settings.slippageBpsMax} bps worse than the mid`)
  }
  const notional = market.quoteAsset === source.symbol ? amount : destinationAmount
  const notionalMax = settings.notionalMax.get(market.quoteAsset)
  if (notionalMax !== undefined && notional > notionalMax) {
    return waits('SLIPPAGE', `the amount is above conversion.notional_max: ${market.quoteAsset}`)
  }
  return { walk, destinationAmount, price: priceText(terms, walk) }
}

/** Whether a walk's average price is at most `bpsMax` hundredths of a percent worse than the mid. */
function isInsideSlippage({ base, quote }: Walk, side: BookSide, doubleMid: bigint, bpsMax: number): boolean {
  const average = 2n * quote * 10_000n
  const mid = base * doubleMid
  return side === 'bids' ? average >= mid * BigInt(10_000 - bpsMax) : average <= mid * BigInt(10_000 + bpsMax)
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}
