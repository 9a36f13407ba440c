/**
 * Makes the prices of conversions, at par inside the peg or from the live book of a market, and stores priced conversions.
 * The caller's transaction holds the locks of markets and desk assets until it ends, so two conversions never use the same
 * part of a book or of a desk limit. It posts nothing.
 */

import { createHash } from 'node:crypto'
import { serviceBalance } from '../../ledger/checkpoints.ts'
import type { MinorUnits } from '../../ledger/posting.ts'
import type { Transaction } from '../../store/db.ts'
import { locking } from '../../store/lock-order.ts'
import { sql } from '../../store/sql.ts'
import { type Column, inserting } from '../../store/unnested.ts'
import type { PricedAsset, PricingContext, PricingMarket } from './context.ts'
import { marketEvidence, parEvidence } from './evidence.ts'
import { type BookSide, type MarketTerms, marketPrice, sideOf, type Walk } from './market.ts'
import type { Conversion, PriceOutcome, PriceRequest } from './outcome.ts'
import { isInsidePeg, parAmounts } from './par.ts'
import { marketsOfPair } from './pegs.ts'
import { type Impossible, impossible, type Waiting, waits } from './refusal.ts'
import { type UsableBook, usableBook } from './usable-book.ts'

/** How a request is converted; chosen without reading a book. */
type Plan =
  | { readonly kind: 'par'; readonly source: PricedAsset; readonly destination: PricedAsset }
  | ({ readonly kind: 'market' } & MarketTerms)
  | Impossible

/** The state of pricing in this transaction, read after its locks were taken. */
interface PricingState {
  readonly context: PricingContext
  /** Books by market, or why a book is not usable. Each is read once, so that all prices are from one version. */
  readonly books: Map<string, UsableBook | string>
  /** Base amount that recent conversions took, including those of this transaction, by market and side. */
  readonly taken: Map<string, bigint>
  /** The amount that the desk may still pay, by asset with a limit. */
  readonly payable: Map<string, MinorUnits>
}

/** Returns one outcome for each request, in the same order. Requests at one market use its book one after the other. */
export async function priceConversions<Tables>(
  transaction: Transaction<Tables>,
  requests: readonly PriceRequest[],
  context: PricingContext,
): Promise<readonly PriceOutcome[]> {
  const plans = requests.map((request) => planOf(request, context))
  const markets = plans.flatMap((plan) => (plan.kind === 'market' ? [plan] : []))
  const limited = [...context.settings.deskLimits.keys()].filter((symbol) =>
    plans.some((plan) => plan.kind !== 'impossible' && plan.destination.symbol === symbol),
  )
  await lockPricing(
    transaction,
    markets.map(({ market }) => market.symbol),
    limited,
  )
  const taken = await readTaken(transaction, markets, context.settings.depthSeconds)
  const payable = new Map<string, MinorUnits>()
  for (const symbol of limited) {
    const position = await serviceBalance(transaction, 'desk', symbol)
    payable.set(symbol, position + (context.settings.deskLimits.get(symbol) ?? 0n))
  }
  const state: PricingState = { context, books: new Map(), taken, payable }
  return requests.map((request, index) => outcomeOf(request, plans[index]!, state))
}

/**
 * Returns the outcomes of requests that need no lock, in the same order: conversions at par into an asset without a desk
 * limit. Undefined for requests that need `priceConversions`.
 */
export function priceWithoutLocks(
  requests: readonly PriceRequest[],
  context: PricingContext,
): readonly (PriceOutcome | undefined)[] {
  const state: PricingState = { context, books: new Map(), taken: new Map(), payable: new Map() }
  return requests.map((request) => {
    const plan = planOf(request, context)
    const isFree = plan.kind === 'par' && !context.settings.deskLimits.has(plan.destination.symbol)
    return isFree ? outcomeOf(request, plan, state) : undefined
  })
}

/**
 * Stores the conversions of these results, where they have one, with the evidence of their prices. Later conversions count
 * the amounts that they took of a book.
 */
