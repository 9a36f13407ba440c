/**
 * Parses Binance's REST responses
 * (https://developers.binance.com/docs/binance-spot-api-docs/rest-api/market-data-endpoints). Every returned member has
 * been checked, and prices and amounts stay as the venue sent them. Pure.
 */
import { isObject, type JsonObject, membersOf, parseJson } from '../../../../platform/base/json-value.ts'
import type { InstrumentState } from '../../../market/event.ts'
import type { Fetched, Listing, VenueTrade } from '../venue.ts'
import type { BinanceSnapshot } from './book.ts'
import { areLevels, readAggregateTrade } from './message.ts'

/** Fraction digits that scale exactly. No listed pair comes near 18. */
const DECIMALS_MAX = 18
/** `TRADING` is OPEN, and every other status (`HALT`, `BREAK`) is HALTED, except for these. */
const INSTRUMENT_STATES: ReadonlyMap<string, InstrumentState> = new Map([
  ['AUCTION_MATCH', 'AUCTION'],
  ['PRE_TRADING', 'CLOSED'],
  ['POST_TRADING', 'CLOSED'],
  ['END_OF_DAY', 'CLOSED'],
])
/**
 * Prices have the tick's decimals and amounts the step's. Orders older than a coarser tick or step may stay in books
 * for years: their levels have up to the assets' decimals. Pairs with invalid precisions are left out, as if not
 * listed.
 */
export function readListings(text: string): Fetched<readonly Listing[]> {
  const { symbols } = membersOf(parseJson(text))
  if (!Array.isArray(symbols)) return { problem: 'an unreadable pair list' }
  const listings: Listing[] = []
  for (const one of symbols as unknown[]) {
    if (!isObject(one) || typeof one.symbol !== 'string') continue
    const { symbol, quoteAssetPrecision: finestPriceDecimals, baseAssetPrecision: finestAmountDecimals } = one
    if (!areDecimals(finestPriceDecimals) || !areDecimals(finestAmountDecimals)) continue
    const priceDecimals = stepDecimals(one, 'PRICE_FILTER', 'tickSize') ?? finestPriceDecimals
    const amountDecimals = stepDecimals(one, 'LOT_SIZE', 'stepSize') ?? finestAmountDecimals
    if (!areDecimals(priceDecimals) || !areDecimals(amountDecimals)) continue
    const status = typeof one.status === 'string' ? one.status : 'unknown'
    const state = status === 'TRADING' ? 'open' : 'restricted'
    const decimals = { priceDecimals, amountDecimals, finestPriceDecimals, finestAmountDecimals }
    const instrument = INSTRUMENT_STATES.get(status)
    listings.push({ symbol, ...decimals, status, state, ...(instrument === undefined ? {} : { instrument }) })
  }
  return { value: listings }
}

export function readSnapshot(text: string, limit: number): Fetched<BinanceSnapshot> {
  const { lastUpdateId, bids, asks } = membersOf(parseJson(text))
  if (!Number.isSafeInteger(lastUpdateId) || !areLevels(bids) || !areLevels(asks)) {
    return { problem: 'an unreadable snapshot' }
  }
  return { value: { kind: 'snapshot', lastUpdateId: lastUpdateId as number, limit, bids, asks } }
}

/** Aggregate trades, with the same members as in the stream. */
export function readTrades(text: string): Fetched<readonly VenueTrade[]> {
  const list = parseJson(text)
  const trades: VenueTrade[] = []
  for (const one of Array.isArray(list) ? (list as unknown[]) : [undefined]) {
    const trade = readAggregateTrade(one)
    if (trade === undefined) return { problem: 'unreadable trades' }
    trades.push(trade)
  }
  return { value: trades }
}

/** Fraction digits in a step such as `0.00010000`; undefined where the venue has disabled it. */
function stepDecimals({ filters }: JsonObject, filterType: string, member: string): number | undefined {
  const all: readonly unknown[] = Array.isArray(filters) ? filters : []
  const step = all.find((one): one is JsonObject => isObject(one) && one.filterType === filterType)?.[member]
  const match = typeof step === 'string' ? /^[0-9]{1,40}(?:\.([0-9]{1,40}))?$/.exec(step) : null
  return match === null || !/[1-9]/.test(match[0]) ? undefined : (match[1] ?? '').replace(/0+$/, '').length
}

function areDecimals(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= DECIMALS_MAX
}
