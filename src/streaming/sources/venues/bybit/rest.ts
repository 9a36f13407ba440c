/**
 * Requests to Bybit's REST API v5 (pages and dates in `protocol`): the spot pair list, and a pair's latest trades.
 * Prices and amounts stay as the venue sent them. An answer with any malformed part is a problem. No state is kept
 * between requests.
 */
import { isObject, membersOf, parseJson } from '../../../../platform/base/json-value.ts'
import type { Fetched, Listing, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'
import { readTrade } from './message.ts'

/** Longest venue text quoted in a problem. */
const PROBLEM_CHARACTERS_MAX = 200
/** Fraction digits that scale exactly. */
const DECIMALS_MAX = 18
/** The venue's maximum for a spot pair. */
const TRADES_MAX = 60
const STEP = /^[0-9]{1,40}(?:\.([0-9]{0,40}?)0*)?$/

/** Listed pairs in these states have no book. */
const GONE: ReadonlySet<string> = new Set(['PreLaunch', 'Closed'])

/** All spot pairs: the venue does not divide this list into pages. */
export async function fetchListings(restUrl: string, signal: AbortSignal): Promise<Fetched<readonly Listing[]>> {
  const fetched = await fetchText(`${restUrl}/v5/market/instruments-info?category=spot`, signal)
  if ('problem' in fetched) return fetched
  const list = readList(fetched.value)
  return 'problem' in list ? list : { value: readListings(list.value) }
}

/** A pair's latest trades, at most 60, oldest first. */
export async function fetchTrades(
  restUrl: string,
  symbol: string,
  signal: AbortSignal,
): Promise<Fetched<readonly VenueTrade[]>> {
  const query = `category=spot&symbol=${encodeURIComponent(symbol)}&limit=${TRADES_MAX}`
  const fetched = await fetchText(`${restUrl}/v5/market/recent-trade?${query}`, signal)
  if ('problem' in fetched) return fetched
  const list = readList(fetched.value)
  if ('problem' in list) return list
  const trades: VenueTrade[] = []
  for (const entry of list.value) {
    const { symbol: named, execId, price, size, side, time } = membersOf(entry)
    const milliseconds = typeof time === 'string' && /^[0-9]{1,16}$/.test(time) ? Number(time) : undefined
    const trade = named === symbol ? readTrade(execId, price, size, side, milliseconds) : undefined
    if (trade === undefined) return { problem: 'unreadable trades' }
    trades.push(trade)
  }
  return { value: oldestFirst(trades) }
}

/** The order is not documented. Client examples are newest first. */
function oldestFirst(trades: readonly VenueTrade[]): readonly VenueTrade[] {
  const [first, last] = [trades[0], trades.at(-1)]
  const isOldestFirst = (first?.executedAtMilliseconds ?? 0) < (last?.executedAtMilliseconds ?? 0)
  return isOldestFirst ? trades : trades.toReversed()
}

/**
 * Pairs with invalid steps are left out, as if they were not listed. Whether levels can be finer than the steps is not
 * documented, so a book takes as many decimals as its markets can hold.
 */
function readListings(list: readonly unknown[]): readonly Listing[] {
  const listings: Listing[] = []
  for (const one of list) {
    if (!isObject(one) || typeof one.symbol !== 'string') continue
    const priceDecimals = stepDecimals(membersOf(one.priceFilter).tickSize)
    const amountDecimals = stepDecimals(membersOf(one.lotSizeFilter).basePrecision)
    if (priceDecimals === undefined || amountDecimals === undefined) continue
    const status = typeof one.status === 'string' ? one.status.slice(0, PROBLEM_CHARACTERS_MAX) : 'unknown'
    const state = status === 'Trading' ? 'open' : GONE.has(status) ? 'gone' : 'restricted'
    listings.push({
      symbol: one.symbol,
      priceDecimals,
      amountDecimals,
      finestPriceDecimals: DECIMALS_MAX,
      finestAmountDecimals: DECIMALS_MAX,
      status,
      state,
    })
  }
  return listings
}

/** Fraction digits in a step such as `0.0100`: 2. */
function stepDecimals(step: unknown): number | undefined {
  const match = typeof step === 'string' && /[1-9]/.test(step) ? STEP.exec(step) : null
  const decimals = (match?.[1] ?? '').length
  return match === null || decimals > DECIMALS_MAX ? undefined : decimals
}

/** `{"retCode":0,"retMsg":"OK","result":{"category":"spot","list":[…]}}`. Any other code is a refusal. */
function readList(text: string): Fetched<readonly unknown[]> {
  const { retCode, retMsg, result } = membersOf(parseJson(text))
  const { list } = membersOf(result)
  if (retCode === 0 && Array.isArray(list)) return { value: list as unknown[] }
  if (typeof retCode !== 'number' || retCode === 0) return { problem: 'an unreadable answer' }
  return { problem: `${retCode}: ${typeof retMsg === 'string' ? retMsg : ''}`.slice(0, PROBLEM_CHARACTERS_MAX) }
}
