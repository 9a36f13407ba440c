/**
 * Verifies a stored conversion: makes its price again from the inputs in the stored evidence, by the code that priced it,
 * and lists every stored value that differs from the recomputed one. Current books and settings are not used.
 */
import { parseDecimal } from '../../base/decimal.ts'
import { isObject } from '../../base/json-value.ts'
import { formatAmount } from '../../ledger/amounts.ts'
import { BASE_SCALE, type PricedAsset, type PricingLevel, type PricingMarket, type PricingSettings } from './context.ts'
import {
  type EvidenceAmount,
  type EvidenceBook,
  type EvidenceMarket,
  type MarketEvidence,
  marketEvidence,
  type ParEvidence,
  type PriceEvidence,
  parEvidence,
} from './evidence.ts'
import { type MarketTerms, marketPrice, paidAmount, sideOf, type Walk, walkedAmount } from './market.ts'
import { isInsidePeg, parAmounts } from './par.ts'
import { type UsableBook, usableBook } from './usable-book.ts'

/** A stored conversion with the price of its orchestration; amounts in minor units. */
export interface StoredConversion {
  readonly source_asset: string
  readonly source_amount: string
  readonly destination_asset: string
  readonly destination_amount: string
  readonly market: string | null
  readonly side: string | null
  /** Decimal text. */
  readonly base_amount: string | null
  /** Null when the orchestration has none. */
  readonly price: string | null
  readonly price_source: string | null
  /** A `PriceEvidence`, unless the row was modified. */
  readonly evidence: unknown
}

export interface Difference {
  readonly value: string
  readonly stored: string
  readonly recomputed: string
}

export interface Explanation {
  /** Whether every stored value equals the recomputed one. */
  readonly adds_up: boolean
  /** The computation of the amounts, one sentence per step. */
  readonly steps: readonly string[]
  readonly differences: readonly Difference[]
}

/** The evidence lacks an input of the computation, or no price follows from its inputs. */
class UnreadableEvidence extends Error {
  override name = 'UnreadableEvidence'
}

interface Assets {
  readonly source: PricedAsset
  readonly destination: PricedAsset
}

/** A conversion as it follows from the inputs of its evidence. */
interface Recomputed {
  readonly steps: readonly string[]
  readonly row: Omit<StoredConversion, 'evidence'>
  readonly evidence: PriceEvidence
}

export function explainPrice({ evidence, ...stored }: StoredConversion): Explanation {
  try {
    const { steps, row, evidence: expected } = recompute(evidence as PriceEvidence)
    const known = { ...stored, price: stored.price ?? row.price, price_source: stored.price_source ?? row.price_source }
    const differences = [
      ...differencesOf('evidence', evidence, expected),
      ...differencesOf('conversion', { ...known, base_amount: trimmed(stored.base_amount) }, row),
    ]
    return { adds_up: differences.length === 0, steps, differences }
  } catch (error) {
    // A missing member, or one of another type, causes a TypeError.
    if (!(error instanceof UnreadableEvidence || error instanceof TypeError)) throw error
    const difference = { value: 'evidence', stored: `unreadable: ${error.message}`, recomputed: 'readable' }
    return { adds_up: false, steps: [], differences: [difference] }
  }
}

/** The leaves of `recomputed` that `stored` does not have, or has with another value. */
function differencesOf(value: string, stored: unknown, recomputed: unknown): readonly Difference[] {
  if (typeof recomputed === 'object' && recomputed !== null) {
    const found: Readonly<Record<string, unknown>> = isObject(stored) || Array.isArray(stored) ? { ...stored } : {}
    const length = Array.isArray(stored) ? stored.length : undefined
    return [
      ...(Array.isArray(recomputed) ? differencesOf(`${value}.length`, length, recomputed.length) : []),
      ...Object.entries(recomputed).flatMap(([name, member]) => differencesOf(`${value}.${name}`, found[name], member)),
    ]
  }
  return stored === recomputed ? [] : [{ value, stored: String(stored), recomputed: String(recomputed) }]
}

function recompute(evidence: PriceEvidence): Recomputed {
  if (evidence.kind === 'par') return recomputePar(evidence)
  if (evidence.kind === 'market') return recomputeMarket(evidence)
  throw new UnreadableEvidence('kind must be par or market')
}

