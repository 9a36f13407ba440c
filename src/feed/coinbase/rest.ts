/**
 * Requests to Coinbase's REST API
 * (https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/public/list-public-products, read
 * 2026-11-22): how products are listed. The whole list is fetched: it says which products do not exist, and which share
 * another's feed. What is answered is read by `answer`; it keeps nothing between two requests.
 */
import type { Fetched, Listing } from '../venue.ts'
import { fetchText } from '../venue-http.ts'
import { readListings } from './answer.ts'

/** How these products are listed; one that is not in the answer is not listed. */
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
