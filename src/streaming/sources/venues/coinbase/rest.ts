/**
 * Requests to Coinbase Advanced Trade's REST API, without a login, read 2026-11-22: the product list
 * (https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/public/list-public-products) and a product's
 * trades by time
 * (https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/public/get-public-market-trades). Prices and
 * sizes stay as the venue sent them. A page with any malformed part is a problem. No state is kept between requests.
 *
 * Written from the venue's documentation. It has not been tested against the venue.
 */
import { membersOf, parseJson } from '../../../../platform/base/json-value.ts'
import type { Fetched, Listing, TradeGap, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'
import { readListings } from './answer.ts'
import { readTrade } from './message.ts'

/**
 * Trades per page. The documentation names no limit. Others have seen status 500 for 2,500 (https://api.coinbase.com,
 * February 2026).
 */
const PAGE_TRADES = 1_000

/**
 * Reads these products' listings. A product missing from the result is not listed. The whole list is fetched: it shows
 * which products do not exist, and which share another's feed.
 */
export async function fetchListings(
  restUrl: string,
  symbols: readonly string[],
  signal: AbortSignal,
): Promise<Fetched<readonly Listing[]>> {
  const fetched = await fetchText(`${restUrl}/api/v3/brokerage/market/products?product_type=SPOT`, signal)
  if ('problem' in fetched) return fetched
  const wanted = new Set(symbols)
  const listed = readListings(fetched.value)
  return 'problem' in listed ? listed : { value: listed.value.filter(({ symbol }) => wanted.has(symbol)) }
}

/**
 * The trades between a gap's two ends, in whole seconds, the API's unit. The first and the last second contain known
 * trades, which are ignored. When the gap exceeds one page, the result has its newest or its oldest trades.
 */
export async function fetchTrades(
  restUrl: string,
  symbol: string,
  { after, before }: TradeGap,
  signal: AbortSignal,
): Promise<Fetched<readonly VenueTrade[]>> {
  const start = Math.floor(after.milliseconds / 1000)
  const end = Math.floor(before.milliseconds / 1000) + 1
  const path = `/api/v3/brokerage/market/products/${encodeURIComponent(symbol)}/ticker`
  const fetched = await fetchText(`${restUrl}${path}?limit=${PAGE_TRADES}&start=${start}&end=${end}`, signal)
  return 'value' in fetched ? readTrades(fetched.value) : fetched
}

/** `{"trades":[{"trade_id":"34b080bf","product_id":"BTC-USD","price":"140.91","size":"4","time":…,"side":…}],…}`. */
function readTrades(text: string): Fetched<readonly VenueTrade[]> {
  const problem = 'unreadable trades'
  const { trades: entries } = membersOf(parseJson(text))
  if (!Array.isArray(entries)) return { problem }
  const trades: VenueTrade[] = []
  for (const entry of entries as unknown[]) {
    const trade = readTrade(membersOf(entry))
    if (trade === undefined) return { problem }
    trades.push(trade)
  }
  return { value: trades }
}
