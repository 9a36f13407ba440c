/**
 * Parses frames from Bybit's public WebSocket API v5 (pages and dates in `protocol`). Prices and amounts stay as the
 * venue sent them, every returned member has been checked, and nothing throws. A malformed frame belongs to the pair it
 * names, or else to any pair. Pure.
 */
import { isObject, type JsonObject } from '../../../../platform/base/json-value.ts'
import type { VenueLevel, VenueMessage, VenueTrade } from '../venue.ts'
import { notJson, onlyCapture, readLevelPairs } from '../venue-frame.ts'
import type { VenueRequest } from '../venue-requests.ts'

export interface BybitBookData {
  readonly isSnapshot: boolean
  /** The topic's levels per side: `orderbook.50.BTCUSDT`. */
  readonly depth: number
  readonly updateId: number
  readonly bids: readonly VenueLevel[]
  readonly asks: readonly VenueLevel[]
}

export type BybitMessage = VenueMessage<BybitBookData>

/** Longest venue text quoted in a reason. */
const REASON_CHARACTERS_MAX = 200

const TOPIC_MEMBER = /"topic"\s*:\s*"([^"\\]*)"/g
const BOOK_TOPIC = /^orderbook\.([0-9]{1,4})\.([^.]+)$/
const TRADES_TOPIC = /^publicTrade\.([^.]+)$/
/** Trade identifiers are digits for spot pairs, and UUIDs for others. */
const TRADE_ID = /^[0-9A-Za-z-]{1,64}$/

/** @param takeRequest returns the request with this id once, and forgets it */
export function readBybitMessage(
  text: string,
  takeRequest: (id: unknown) => VenueRequest | undefined,
): readonly BybitMessage[] {
  let frame: unknown
  try {
    frame = JSON.parse(text)
  } catch (error) {
    return [unreadable(onlyCapture(text, TOPIC_MEMBER), notJson(error))]
  }
  if (!isObject(frame)) return [{ kind: 'unreadable', reason: 'not a JSON object' }]
  if (typeof frame.topic === 'string') return [readTopic(frame.topic, frame)].flatMap((message) => message ?? [])
  if (typeof frame.op === 'string') return readAnswer(frame, takeRequest)
  return [{ kind: 'unreadable', reason: 'neither a topic nor an answer' }]
}

/** Unknown topics are ignored. */
function readTopic(topic: string, frame: JsonObject): BybitMessage | undefined {
  const book = BOOK_TOPIC.exec(topic)
  if (book !== null) return readBook(topic, Number(book[1]), book[2] as string, frame)
  const trades = TRADES_TOPIC.exec(topic)
  return trades === null ? undefined : readTrades(topic, trades[1] as string, frame.data)
}

/** A malformed message for the pair in its topic, otherwise for any pair. */
function unreadable(topic: string | undefined, reason: string): BybitMessage {
  const book = topic === undefined ? null : BOOK_TOPIC.exec(topic)
  if (book !== null) return { kind: 'unreadable-book', symbol: book[2] as string, reason }
  const trades = topic === undefined ? null : TRADES_TOPIC.exec(topic)
  if (trades !== null) return { kind: 'unreadable-trades', symbol: trades[1] as string, reason }
  return { kind: 'unreadable', reason }
}

function readBook(topic: string, depth: number, symbol: string, { type, ts, data }: JsonObject): BybitMessage {
  if (!isObject(data) || data.s !== symbol) return unreadable(topic, 'a book message for another pair, or for none')
  const [bids, asks] = [readLevelPairs(data.b), readLevelPairs(data.a)]
  if (bids === undefined || asks === undefined) return unreadable(topic, 'a book message without readable levels')
  if (!isCount(data.u)) return unreadable(topic, 'a book message without an update id')
  if (type !== 'snapshot' && type !== 'delta') {
    return unreadable(topic, 'a book message that is neither snapshot nor delta')
  }
  const book = { isSnapshot: type === 'snapshot', depth, updateId: data.u, bids, asks }
  return { kind: 'book', symbol, data: book, ...(isCount(ts) ? { eventMilliseconds: ts } : {}) }
}

/** Oldest first. `S` is the taker's side. */
function readTrades(topic: string, symbol: string, data: unknown): BybitMessage {
  if (!Array.isArray(data)) return unreadable(topic, 'trades that are not a list')
  const trades: VenueTrade[] = []
  for (const entry of data as unknown[]) {
    const { s, i, p, v, S, T } = isObject(entry) ? entry : {}
    const trade = s === symbol ? readTrade(i, p, v, S, T) : undefined
    if (trade === undefined) return unreadable(topic, 'unreadable trades')
    trades.push(trade)
  }
  return { kind: 'trades', symbol, isRepeat: false, trades }
}

/** The topic and the REST API name these members differently. */
export function readTrade(
  id: unknown,
  price: unknown,
  amount: unknown,
  takerSide: unknown,
  executedAtMilliseconds: unknown,
): VenueTrade | undefined {
  if (typeof id !== 'string' || !TRADE_ID.test(id) || !isCount(executedAtMilliseconds)) return undefined
  if (typeof price !== 'string' || typeof amount !== 'string') return undefined
  const side = takerSide === 'Buy' ? 'buy' : takerSide === 'Sell' ? 'sell' : undefined
  if (side === undefined) return undefined
  return { firstId: 0, lastId: 0, id, side, price, amount, executedAtMilliseconds }
}

/**
 * `{"success":false,"ret_msg":"…","req_id":"7","op":"subscribe"}`. A successful subscription needs no message: the
 * book's snapshot follows, and its time limit runs since the request. The documentation does not say whether a request
 * is refused as a whole, so all its pairs count as refused, and each is requested alone later.
 */
function readAnswer(
  { op, success, ret_msg, req_id }: JsonObject,
  takeRequest: (id: unknown) => VenueRequest | undefined,
): readonly BybitMessage[] {
  if (op === 'ping' || op === 'pong') return []
  const request = takeRequest(req_id)
  if (success !== false) return []
  const reason = typeof ret_msg === 'string' && ret_msg !== '' ? ret_msg.slice(0, REASON_CHARACTERS_MAX) : 'no reason'
  if (request?.action !== 'subscribe') return [{ kind: 'refused', reason }]
  const { channel, symbols } = request
  const isOfGroup = symbols.length > 1
  return symbols.map((symbol) => ({ kind: 'refused', symbol, channel, reason, isOfGroup }))
}

/** Ids and times are safe integers. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
