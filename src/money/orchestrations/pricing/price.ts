/**
 * Prices conversions from live books, and stores priced conversions. The caller's transaction holds the locks on
 * markets and desk assets until it ends, so two conversions never use the same part of a book or a desk limit. It posts
 * nothing.
 */
import { createHash } from 'node:crypto'
import type { Transaction } from '../../../platform/store/db.ts'
import { locking } from '../../../platform/store/lock-order.ts'
import { sql } from '../../../platform/store/sql.ts'
import { type Column, inserting } from '../../../platform/store/unnested.ts'
import { serviceBalance } from '../../ledger/checkpoints.ts'
import type { MinorUnits } from '../../ledger/posting.ts'
import type { PricingContext } from './context.ts'
import type { BookSide, MarketTerms } from './market.ts'
import {
  type Conversion,
  outcomeOf,
  type PriceOutcome,
  type PriceRequest,
  type PricingState,
  planOf,
} from './outcome.ts'

/** Returns one outcome per request, in the same order. Requests in one market use its book one after the other. */
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
 * Returns the outcomes for requests that need no lock, in the same order: conversions at par into an asset without a
 * desk limit. Undefined for requests that need `priceConversions`.
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
 * Stores these results' conversions, if they have one, with their prices' evidence. Later conversions count the amounts
 * they took from a book.
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

/** Base amounts, in units of 10^-18, taken by conversions in the last `depthSeconds`, by market and side. */
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

// A pricing advisory lock's key is a pair of numbers: one of these spaces, and the first four bytes of the symbol's
// SHA-256. Two symbols with equal bytes share a lock, which is correct and only slower.
/** Protects the part of a market's book that conversions have used. */
const MARKET_SPACE = 1_413_958_987 // 'TGMK'
/** Protects the amount the desk may still pay in an asset. */
const DESK_SPACE = 1_413_956_683 // 'TGDK'

/**
 * Locks markets and desk assets, by symbol, until the transaction ends: markets before assets, each in ascending hash
 * order. The state of either must be read only after this.
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
