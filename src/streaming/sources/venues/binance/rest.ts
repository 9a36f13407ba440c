/**
 * Requests to Binance's REST API
 * (https://developers.binance.com/docs/binance-spot-api-docs/rest-api/market-data-endpoints): listings, snapshots and
 * trades. An unknown symbol does not affect the others. Responses are parsed by `answer`. No state is kept between
 * requests.
 */
import type { Fetched, Listing, TradeGap, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'
import { readListings, readSnapshot, readTrades } from './answer.ts'
import type { BinanceSnapshot } from './book.ts'

/** Snapshot levels per side. The venue charges weights 25, 50 and 250; an address has 6,000 per minute. */
const SNAPSHOT_LIMITS = [500, 1000, 5000]
/**
 * Factor for the published depth, up to the largest snapshot. A liquid pair's hundred levels cover a price move around
 * 0.01 %, which happens while the next snapshot is fetched.
 */
const SNAPSHOT_SPARE_FACTOR = 4
/** A symbol unknown to the venue, or with characters that no symbol has. */
const UNKNOWN_SYMBOL = /^HTTP 400 \{.*"code":\s*-(?:1121|1100)\b/

/**
 * Reads the pairs' listings. One unknown symbol makes the venue refuse the whole request, which is then repeated for
 * each half.
 */
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

/** A snapshot with spare levels beyond `depth` per side. */
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

/** The aggregate trades after a gap's beginning, oldest first: one request's maximum, for a weight of 4. */
export async function fetchTrades(
  restUrl: string,
  symbol: string,
  { after }: TradeGap,
  signal: AbortSignal,
): Promise<Fetched<readonly VenueTrade[]>> {
  const query = `symbol=${encodeURIComponent(symbol)}&fromId=${after.id + 1}&limit=1000`
  const fetched = await fetchText(`${restUrl}/api/v3/aggTrades?${query}`, signal)
  return 'value' in fetched ? readTrades(fetched.value) : fetched
}
