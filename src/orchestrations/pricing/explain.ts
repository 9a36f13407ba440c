/**
 * Verifies a stored conversion: recomputes its price and amounts exactly from the stored evidence, and lists every stored
 * value that differs. Current books and settings are not used.
 */
import { parseDecimal } from '../../base/decimal.ts'
import { formatAmount } from '../../ledger/amounts.ts'
import type { MinorUnits } from '../../ledger/posting.ts'
import { BASE_SCALE, type PricedAsset, type PricingLevel } from './context.ts'
import { type EvidenceBook, type EvidenceMarket, type MarketEvidence, midText, type ParEvidence } from './evidence.ts'
import {
  isInsideSlippage,
  type MarketTerms,
  paidAmount,
  priceText,
  sideOf,
  type Walk,
  walkedAmount,
  walkLevels,
} from './market.ts'
import { isInsidePeg, parAmounts } from './par.ts'

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

/** The evidence does not have the members that the computation needs. */
class UnreadableEvidence extends Error {
  override name = 'UnreadableEvidence'
}

export function explainPrice(stored: StoredConversion): Explanation {
  const account = new Account()
  try {
    const evidence = stored.evidence as ParEvidence | MarketEvidence
    const { kind }: { readonly kind: unknown } = evidence
    if (evidence.kind === 'par') explainPar(evidence, stored, account)
    else if (evidence.kind === 'market') explainMarket(evidence, stored, account)
    else account.compare('kind', kind, 'par or market')
  } catch (error) {
    // A missing member, or one of another type, causes a TypeError.
    if (!(error instanceof UnreadableEvidence || error instanceof TypeError)) throw error
    account.compare('evidence', `unreadable: ${error.message}`, 'readable')
  }
  const { steps, differences } = account
  return { adds_up: differences.length === 0, steps, differences }
}

/** Collects steps and differences. */
class Account {
  readonly steps: string[] = []
  readonly differences: Difference[] = []

  compare(value: string, stored: unknown, recomputed: unknown): void {
    if (stored === recomputed) return
    this.differences.push({ value, stored: String(stored), recomputed: String(recomputed) })
  }

  /** Compares the columns that every kind of conversion has. */
  compareRow(stored: StoredConversion, evidence: ParEvidence | MarketEvidence, amounts: Amounts, price: string): void {
    const { source, destination } = evidence
    this.compare('conversion.source_asset', stored.source_asset, source.asset)
    this.compare('conversion.source_amount', stored.source_amount, String(amounts.source))
    this.compare('conversion.destination_asset', stored.destination_asset, destination.asset)
    this.compare('conversion.destination_amount', stored.destination_amount, String(amounts.destination))
    this.compare('destination.amount', destination.amount, formatAmount(amounts.destination, destination.decimals))
    if (stored.price !== null) this.compare('orchestration.price', stored.price, price)
  }
}

interface Amounts {
  readonly source: MinorUnits
  readonly destination: MinorUnits
}

function explainPar(evidence: ParEvidence, stored: StoredConversion, account: Account): void {
  const source = assetOf(evidence.source)
  const destination = assetOf(evidence.destination)
  const amounts = parAmounts(unitsOf('source.amount', evidence.source.amount, source.decimals), source, destination)
  if ('kind' in amounts) {
    account.compare('source.amount', evidence.source.amount, amounts.detail)
    return
  }
  const text = (amount: MinorUnits) => formatAmount(amount, source.decimals)
  account.steps.push(
    `${text(amounts.converted)} ${source.symbol} at par is ${formatAmount(amounts.destination, destination.decimals)} ${destination.symbol}`,
  )
  if (amounts.remainder > 0n) {
    account.steps.push(
      `${text(amounts.remainder)} ${source.symbol} is finer than ${destination.decimals} decimals and stays with the profile`,
    )
  }
  account.compare('converted_amount', evidence.converted_amount, text(amounts.converted))
  account.compare('remainder', evidence.remainder, text(amounts.remainder))
  for (const [index, { market, book }] of evidence.pegs.entries()) {
    const doubleMid = compareMid(`pegs[${index}].book`, market, book, account)
    const isInside = isInsidePeg(doubleMid, market.price_decimals, bpsOf('peg_bps_max', evidence.settings.peg_bps_max))
    account.steps.push(`${market.symbol} is at ${book.mid}, ${evidence.settings.peg_bps_max} bps are allowed`)
    account.compare(`pegs[${index}]`, isInside ? 'inside' : 'outside', 'inside')
    const pair = [source.symbol, destination.symbol].sort().join('/')
    account.compare(`pegs[${index}].market`, [market.base_asset, market.quote_asset].sort().join('/'), pair)
  }
  account.compare('conversion.market', stored.market, null)
  if (stored.price_source !== null) account.compare('orchestration.price_source', stored.price_source, 'par')
  account.compareRow(stored, evidence, { source: amounts.converted, destination: amounts.destination }, '1')
}

