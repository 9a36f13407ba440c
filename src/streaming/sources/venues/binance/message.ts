/**
 * Parses frames from Binance's combined streams
 * (https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams). Prices and amounts stay as the venue
 * sent them, and every returned member has been checked. Their effect on a book is defined in `book`. Pure.
 */
import { isObject, type JsonObject } from '../../../../platform/base/json-value.ts'
import type { VenueMessage, VenueTrade } from '../venue.ts'
import { notJson, onlyCapture } from '../venue-frame.ts'
import type { VenueRequest } from '../venue-requests.ts'
import type { BinanceBookData, BinanceLevel } from './book.ts'

export type BinanceMessage = VenueMessage<BinanceBookData>

/** Stream names are `btcusdt@depth@100ms` and `btcusdt@aggTrade`. */
export const STREAM_OF = { book: 'depth@100ms', trades: 'aggTrade' } as const

const STREAM_MEMBER = /"stream"\s*:\s*"([^"\\]*)"/g

/** Longest venue text quoted in a reason. */
const REASON_CHARACTERS_MAX = 200

/** @param takeRequest returns the request with this id once, and forgets it */
export function readBinanceMessage(
  text: string,
  takeRequest: (id: unknown) => VenueRequest | undefined,
): readonly BinanceMessage[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return readDamaged(text, notJson(error))
  }
  if (!isObject(value)) return [{ kind: 'unreadable', reason: 'not a JSON object' }]
  if (typeof value.stream === 'string') return readStream(value.stream, isObject(value.data) ? value.data : {})
  if (value.e === 'serverShutdown') return restart(SHUTDOWN_REASON)
  if (value.result !== undefined || value.error !== undefined || value.code !== undefined) {
    return readAnswer(value, takeRequest)
  }
  return []
}

const SHUTDOWN_REASON = 'the venue is about to close the connection'

/** Unknown streams are ignored. */
function readStream(name: string, data: JsonObject): readonly BinanceMessage[] {
  const at = name.indexOf('@')
  const stream = name.slice(at + 1)
  if (stream === STREAM_OF.book) return [readDiff(data) ?? unreadable(name, 'an unreadable book message')]
  if (stream === STREAM_OF.trades) return [readTrade(data) ?? unreadable(name, 'an unreadable trade')]
  return data.e === 'serverShutdown' ? restart(SHUTDOWN_REASON) : []
}

/** A malformed frame usually still contains its stream's name. */
function readDamaged(text: string, reason: string): readonly BinanceMessage[] {
  const name = onlyCapture(text, STREAM_MEMBER)
  return [name === undefined ? { kind: 'unreadable', reason } : unreadable(name, reason)]
}

/** A malformed message for the pair in the stream's name, otherwise for any pair. */
function unreadable(streamName: string, reason: string): BinanceMessage {
  const at = streamName.indexOf('@')
  const symbol = streamName.slice(0, at).toUpperCase()
  switch (streamName.slice(at + 1)) {
    case STREAM_OF.book:
      return { kind: 'unreadable-book', symbol, reason }
    case STREAM_OF.trades:
      return { kind: 'unreadable-trades', symbol, reason }
    default:
      return { kind: 'unreadable', reason }
  }
}

function readDiff({ s: symbol, E, U, u, b, a }: JsonObject): BinanceMessage | undefined {
  if (typeof symbol !== 'string' || !isId(U) || !isId(u) || U > u || !areLevels(b) || !areLevels(a)) return undefined
  const data = { kind: 'diff', firstUpdateId: U, lastUpdateId: u, bids: b, asks: a } as const
  return isId(E) ? { kind: 'book', symbol, data, eventMilliseconds: E } : { kind: 'book', symbol, data }
}

function readTrade(data: JsonObject): BinanceMessage | undefined {
  const trade = readAggregateTrade(data)
  if (typeof data.s !== 'string' || trade === undefined) return undefined
  return { kind: 'trades', symbol: data.s, isRepeat: false, trades: [trade] }
}

/**
 * The members shared by stream and REST API. `a` numbers a pair's aggregates consecutively, and another process continues
 * after it, because it is also the execution's id. `m` is true when the buyer was the maker, so the taker sold.
 */
export function readAggregateTrade(value: unknown): VenueTrade | undefined {
  if (!isObject(value)) return undefined
  const { a, p: price, q: amount, T: executedAtMilliseconds, m } = value
  if (typeof price !== 'string' || typeof amount !== 'string' || !isId(a) || !isId(executedAtMilliseconds)) {
    return undefined
  }
  const trade = { firstId: a, lastId: a, price, amount, executedAtMilliseconds }
  return typeof m === 'boolean' ? { ...trade, side: m ? 'sell' : 'buy' } : trade
}

/**
 * The venue accepts subscriptions with any name, so a refusal means it could not read the request. The error is in a
 * member `error` or at the top level, depending on the documentation page.
 */
function readAnswer(
  answer: JsonObject,
  takeRequest: (id: unknown) => VenueRequest | undefined,
): readonly BinanceMessage[] {
  const request = takeRequest(answer.id)
  const error = isObject(answer.error) ? answer.error : answer
  const isDone = answer.error === undefined && answer.code === undefined
  if (isDone) {
    if (request?.action !== 'subscribe' || request.channel !== 'book') return []
    return request.symbols.map((symbol) => ({ kind: 'acknowledged', symbol }))
  }
  const words = typeof error.msg === 'string' ? error.msg.slice(0, REASON_CHARACTERS_MAX) : 'no reason given'
  const reason = `${words} (code ${typeof error.code === 'number' ? error.code : 'unknown'})`
  if (request?.action !== 'subscribe') return [{ kind: 'refused', reason }]
  const { channel, symbols } = request
  const isOfGroup = symbols.length > 1
  return symbols.map((symbol) => ({ kind: 'refused', symbol, channel, reason, isOfGroup }))
}

function restart(reason: string): readonly BinanceMessage[] {
  return [{ kind: 'restart', reason }]
}

/** Ids and times are safe integers. */
function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** One side's levels in diffs and snapshots. */
export function areLevels(value: unknown): value is readonly BinanceLevel[] {
  if (!Array.isArray(value)) return false
  for (const level of value as unknown[]) {
    if (!Array.isArray(level) || typeof level[0] !== 'string' || typeof level[1] !== 'string') return false
  }
  return true
}
