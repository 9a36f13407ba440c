/**
 * Verifies a conversion's price. It walks the evidence's levels again in exact integers, and compares them with the
 * book at the evidence's cursor, from your own copy or from a recording. It needs no connection.
 */
import { TidegateError } from '../errors.ts'
import type { Answer } from '../rest/operations.ts'

/** The answer of `GET /v2/orchestration/orchestrations/{id}/price`. */
export type Price = Answer<'/v2/orchestration/orchestrations/{id}/price', 'get'>

type Evidence = Price['evidence']
type MarketEvidence = Extract<Evidence, { kind: 'market' }>
type ParEvidence = Extract<Evidence, { kind: 'par' }>
type EvidenceBook = MarketEvidence['book']
type PriceLevel = { readonly price: string; readonly amount: string }

/** A book at one cursor: a `Book` that has not moved on, your own copy of one, or the result of `recordedBook`. */
export interface HeldBook {
  readonly cursor: string | undefined
  bids(count?: number): readonly PriceLevel[]
  asks(count?: number): readonly PriceLevel[]
}

export interface PriceCheck {
  /** What does not follow from the evidence, one sentence each. Empty when the price follows to the digit. */
  readonly differences: readonly string[]
  /** How many of the evidence's books were compared with a held one. */
  readonly booksCompared: number
  /** How many books the evidence names: 1 for a market, one per peg for a conversion at par. */
  readonly books: number
}

/** Amounts in a book, and amounts taken from it, have at most this many fraction digits. */
const BASE_SCALE = 18

/** @param held the books at the evidence's cursors. Without one, only the arithmetic is verified. */
export function verifyPrice(price: Price, held: readonly HeldBook[] = []): PriceCheck {
  const check = new Check(held)
  const { evidence } = price
  if (evidence.kind === 'market') verifyMarket(price, evidence, check)
  else verifyPar(price, evidence, check)
  check.equal('source asset', price.source_asset, evidence.source.asset)
  check.equal('destination asset', price.destination_asset, evidence.destination.asset)
  check.equal('destination amount', price.destination_amount, evidence.destination.amount)
  return check
}

class Check implements PriceCheck {
  readonly differences: string[] = []
  booksCompared = 0
  books = 0
  readonly #held: readonly HeldBook[]

  constructor(held: readonly HeldBook[]) {
    this.#held = held
  }

  equal(name: string, shown: string | undefined, expected: string): void {
    if (shown !== expected) this.differences.push(`the ${name} is ${shown ?? 'absent'}, and ${expected} follows`)
  }

  /** Compares the best prices, and one side's levels from the best outwards, with the held book at the same cursor. */
  book(
    shown: EvidenceBook,
    decimals: number,
    side: 'bids' | 'asks' = 'bids',
    levels: readonly PriceLevel[] = [],
  ): void {
    this.books += 1
    const [bid, ask] = [units(shown.best_bid, decimals), units(shown.best_ask, decimals)]
    this.equal('mid', shown.mid, decimal((bid + ask) * 5n, decimals + 1, decimals + 1))
    if (bid >= ask) this.differences.push(`the book is crossed: ${shown.best_bid} bid, ${shown.best_ask} asked`)
    const held = this.#held.find(({ cursor }) => cursor !== undefined && cursor === shown.cursor)
    if (held === undefined) return
    this.booksCompared += 1
    this.equal('best bid', shown.best_bid, held.bids(1)[0]?.price ?? 'none')
    this.equal('best ask', shown.best_ask, held.asks(1)[0]?.price ?? 'none')
    const best = held[side](levels.length)
    for (const [index, { price, amount }] of levels.entries()) {
      const level = best[index]
      this.equal(`price of level ${index}`, price, level?.price ?? 'none')
      this.equal(`amount of level ${index}`, amount, level === undefined ? 'none' : decimal(units(level.amount)))
    }
  }
}

