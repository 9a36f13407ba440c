/**
 * Requests to Bitstamp's HTTP API v2 (pages and dates in `protocol`): the pair list, book snapshots and a pair's latest
 * trades. Prices and amounts stay as the venue sent them. An answer with any malformed part is a problem. No state is
 * kept between requests.
 */
import { isObject, membersOf, parseJson } from '../../../../platform/base/json-value.ts'
import type { Fetched, Listing, TradeGap, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'
import { type BitstampBookData, readBook } from './message.ts'

/** Longest venue text quoted in a problem. */
const PROBLEM_CHARACTERS_MAX = 200
/** Fraction digits that scale exactly. */
const DECIMALS_MAX = 18
/** Periods for trade lists, up to now. Each has a reserve for the request's duration. */
const PERIODS = [
  { name: 'minute', milliseconds: 30_000 },
  { name: 'hour', milliseconds: 3_300_000 },
] as const
const TRADE_ID = /^[0-9]{1,16}$/
const SECONDS = /^[0-9]{1,12}$/

/** All pairs. */
export async function fetchListings(restUrl: string, signal: AbortSignal): Promise<Fetched<readonly Listing[]>> {
  const fetched = await fetchText(`${restUrl}/api/v2/trading-pairs-info/`, signal)
  if ('problem' in fetched) return fetched
  const list = parseJson(fetched.value)
  if (!Array.isArray(list)) return { problem: 'an unreadable pair list' }
  const listings: Listing[] = []
  for (const one of list as unknown[]) {
    const { url_symbol: symbol, base_decimals, counter_decimals, trading } = membersOf(one)
    if (typeof symbol !== 'string' || !areDecimals(base_decimals) || !areDecimals(counter_decimals)) continue
    const status = typeof trading === 'string' ? trading.slice(0, PROBLEM_CHARACTERS_MAX) : 'unknown'
    listings.push({
      symbol,
      priceDecimals: counter_decimals,
      amountDecimals: base_decimals,
      // Whether orders from before a pair had fewer decimals remain is not documented.
      finestPriceDecimals: DECIMALS_MAX,
      finestAmountDecimals: DECIMALS_MAX,
      status,
      state: status === 'Enabled' ? 'open' : 'restricted',
    })
  }
  return { value: listings }
}

/** The whole book, with orders at one price added up. */
export async function fetchSnapshot(
  restUrl: string,
  symbol: string,
  signal: AbortSignal,
): Promise<Fetched<BitstampBookData>> {
  const fetched = await fetchText(`${restUrl}/api/v2/order_book/${encodeURIComponent(symbol)}/?group=1`, signal)
  if ('problem' in fetched) return fetched
  const value = readBook(parseJson(fetched.value), true)
  return value === undefined ? { problem: 'an unreadable book' } : { value }
}

/**
 * A pair's latest trades, oldest first, from the shortest period that contains the last known trade. The list has whole
 * seconds and no order ids, so these trades have no side.
 */
export async function fetchTrades(
  restUrl: string,
  symbol: string,
  { after, before }: TradeGap,
  signal: AbortSignal,
): Promise<Fetched<readonly VenueTrade[]>> {
  const gapMilliseconds = before.milliseconds - after.milliseconds
  const period = PERIODS.find(({ milliseconds }) => gapMilliseconds <= milliseconds)?.name ?? 'day'
  const url = `${restUrl}/api/v2/transactions/${encodeURIComponent(symbol)}/?time=${period}`
  const fetched = await fetchText(url, signal)
  if ('problem' in fetched) return fetched
  const list = parseJson(fetched.value)
  const trades: VenueTrade[] = []
  for (const one of Array.isArray(list) ? (list as unknown[]) : [undefined]) {
    const trade = readTrade(one)
    if (trade === undefined) return { problem: 'unreadable trades' }
    trades.push(trade)
  }
  return { value: trades.sort((left, right) => Number(left.id) - Number(right.id)) }
}

/** `{"date":"1700000000","tid":"315163041","amount":"0.01","type":"0","price":"36500"}` */
function readTrade(value: unknown): VenueTrade | undefined {
  if (!isObject(value)) return undefined
  const { date, tid: id, amount, price } = value
  if (typeof id !== 'string' || !TRADE_ID.test(id) || typeof date !== 'string' || !SECONDS.test(date)) return undefined
  if (typeof price !== 'string' || typeof amount !== 'string') return undefined
  return { firstId: 0, lastId: 0, id, price, amount, executedAtMilliseconds: Number(date) * 1000 }
}

function areDecimals(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= DECIMALS_MAX
}
