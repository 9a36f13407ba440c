/**
 * Requests to Binance's REST API (https://developers.binance.com/docs/binance-spot-api-docs/rest-api/market-data-endpoints):
 * how pairs are listed, where a book begins, what was traded. It promises that a pair which the venue does not know
 * hides no other. What is answered is read by `answer`; it keeps nothing between two requests.
 */
import type { Fetched, Listing, TradeGap, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'
import { readListings, readSnapshot, readTrades } from './answer.ts'
import type { BinanceSnapshot } from './book.ts'

/** Levels a side of a snapshot: the venue charges weights of 25, 50 and 250 of the 6,000 that an address has a minute. */
const SNAPSHOT_LIMITS = [500, 1000, 5000]
/**
 * So many times the levels that are wanted are fetched, if they can be had: a hundred levels of a liquid pair are a
 * price move of some 0.01 %, which happens within the time that the next snapshot takes.
 */
const SNAPSHOT_SPARE_FACTOR = 4
/** A symbol that the venue does not know, or that has characters which none of its symbols has. */
const UNKNOWN_SYMBOL = /^HTTP 400 \{.*"code":\s*-(?:1121|1100)\b/

/** How pairs are listed. One unknown symbol makes the venue refuse the whole request: then it is asked for halves. */
export async function fetchListings(
  restUrl: string,
  symbols: readonly string[],
  signal: AbortSignal,
): Promise<Fetched<readonly Listing[]>> {
  const names = encodeURIComponent(JSON.stringify(symbols))
  const fetched = await fetchText(`${restUrl}/api/v3/exchangeInfo?symbols=${names}`, signal)
  if ('value' in fetched) return readListings(fetched.value)
  if (!UNKNOWN_SYMBOL.test(fetched.problem)) return fetched
  if (symbols.length <= 1) return { value: [] }
  const middle = symbols.length >>> 1
  const first = await fetchListings(restUrl, symbols.slice(0, middle), signal)
  if ('problem' in first) return first
  const second = await fetchListings(restUrl, symbols.slice(middle), signal)
  return 'problem' in second ? second : { value: [...first.value, ...second.value] }
}

/** The beginning of a book, with levels to spare beyond `depth` a side. */
export async function fetchSnapshot(
  restUrl: string,
  symbol: string,
  depth: number,
  signal: AbortSignal,
): Promise<Fetched<BinanceSnapshot>> {
  const limit = SNAPSHOT_LIMITS.find((one) => one >= depth * SNAPSHOT_SPARE_FACTOR) ?? Math.max(...SNAPSHOT_LIMITS)
  const fetched = await fetchText(`${restUrl}/api/v3/depth?symbol=${encodeURIComponent(symbol)}&limit=${limit}`, signal)
  return 'value' in fetched ? readSnapshot(fetched.value, limit) : fetched
}

/**
 * The aggregate trades from the beginning of a gap on, oldest first: the most that one request gives, for a weight of 4.
 * Where the last trade's own number is not known, the latest.
 */
export async function fetchTrades(
  restUrl: string,
  symbol: string,
  { after }: TradeGap,
  signal: AbortSignal,
): Promise<Fetched<readonly VenueTrade[]>> {
  const from = after.pageCursor === undefined ? '' : `&fromId=${Number(after.pageCursor) + 1}`
  const query = `symbol=${encodeURIComponent(symbol)}${from}&limit=1000`
  const fetched = await fetchText(`${restUrl}/api/v3/aggTrades?${query}`, signal)
  return 'value' in fetched ? readTrades(fetched.value) : fetched
}