function recomputePar(evidence: ParEvidence): Recomputed {
  const terms = { source: assetOf(evidence.source), destination: assetOf(evidence.destination) }
  const { source, destination } = terms
  const amounts = parAmounts(unitsOf('source.amount', evidence.source.amount, source.decimals), source, destination)
  if ('kind' in amounts) throw new UnreadableEvidence(amounts.detail)
  const settings = settingsOf({ ...NO_BOUNDS, ...evidence.settings }, source)
  const pegs = evidence.pegs.map((peg) => {
    const market = marketOf(peg.market, terms)
    const book = bookOf(peg.book, market)
    if (isInsidePeg(book.doubleMid, market.priceDecimals, settings.pegBpsMax)) return { market, book }
    throw new UnreadableEvidence(`${market.symbol} is outside the peg`)
  })
  const text = (amount: bigint) => `${formatAmount(amount, source.decimals)} ${source.symbol}`
  const paid = formatAmount(amounts.destination, destination.decimals)
  const finer = `is finer than ${destination.decimals} decimals and stays with the profile`
  return {
    steps: [
      `${text(amounts.converted)} at par is ${paid} ${destination.symbol}`,
      ...(amounts.remainder > 0n ? [`${text(amounts.remainder)} ${finer}`] : []),
      ...evidence.pegs.map(
        ({ market, book }) => `${market.symbol} is at ${book.mid}, ${settings.pegBpsMax} bps are allowed`,
      ),
    ],
    row: { ...rowOf(terms, amounts.converted, amounts.destination), price: '1', price_source: 'par' },
    evidence: parEvidence(terms, amounts, pegs, settings),
  }
}

function recomputeMarket(evidence: MarketEvidence): Recomputed {
  const assets = { source: assetOf(evidence.source), destination: assetOf(evidence.destination) }
  const { source, destination } = assets
  const market = marketOf(evidence.market, assets)
  const terms: MarketTerms = { market, ...assets }
  const side = sideOf(terms)
  const levels = evidence.levels.map(({ price, amount }, index) => ({
    price: unitsOf(`levels.${index}.price`, price, market.priceDecimals),
    amount: unitsOf(`levels.${index}.amount`, amount, BASE_SCALE),
  }))
  checkOrder(levels, side)
  const book = bookOf(evidence.book, market, { [side]: levels })
  const settings = settingsOf({ ...NO_BOUNDS, ...evidence.settings }, side === 'bids' ? destination : source)
  const amount = unitsOf('source.amount', evidence.source.amount, source.decimals)
  const takenBefore = unitsOf('taken_before', evidence.taken_before, BASE_SCALE)
  const priced = marketPrice(terms, amount, book, takenBefore, settings)
  if ('kind' in priced) throw new UnreadableEvidence(priced.detail)
  const { walk, destinationAmount, price } = priced
  return {
    steps: marketSteps(evidence, terms, walk, price, walkedAmount(terms, amount)),
    row: {
      ...rowOf(terms, amount, destinationAmount),
      market: market.symbol,
      side,
      base_amount: formatAmount(walk.base, BASE_SCALE),
      price,
      price_source: market.symbol,
    },
    evidence: marketEvidence(terms, amount, book, takenBefore, priced, settings),
  }
}

/** @param walked the source amount in the units of the walk */
function marketSteps(
  evidence: MarketEvidence,
  terms: MarketTerms,
  walk: Walk,
  price: string,
  walked: bigint,
): readonly string[] {
  const { market, source, destination } = terms
  const side = sideOf(terms)
  const quoteScale = BASE_SCALE + market.priceDecimals
  const paid = paidAmount(terms, walk)
  const [exact, scale] = side === 'bids' ? [walk.quote, quoteScale] : [walk.base, BASE_SCALE]
  const rest = exact - paid * 10n ** BigInt(scale - destination.decimals)
  const levels = `${walk.levels.length} ${walk.levels.length === 1 ? 'level' : 'levels'}`
  const base = `${formatAmount(walk.base, BASE_SCALE)} ${market.baseAsset}`
  const steps = [
    `${levels} of the ${side} of ${market.symbol}: ${base} for ${formatAmount(walk.quote, quoteScale)} ${market.quoteAsset}`,
    `the price is ${price} ${destination.symbol} for 1 ${source.symbol}; the mid was ${evidence.book.mid}`,
    `${formatAmount(exact, scale)} ${destination.symbol} is paid as ${formatAmount(paid, destination.decimals)}; ${formatAmount(rest, scale)} stays with the desk`,
  ]
  if (side === 'bids' || walked === walk.quote) return steps
  const unspent = formatAmount(walked - walk.quote, quoteScale)
  return [...steps, `${unspent} ${source.symbol} buys no unit of the book and stays with the desk`]
}