function verifyMarket(price: Price, evidence: MarketEvidence, check: Check): void {
  const { market, source, destination, levels } = evidence
  const { price_decimals: decimals } = market
  const isSale = market.base_asset === source.asset
  const side = isSale ? 'bids' : 'asks'
  const quoteScale = BASE_SCALE + decimals
  check.equal('side', evidence.side, side)
  check.equal('market', market.symbol, isSale ? source.asset + destination.asset : destination.asset + source.asset)
  check.equal('source amount', price.source_amount, source.amount)
  check.book(evidence.book, decimals, side, levels)
  let left = units(source.amount, isSale ? BASE_SCALE : quoteScale)
  let leftBefore = units(evidence.taken_before)
  let base = 0n
  let quote = 0n
  for (const [index, level] of levels.entries()) {
    const levelPrice = units(level.price, decimals)
    if (levelPrice === 0n) throw unreadable(level.price)
    const amount = units(level.amount)
    const before = smaller(amount, leftBefore)
    const taken = smaller(amount - before, isSale ? left : left / levelPrice)
    check.equal(`amount taken before of level ${index}`, level.taken_before, decimal(before))
    check.equal(`amount taken of level ${index}`, level.taken, decimal(taken))
    leftBefore -= before
    left -= isSale ? taken : taken * levelPrice
    base += taken
    quote += taken * levelPrice
    const isLast = left === 0n || taken < amount - before
    if (isLast !== (index === levels.length - 1)) check.differences.push(`level ${index} is not where the amount ends`)
  }
  check.equal('base amount', evidence.base_amount, decimal(base))
  check.equal('quote amount', evidence.quote_amount, decimal(quote, quoteScale))
  const [got, scale] = isSale ? [quote, quoteScale] : [base, BASE_SCALE]
  const paid = got / 10n ** BigInt(scale - destination.decimals)
  check.equal('amount paid', destination.amount, decimal(paid, destination.decimals))
  const scaledBase = base * 10n ** BigInt(decimals)
  const [above, below] = isSale ? [quote, scaledBase] : [scaledBase, quote]
  if (below === 0n) throw unreadable('levels')
  const average = decimal((above * 10n ** BigInt(BASE_SCALE)) / below)
  check.equal('price', evidence.price, average)
  if (price.price !== undefined) check.equal("orchestration's price", price.price, average)
}

function verifyPar(price: Price, evidence: ParEvidence, check: Check): void {
  const { source, destination, pegs } = evidence
  const amount = units(source.amount, source.decimals)
  const unit = 10n ** BigInt(Math.max(0, source.decimals - destination.decimals))
  const converted = amount - (amount % unit)
  const paid = (converted / unit) * 10n ** BigInt(Math.max(0, destination.decimals - source.decimals))
  check.equal('converted amount', evidence.converted_amount, decimal(converted, source.decimals))
  check.equal('source amount', price.source_amount, evidence.converted_amount)
  check.equal('remainder', evidence.remainder, decimal(amount % unit, source.decimals))
  check.equal('amount paid', destination.amount, decimal(paid, destination.decimals))
  if (price.price !== undefined) check.equal("orchestration's price", price.price, '1')
  for (const { market, book } of pegs) check.book(book, market.price_decimals)
}

/** Decimal text in units of 10^-scale. */
function units(text: string, scale = BASE_SCALE): bigint {
  const [, whole = '', fraction = ''] = /^(\d{1,40})(?:\.(\d{1,40}))?$/.exec(text) ?? []
  if (whole === '' || fraction.length > scale) throw unreadable(text)
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

/** An amount as text, without trailing zeros beyond `digits` fraction digits. */
function decimal(amount: bigint, scale = BASE_SCALE, digits = 0): string {
  const text = String(amount).padStart(scale + 1, '0')
  const [whole, fraction] = [text.slice(0, text.length - scale), text.slice(text.length - scale)]
  const shown = fraction.replace(/0+$/, '').padEnd(digits, '0')
  return shown === '' ? whole : `${whole}.${shown}`
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}

function unreadable(text: string): TidegateError {
  return new TidegateError('INVALID_ARGUMENT', `the evidence of the price cannot be read at ${text}`)
}
