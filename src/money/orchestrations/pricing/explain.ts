/**
 * Verifies a stored conversion. The same code that priced it recomputes the price from the inputs in the stored
 * evidence. Every stored value that differs from the recomputed one is listed. Current books and settings are not used.
 * Pure.
 */
import { parseDecimal } from '../../../platform/base/decimal.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import { formatAmount } from '../../ledger/amounts.ts'
import { BASE_SCALE, type PricedAsset, type PricingBook, type PricingMarket, type PricingSettings } from './context.ts'
import type {
  EvidenceAmount,
  EvidenceBook,
  EvidenceMarket,
  MarketEvidence,
  ParEvidence,
  PriceEvidence,
} from './evidence.ts'
import { type BookSide, type MarketTerms, sideOf } from './market.ts'
import { type Conversion, priceFrom } from './outcome.ts'

/** A stored conversion with its orchestration's price. Amounts are in minor units. */
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

/** The evidence lacks an input, or no price follows from its inputs. */
class UnreadableEvidence extends Error {
  override name = 'UnreadableEvidence'
}

interface Assets {
  readonly source: PricedAsset
  readonly destination: PricedAsset
}

export function explainPrice({ evidence, ...stored }: StoredConversion): Explanation {
  try {
    const recomputed = recompute(evidence as PriceEvidence)
    const row = rowOf(recomputed)
    const { evidence: expected } = recomputed
    const steps = expected.kind === 'par' ? parSteps(expected) : marketSteps(expected)
    const known = { ...stored, price: stored.price ?? row.price, price_source: stored.price_source ?? row.price_source }
    const differences = [
      ...differencesOf('evidence', evidence, expected),
      ...differencesOf('conversion', { ...known, base_amount: trimmed(stored.base_amount) }, row),
    ]
    return { adds_up: differences.length === 0, steps, differences }
  } catch (error) {
    // A missing member, or one with another type, causes a TypeError.
    if (!(error instanceof UnreadableEvidence || error instanceof TypeError)) throw error
    const difference = { value: 'evidence', stored: `unreadable: ${error.message}`, recomputed: 'readable' }
    return { adds_up: false, steps: [], differences: [difference] }
  }
}

/** The leaves in `recomputed` that `stored` does not have, or has with another value. */
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

/** Prices the conversion again, with the inputs in its evidence instead of live books and current settings. */
function recompute(evidence: PriceEvidence): Conversion {
  if (evidence.kind !== 'par' && evidence.kind !== 'market') {
    throw new UnreadableEvidence('kind must be par or market')
  }
  const isMarket = evidence.kind === 'market'
  const assets = { source: assetOf(evidence.source), destination: assetOf(evidence.destination) }
  const { source, destination } = assets
  const used = (isMarket ? [evidence] : evidence.pegs).map(({ market: stored, book }) => {
    const market = marketOf(stored, assets)
    return { market, book: bookOf(book, market, isMarket ? levelsOf(evidence, { market, ...assets }) : {}) }
  })
  const isPurchase = isMarket && evidence.market.base_asset === destination.symbol
  const context = {
    assets: [source, destination],
    parAssets: isMarket ? [] : [source.symbol, destination.symbol],
    markets: used.map(({ market }) => market),
    settings: settingsOf({ ...NO_BOUNDS, ...evidence.settings }, isPurchase ? source : destination),
    isSandbox: true,
    bookOf: (symbol: string) => used.find(({ market }) => market.symbol === symbol)?.book,
  }
  const request = {
    orchestrationId: '',
    sourceAsset: source.symbol,
    sourceAmount: unitsOf('source.amount', evidence.source.amount, source.decimals),
    destinationAsset: destination.symbol,
  }
  const takenBefore = isMarket ? unitsOf('taken_before', evidence.taken_before, BASE_SCALE) : 0n
  const outcome = priceFrom(request, context, takenBefore)
  if (outcome.kind !== 'priced') throw new UnreadableEvidence(outcome.detail)
  return outcome.conversion
}

