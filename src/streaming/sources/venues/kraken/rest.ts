/**
 * Requests to Kraken's REST API (https://docs.kraken.com/api/docs/rest-api/get-recent-trades, read on 2026-11-22): a
 * pair's trades after a time, at most 1,000 per request. Prices and volumes stay as the venue sent them. A page with
 * any malformed part is a problem. No state is kept between requests.
 */
import { membersOf, parseJson } from '../../../../platform/base/json-value.ts'
import type { Fetched, TradeGap, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'

/** Longest venue text quoted in a problem. */
const PROBLEM_CHARACTERS_MAX = 200
/** Kraken refuses with status 200 and without `Retry-After`. Its counters decrease by one per second. */
const LIMIT_ERROR = /Rate limit|Too many requests/i
const LIMIT_MILLISECONDS = 3_000
const NANOSECONDS = /^[0-9]{1,19}$/

/**
 * The trades from a gap's beginning. The API accepts only a time: one nanosecond before the last page's end, or before
 * the last trade's millisecond. So no trade is skipped, whether or not the venue includes this time.
 */
export async function fetchTrades(
  restUrl: string,
  symbol: string,
  { after }: TradeGap,
  signal: AbortSignal,
): Promise<Fetched<readonly VenueTrade[]>> {
  const from = after.pageCursor ?? `${after.milliseconds}000000`
  // The REST API names the pair `BTC/USD` `BTCUSD`.
  const pair = encodeURIComponent(symbol.replace('/', ''))
  const since = BigInt(from) - 1n
  const fetched = await fetchText(`${restUrl}/0/public/Trades?pair=${pair}&since=${since}&count=1000`, signal)
  return 'value' in fetched ? readTrades(fetched.value) : fetched
}

/** `{"error":[],"result":{"XXBTZUSD":[[price, volume, seconds, side, kind, "", id], …],"last":"nanoseconds"}}`. */
function readTrades(text: string): Fetched<readonly VenueTrade[]> {
  const unreadable = { problem: 'unreadable trades' }
  const { error, result } = membersOf(parseJson(text))
  if (Array.isArray(error) && error.length > 0) {
    const problem = String(error[0]).slice(0, PROBLEM_CHARACTERS_MAX)
    return LIMIT_ERROR.test(problem) ? { problem, retryAfterMilliseconds: LIMIT_MILLISECONDS } : { problem }
  }
  const { last, ...pairs } = membersOf(result)
  const lists = Object.values(pairs)
  const [list] = lists
  if (lists.length !== 1 || !Array.isArray(list) || typeof last !== 'string' || !NANOSECONDS.test(last)) {
    return unreadable
  }
  const trades: VenueTrade[] = []
  for (const [index, entry] of (list as unknown[]).entries()) {
    const trade = readTrade(entry)
    if (trade === undefined) return unreadable
    trades.push(index === list.length - 1 ? { ...trade, pageCursor: last } : trade)
  }
  return { value: trades }
}

/**
 * The API page does not say whose side it is. In the WebSocket API v1 the same letters are the taker's:
 * https://docs.kraken.com/api/docs/websocket-v1/trade
 */
function readTrade(entry: unknown): VenueTrade | undefined {
  if (!Array.isArray(entry)) return undefined
  const [price, amount, seconds, takerSide, , , id] = entry as unknown[]
  if (typeof price !== 'string' || typeof amount !== 'string') return undefined
  if (typeof seconds !== 'number' || !Number.isSafeInteger(id)) return undefined
  // The stream's microseconds are truncated to milliseconds, and so are these times.
  const executedAtMilliseconds = Math.floor(Math.round(seconds * 1e6) / 1e3)
  if (!Number.isSafeInteger(executedAtMilliseconds)) return undefined
  const trade = { firstId: id as number, lastId: id as number, price, amount, executedAtMilliseconds }
  const side = takerSide === 'b' ? 'buy' : takerSide === 's' ? 'sell' : undefined
  return side === undefined ? trade : { ...trade, side }
}
