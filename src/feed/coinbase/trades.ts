/**
 * The trades of a product by their time, from Coinbase Advanced Trade's REST API, without a login
 * (https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/public/get-public-market-trades, read
 * 2026-11-22). It guarantees that prices and sizes stay the text that the venue sent, and that a page that cannot be
 * read whole is a problem. It keeps nothing between two requests.
 *
 * Built from the venue's pages; it has not been tried against the venue.
 */
import { isObject } from '../../base/json-value.ts'
import type { Fetched, TradeGap, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'
import { readTrade } from './message.ts'

/**
 * Trades of a page. The venue's pages name no limit; others have seen that 2,500 is answered with status 500
 * (https://api.coinbase.com, February 2026).
 */
const PAGE_TRADES = 1_000

/**
 * The trades between the two ends of a gap, in whole seconds, which is how the venue counts: the first and the last
 * second bring trades that are known, which do no harm. Where there are more than a page holds, it may be the newest or
 * the oldest of them.
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
  const problem = 'trades that cannot be read'
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {
    return { problem }
  }
  if (!isObject(answer) || !Array.isArray(answer.trades)) return { problem }
  const trades: VenueTrade[] = []
  for (const entry of answer.trades as unknown[]) {
    const trade = isObject(entry) ? readTrade(entry) : undefined
    if (trade === undefined) return { problem }
    trades.push(trade)
  }
  return { value: trades }
}