/** A conversion's stored columns. */
function rowOf({ evidence, ...conversion }: Conversion): Omit<StoredConversion, 'evidence'> {
  const market = evidence.kind === 'market' ? evidence : undefined
  return {
    source_asset: conversion.sourceAsset,
    source_amount: String(conversion.sourceAmount),
    destination_asset: conversion.destinationAsset,
    destination_amount: String(conversion.destinationAmount),
    market: market?.market.symbol ?? null,
    side: market?.side ?? null,
    base_amount: market?.base_amount ?? null,
    price: conversion.price,
    price_source: conversion.priceSource,
  }
}

function parSteps({
  source,
  destination,
  converted_amount,
  remainder,
  pegs,
  settings,
}: ParEvidence): readonly string[] {
  const finer = `is finer than ${destination.decimals} decimals and stays with the profile`
  return [
    `${converted_amount} ${source.asset} at par is ${destination.amount} ${destination.asset}`,
    ...(remainder === '0' ? [] : [`${remainder} ${source.asset} ${finer}`]),
    ...pegs.map(({ market, book }) => `${market.symbol} is at ${book.mid}, ${settings.peg_bps_max} bps are allowed`),
  ]
}

function marketSteps(evidence: MarketEvidence): readonly string[] {
  const { market, side, book, source, destination, base_amount, quote_amount, price } = evidence
  const count = `${evidence.levels.length} ${evidence.levels.length === 1 ? 'level' : 'levels'}`
  const exact = side === 'bids' ? quote_amount : base_amount
  const steps = [
    `${count} from ${market.symbol} ${side}: ${base_amount} ${market.base_asset} for ${quote_amount} ${market.quote_asset}`,
    `the price is ${price} ${destination.asset} for 1 ${source.asset}, with the mid at ${book.mid}`,
    `${exact} ${destination.asset} is paid as ${destination.amount}, and ${difference(exact, destination.amount)} stays with the desk`,
  ]
  if (side === 'bids' || source.amount === quote_amount) return steps
  const unspent = difference(source.amount, quote_amount)
  return [...steps, `${unspent} ${source.asset} buys no whole unit and stays with the desk`]
}

/** A quote amount has as many decimals as a base amount and a price together. */
function difference(more: string, less: string): string {
  const scale = 2 * BASE_SCALE
  return formatAmount(unitsOf('an amount', more, scale) - unitsOf('an amount', less, scale), scale)
}

const NO_BOUNDS = { peg_bps_max: 0, slippage_bps_max: 0, depth_seconds: 0 }

type Bounds = typeof NO_BOUNDS & MarketEvidence['settings']

/** @param quote the asset in which `notional_max` is given */
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

/** The market for the two assets, in the evidence's direction. */
function marketOf({ base_asset, price_decimals }: EvidenceMarket, { source, destination }: Assets): PricingMarket {
  const [base, quote] = base_asset === source.symbol ? [source, destination] : [destination, source]
  const priceDecimals = countOf('market.price_decimals', price_decimals)
  return { symbol: base.symbol + quote.symbol, baseAsset: base.symbol, quoteAsset: quote.symbol, priceDecimals }
}

/** The part of the book the price needs. Nothing here proves which version it was: the stream does, by its cursor. */
function bookOf(
  { cursor, time, simulated: isSimulated, best_bid, best_ask }: EvidenceBook,
  { priceDecimals }: PricingMarket,
  known: Partial<Pick<PricingBook, BookSide>>,
): PricingBook {
  const best = (text: string) => [{ price: unitsOf('the best price', text, priceDecimals), amount: 1n }]
  const sides = { bids: best(best_bid), asks: best(best_ask), ...known }
  return { cursor, time, ageMilliseconds: 0, isLive: true, isSimulated, ...sides }
}

/** The side that was used. Each level must be worse than the one before. */
function levelsOf({ levels }: MarketEvidence, terms: MarketTerms): Partial<Pick<PricingBook, BookSide>> {
  const side = sideOf(terms)
  const read = levels.map(({ price, amount }, index) => ({
    price: unitsOf(`levels.${index}.price`, price, terms.market.priceDecimals),
    amount: unitsOf(`levels.${index}.amount`, amount, BASE_SCALE),
  }))
  for (const [index, { price }] of read.entries()) {
    const before = read[index - 1]?.price
    if (before === undefined || (side === 'bids' ? price < before : price > before)) continue
    throw new UnreadableEvidence(`levels.${index} is not worse than the level before`)
  }
  return { [side]: read }
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