const NO_BOUNDS = { peg_bps_max: 0, slippage_bps_max: 0, depth_seconds: 0 }

type Bounds = typeof NO_BOUNDS & MarketEvidence['settings']

/** @param quote the asset that `notional_max` is in */
function settingsOf(bounds: Bounds, quote: PricedAsset): PricingSettings {
  const { notional_max: limit } = bounds
  const notional = limit === undefined ? [] : [[quote.symbol, unitsOf('notional_max', limit, quote.decimals)] as const]
  return {
    pegBpsMax: countOf('peg_bps_max', bounds.peg_bps_max, 10_000),
    slippageBpsMax: countOf('slippage_bps_max', bounds.slippage_bps_max, 10_000),
    depthSeconds: bounds.depth_seconds,
    bookAgeSecondsMax: bounds.book_age_seconds_max,
    notionalMax: new Map(notional),
    deskLimits: new Map(),
  }
}

function rowOf({ source, destination }: Assets, sourceAmount: bigint, destinationAmount: bigint) {
  return {
    source_asset: source.symbol,
    source_amount: String(sourceAmount),
    destination_asset: destination.symbol,
    destination_amount: String(destinationAmount),
    market: null,
    side: null,
    base_amount: null,
  }
}

/** The market of the two assets, in the direction that the evidence has. */
function marketOf({ base_asset, price_decimals }: EvidenceMarket, { source, destination }: Assets): PricingMarket {
  const [base, quote] = base_asset === source.symbol ? [source, destination] : [destination, source]
  const priceDecimals = countOf('market.price_decimals', price_decimals)
  return { symbol: base.symbol + quote.symbol, baseAsset: base.symbol, quoteAsset: quote.symbol, priceDecimals }
}

/** The book as far as the price needs it. Nothing here proves which version it was: the stream does, by its cursor. */
function bookOf(
  { cursor, time, simulated: isSimulated, best_bid, best_ask }: EvidenceBook,
  { priceDecimals }: PricingMarket,
  known: { readonly bids?: readonly PricingLevel[]; readonly asks?: readonly PricingLevel[] } = {},
): UsableBook {
  const best = (text: string) => [{ price: unitsOf('the best price', text, priceDecimals), amount: 1n }]
  const sides = { bids: best(best_bid), asks: best(best_ask), ...known }
  const book = { cursor, time, ageMilliseconds: 0, isLive: true, isSimulated, ...sides }
  const usable = usableBook(book, { settings: { bookAgeSecondsMax: 0 }, isSandbox: true })
  if (typeof usable === 'string') throw new UnreadableEvidence(usable)
  return usable
}

/** Each level must be worse than the one before. */
function checkOrder(levels: readonly PricingLevel[], side: 'bids' | 'asks'): void {
  for (const [index, { price }] of levels.entries()) {
    const before = levels[index - 1]?.price
    if (before === undefined || (side === 'bids' ? price < before : price > before)) continue
    throw new UnreadableEvidence(`levels.${index} is not worse than the level before`)
  }
}

function assetOf({ asset, decimals }: EvidenceAmount): PricedAsset {
  return { symbol: asset, decimals: countOf(`decimals of ${asset}`, decimals) }
}

function countOf(name: string, value: unknown, most = BASE_SCALE): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value
  throw new UnreadableEvidence(`${name} must be an integer from 0 to ${most}`)
}

function unitsOf(name: string, text: unknown, decimals: number): bigint {
  const value = typeof text === 'string' ? parseDecimal(text, decimals) : 'malformed'
  if (typeof value === 'string' || value < 0) throw new UnreadableEvidence(`${name} must be a decimal amount`)
  return BigInt(value)
}

/** A decimal from the store without trailing zeros. */
function trimmed(text: string | null): string | null {
  return text?.includes('.') ? text.replace(/\.?0+$/, '') : text
}
