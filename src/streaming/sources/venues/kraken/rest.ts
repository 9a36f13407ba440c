/**
 * Requests to Kraken's REST API (https://docs.kraken.com/api/docs/rest-api/get-recent-trades, read on 2026-11-22): the
 * trades of a pair after a time, at most 1,000 per request. Prices and volumes stay the text that the venue sent, and a
 * page that is malformed in any part is a problem. No state is kept between requests.
 */
import { membersOf, parseJson } from '../../../../platform/base/json-value.ts'
import type { Fetched, TradeGap, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'

/** Longest text of the venue that is quoted in a problem. */
const PROBLEM_CHARACTERS_MAX = 200
/** Kraken refuses with status 200 and without `Retry-After`; its counters decrease by one per second. */
const LIMIT_ERROR = /Rate limit|Too many requests/i
const LIMIT_MILLISECONDS = 3_000
const NANOSECONDS = /^[0-9]{1,19}$/

/**
 * The trades from the beginning of a gap. The API accepts only a time: one nanosecond before the end of the last page,
 * or before the millisecond of the last trade, so that no trade is skipped whether or not the venue includes that time.
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
  const unreadable = { problem: 'trades that cannot be read' }
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
 * The page of the API does not say whose side it is; the same letters are the taker's in the WebSocket API v1:
 * https://docs.kraken.com/api/docs/websocket-v1/trade
 */
function readTrade(entry: unknown): VenueTrade | undefined {
  if (!Array.isArray(entry)) return undefined
  const [price, amount, seconds, takerSide, , , id] = entry as unknown[]
  if (typeof price !== 'string' || typeof amount !== 'string') return undefined
  if (typeof seconds !== 'number' || !Number.isSafeInteger(id)) return undefined
  // The stream has microseconds, which are truncated to milliseconds; these times are truncated in the same way.
  const executedAtMilliseconds = Math.floor(Math.round(seconds * 1e6) / 1e3)
  if (!Number.isSafeInteger(executedAtMilliseconds)) return undefined
  const trade = { firstId: id as number, lastId: id as number, price, amount, executedAtMilliseconds }
  const side = takerSide === 'b' ? 'buy' : takerSide === 's' ? 'sell' : undefined
  return side === undefined ? trade : { ...trade, side }
}
