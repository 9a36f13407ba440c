/**
 * Requests to OKX's REST API v5 (https://www.okx.com/docs-v5/en/#order-book-trading-market-data-get-trades-history, read
 * on 2026-11-22): the trades of a pair by their numbers, 100 a request. It promises that prices and amounts stay the
 * text that the venue sent, and that an answer that cannot be read whole is a problem. It keeps nothing between two
 * requests.
 */
import type { Fetched, TradeGap, VenueTrade } from '../venue.ts'
import { fetchText } from '../venue-http.ts'
import { readTrade } from './message.ts'

/** Longest text of the venue that goes into a problem. */
const PROBLEM_CHARACTERS_MAX = 200

/** The trades before the end of a gap, newest first: `after` means older than, `type=1` means by number. */
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

/** Each entry is one match, where a message of the channel may stand for several. */
function readTrades(text: string): Fetched<readonly VenueTrade[]> {
  const answer = readAnswer(text)
  if ('problem' in answer) return answer
  const trades: VenueTrade[] = []
  for (const entry of answer.value) {
    const trade = readTrade(entry)
    if (trade === undefined) return { problem: 'trades that cannot be read' }
    trades.push(trade)
  }
  return { value: trades }
}

/** `{"code":"0","msg":"","data":[…]}`; any other code is a refusal. */
function readAnswer(text: string): Fetched<readonly unknown[]> {
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {
    answer = undefined
  }
  const { code, msg, data } = (typeof answer === 'object' && answer !== null ? answer : {}) as Record<string, unknown>
  if (code === '0' && Array.isArray(data)) return { value: data as unknown[] }
  if (typeof code !== 'string') return { problem: 'an answer that cannot be read' }
  return { problem: `${code}: ${typeof msg === 'string' ? msg : ''}`.slice(0, PROBLEM_CHARACTERS_MAX) }
}