export async function recordConversions<Tables>(
  transaction: Transaction<Tables>,
  results: readonly { readonly conversion?: Conversion }[],
): Promise<void> {
  const conversions = results.flatMap(({ conversion }) => conversion ?? [])
  if (conversions.length === 0) return
  const marketOf = ({ evidence }: Conversion) => (evidence.kind === 'market' ? evidence : undefined)
  const columns: readonly Column<Conversion>[] = [
    ['orchestration_id', 'uuid', ({ orchestrationId }) => orchestrationId],
    ['kind', 'text', ({ evidence }) => evidence.kind],
    ['source_asset', 'text', ({ sourceAsset }) => sourceAsset],
    ['source_amount', 'numeric', ({ sourceAmount }) => sourceAmount],
    ['destination_asset', 'text', ({ destinationAsset }) => destinationAsset],
    ['destination_amount', 'numeric', ({ destinationAmount }) => destinationAmount],
    ['market', 'text', (conversion) => marketOf(conversion)?.market.symbol ?? null],
    ['side', 'text', (conversion) => marketOf(conversion)?.side ?? null],
    ['base_amount', 'numeric', (conversion) => marketOf(conversion)?.base_amount ?? null],
    ['evidence', 'jsonb', ({ evidence }) => JSON.stringify(evidence)],
  ]
  const created_at = sql`clock_timestamp()`
  await inserting('conversions', conversions, columns, { created_at }).execute(transaction)
}

function planOf({ sourceAsset, destinationAsset }: PriceRequest, { assets, parAssets, markets }: PricingContext): Plan {
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

function outcomeOf(request: PriceRequest, plan: Plan, state: PricingState): PriceOutcome {
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

/** Base amounts, in units of 10^-18, that conversions took in the last `depthSeconds`, by market and side. */
async function readTaken<Tables>(
  transaction: Transaction<Tables>,
  terms: readonly MarketTerms[],
  depthSeconds: number,
): Promise<Map<string, bigint>> {
  if (terms.length === 0) return new Map()
  const symbols = [...new Set(terms.map(({ market }) => market.symbol))]
  const { rows } = await sql<{ market: string; side: BookSide; taken: string }>`
    select market, side, (sum(base_amount) * 1e18::numeric)::numeric(60,0)::text as taken from conversions
    where market = any(${symbols}::text[])
      and created_at > clock_timestamp() - make_interval(secs => ${depthSeconds}::double precision)
    group by market, side
  `.execute(transaction)
  return new Map(rows.map(({ market, side, taken }) => [`${market}/${side}`, BigInt(taken)]))
}

function takenKey(terms: MarketTerms): string {
  return `${terms.market.symbol}/${sideOf(terms)}`
}

function take(amounts: Map<string, bigint>, key: string, amount: bigint): void {
  amounts.set(key, (amounts.get(key) ?? 0n) + amount)
}

// The advisory locks of pricing have a pair of numbers as their key: one of these spaces, and the first four bytes of the
// SHA-256 of the symbol. Two symbols with equal bytes share a lock, which is correct and only slower.
/** Protects the part of a market's book that conversions have used. */
const MARKET_SPACE = 1_413_958_987 // 'TGMK'
/** Protects the amount that the desk may still pay of an asset. */
const DESK_SPACE = 1_413_956_683 // 'TGDK'

/**
 * Locks markets and assets of the desk, by symbol, until the transaction ends: markets before assets, each in ascending
 * order of the hash. The state of either must be read only after this.
 */
async function lockPricing<Tables>(
  transaction: Transaction<Tables>,
  markets: readonly string[],
  deskAssets: readonly string[],
): Promise<void> {
  locking(transaction, 'market', markets)
  locking(transaction, 'desk', deskAssets)
  const locks = [...locksOf(MARKET_SPACE, markets), ...locksOf(DESK_SPACE, deskAssets)]
  if (locks.length === 0) return
  await sql`
    select pg_advisory_xact_lock(space, key)
    from unnest(${locks.map(([space]) => space)}::integer[], ${locks.map(([, key]) => key)}::integer[]) as locks (space, key)
  `.execute(transaction)
}

function locksOf(space: number, symbols: readonly string[]): readonly (readonly [space: number, key: number])[] {
  const keys = new Set(symbols.map((symbol) => createHash('sha256').update(symbol).digest().readInt32BE(0)))
  return [...keys].sort((left, right) => left - right).map((key) => [space, key])
}