function explainMarket(evidence: MarketEvidence, stored: StoredConversion, account: Account): void {
  const terms = termsOf(evidence, account)
  const { market, source, destination } = terms
  const side = sideOf(terms)
  account.compare('side', evidence.side, side)
  const doubleMid = compareMid('book', evidence.market, evidence.book, account)
  const levels = levelsOf(evidence, market.priceDecimals)
  compareOrder(evidence, levels, account)
  const amount = unitsOf('source.amount', evidence.source.amount, source.decimals)
  const walked = walkedAmount(terms, amount)
  const walk = walkLevels(levels, side, walked, unitsOf('taken_before', evidence.taken_before, BASE_SCALE))
  compareWalk(evidence, walk, account)
  if (walk.base === 0n) throw new UnreadableEvidence('no level of the book was used')
  const price = priceText(terms, walk)
  const paid = paidAmount(terms, walk)
  account.steps.push(...marketSteps(evidence, terms, walk, walked))
  account.compare('price', evidence.price, price)
  const { slippage_bps_max: slippage, notional_max: notionalMax } = evidence.settings
  const isInside = isInsideSlippage(walk, side, doubleMid, bpsOf('slippage_bps_max', slippage))
  account.compare('slippage', isInside ? 'inside' : 'outside', 'inside')
  if (notionalMax !== undefined) {
    const [quote, notional] = market.quoteAsset === source.symbol ? [source, amount] : [destination, paid]
    const isBelow = notional <= unitsOf('notional_max', notionalMax, quote.decimals)
    account.compare('notional', isBelow ? 'inside' : 'outside', 'inside')
  }
  account.compare('conversion.market', stored.market, market.symbol)
  account.compare('conversion.side', stored.side, side)
  account.compare('conversion.base_amount', trimmed(stored.base_amount), formatAmount(walk.base, BASE_SCALE))
  if (stored.price_source !== null) account.compare('orchestration.price_source', stored.price_source, market.symbol)
  account.compareRow(stored, evidence, { source: amount, destination: paid }, price)
}

/** Compares the amounts of each level, and the sums. */
function compareWalk(evidence: MarketEvidence, walk: Walk, account: Account): void {
  const { levels, market } = evidence
  account.compare('levels', levels.length, walk.isComplete ? walk.levels.length : 'more, for the amount')
  for (const [index, level] of walk.levels.entries()) {
    const shown = levels[index]!
    account.compare(`levels[${index}].taken_before`, shown.taken_before, formatAmount(level.takenBefore, BASE_SCALE))
    account.compare(`levels[${index}].taken`, shown.taken, formatAmount(level.taken, BASE_SCALE))
  }
  account.compare('base_amount', evidence.base_amount, formatAmount(walk.base, BASE_SCALE))
  account.compare('quote_amount', evidence.quote_amount, formatAmount(walk.quote, BASE_SCALE + market.price_decimals))
}

/** @param walked the source amount in the units of `walkLevels` */
function marketSteps(evidence: MarketEvidence, terms: MarketTerms, walk: Walk, walked: bigint): readonly string[] {
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
    `the price is ${priceText(terms, walk)} ${destination.symbol} for 1 ${source.symbol}; the mid was ${evidence.book.mid}`,
    `${formatAmount(exact, scale)} ${destination.symbol} is paid as ${formatAmount(paid, destination.decimals)}; ${formatAmount(rest, scale)} stays with the desk`,
  ]
  if (side === 'bids' || walked === walk.quote) return steps
  const unspent = formatAmount(walked - walk.quote, quoteScale)
  return [...steps, `${unspent} ${source.symbol} buys no unit of the book and stays with the desk`]
}

function termsOf({ market, source, destination }: MarketEvidence, account: Account): MarketTerms {
  const { symbol, base_asset: baseAsset, quote_asset: quoteAsset, price_decimals: priceDecimals } = market
  account.compare('market.symbol', symbol, baseAsset + quoteAsset)
  const pair = [source.asset, destination.asset].sort().join('/')
  account.compare('market', [baseAsset, quoteAsset].sort().join('/'), pair)
  return {
    market: { symbol, baseAsset, quoteAsset, priceDecimals: countOf('market.price_decimals', priceDecimals) },
    source: assetOf(source),
    destination: assetOf(destination),
  }
}

/** Compares the mid with the best prices; returns twice the mid, in units of the market's prices. */
function compareMid(path: string, { price_decimals }: EvidenceMarket, book: EvidenceBook, account: Account): bigint {
  const decimals = countOf(`${path}.price_decimals`, price_decimals)
  const bid = unitsOf(`${path}.best_bid`, book.best_bid, decimals)
  const ask = unitsOf(`${path}.best_ask`, book.best_ask, decimals)
  account.compare(`${path}.mid`, book.mid, midText(bid + ask, decimals))
  if (bid >= ask) account.compare(`${path}.best_bid`, book.best_bid, `less than ${book.best_ask}`)
  return bid + ask
}

function levelsOf({ levels }: MarketEvidence, priceDecimals: number): readonly PricingLevel[] {
  return levels.map(({ price, amount }, index) => {
    const level = {
      price: unitsOf(`levels[${index}].price`, price, priceDecimals),
      amount: unitsOf(`levels[${index}].amount`, amount, BASE_SCALE),
    }
    if (level.price > 0n && level.amount > 0n) return level
    throw new UnreadableEvidence(`levels[${index}] is not above zero`)
  })
}

/** Checks that the first level is the best of its side, and each further one is worse. */
function compareOrder(
  { book, side, levels: shown }: MarketEvidence,
  levels: readonly PricingLevel[],
  account: Account,
): void {
  account.compare('levels[0].price', shown[0]?.price, side === 'bids' ? book.best_bid : book.best_ask)
  for (let index = 1; index < levels.length; index++) {
    const before = levels[index - 1]!.price
    const { price } = levels[index]!
    if (side === 'bids' ? price < before : price > before) continue
    account.compare(`levels[${index}].price`, shown[index]!.price, `worse than ${shown[index - 1]!.price}`)
  }
}

function assetOf({ asset, decimals }: ParEvidence['source']): PricedAsset {
  return { symbol: asset, decimals: countOf(`decimals of ${asset}`, decimals) }
}

function countOf(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= BASE_SCALE) return value
  throw new UnreadableEvidence(`${name} must be an integer from 0 to ${BASE_SCALE}`)
}

function bpsOf(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 10_000) return value
  throw new UnreadableEvidence(`${name} must be an integer from 0 to 10000`)
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
