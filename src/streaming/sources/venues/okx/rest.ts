/**
 * Requests to OKX's REST API v5 (https://www.okx.com/docs-v5/en/#order-book-trading-market-data, read on 2026-11-22): a
 * pair's trades by number, 100 per request; also snapshots and the instrument list, for channels that do not send them.
 * Prices and amounts stay as the venue sent them. An answer with any malformed part is a problem. No state is kept
 * between requests.
 *
 * Written from the venue's documentation. It has not been tested against the venue.
 */
import { membersOf, parseJson } from '../../../../platform/base/json-value.ts'
import type { Fetched, Listing, TradeGap, VenueTrade } from '../venue.ts'
import { readLevelPairs } from '../venue-frame.ts'
import { fetchText } from '../venue-http.ts'
import { type OkxBookData, readInstruments, readTrade } from './message.ts'

/** Longest venue text quoted in a problem. */
const PROBLEM_CHARACTERS_MAX = 200

/** The trades before a gap's end, newest first: `after` means older than, `type=1` means by number. */
export async function fetchTrades(
  restUrl: string,
  symbol: string,
  { before }: TradeGap,
  signal: AbortSignal,
): Promise<Fetched<readonly VenueTrade[]>> {
  const query = `instId=${encodeURIComponent(symbol)}&type=1&after=${before.id}&limit=100`
  const fetched = await fetchText(`${restUrl}/api/v5/market/history-trades?${query}`, signal)
  return 'value' in fetched ? readTrades(fetched.value) : fetched
}

/** Each entry is one match. A channel message may represent several. */
function readTrades(text: string): Fetched<readonly VenueTrade[]> {
  const answer = readAnswer(text)
  if ('problem' in answer) return answer
  const trades: VenueTrade[] = []
  for (const entry of answer.value) {
    const trade = readTrade(entry)
    if (trade === undefined) return { problem: 'unreadable trades' }
    trades.push(trade)
  }
  return { value: trades }
}

/**
 * A complete book with 400 levels per side and its sequence number. `books-full` has 5,000 levels, but no number to
 * prove its position. `source=0` is the form in the venue's announcement:
 * https://www.okx.com/docs-v5/log_en/#upcoming-changes
 */
export async function fetchSnapshot(
  restUrl: string,
  symbol: string,
  signal: AbortSignal,
): Promise<Fetched<OkxBookData>> {
  const query = `instId=${encodeURIComponent(symbol)}&sz=400&source=0`
  const fetched = await fetchText(`${restUrl}/api/v5/market/books?${query}`, signal)
  if ('problem' in fetched) return fetched
  const answer = readAnswer(fetched.value)
  if ('problem' in answer) return answer
  const [book] = answer.value
  const { bids, asks, seqId } = membersOf(book)
  const levels = { bids: readLevelPairs(bids), asks: readLevelPairs(asks) }
  if (levels.bids === undefined || levels.asks === undefined || !Number.isSafeInteger(seqId)) {
    return { problem: 'an unreadable book' }
  }
  const sequence = { id: seqId as number, previous: -1 }
  return { value: { isSnapshot: true, isFetched: true, bids: levels.bids, asks: levels.asks, sequence } }
}

/** All spot instruments. */
export async function fetchListings(restUrl: string, signal: AbortSignal): Promise<Fetched<readonly Listing[]>> {
  const fetched = await fetchText(`${restUrl}/api/v5/public/instruments?instType=SPOT`, signal)
  if ('problem' in fetched) return fetched
  const answer = readAnswer(fetched.value)
  return 'problem' in answer ? answer : { value: readInstruments(answer.value) }
}

/** `{"code":"0","msg":"","data":[…]}`. Any other code is a refusal. */
function readAnswer(text: string): Fetched<readonly unknown[]> {
  const { code, msg, data } = membersOf(parseJson(text))
  if (code === '0' && Array.isArray(data)) return { value: data as unknown[] }
  if (typeof code !== 'string') return { problem: 'an unreadable answer' }
  return { problem: `${code}: ${typeof msg === 'string' ? msg : ''}`.slice(0, PROBLEM_CHARACTERS_MAX) }
}
