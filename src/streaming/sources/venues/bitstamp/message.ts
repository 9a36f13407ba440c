/**
 * Parses frames from Bitstamp's WebSocket API v2 (pages and dates in `protocol`). Prices and amounts stay as the venue
 * sent them, every returned member has been checked, and nothing throws. A malformed frame belongs to the pair it
 * names, or else to any pair. Pure.
 */
import { isObject, type JsonObject } from '../../../../platform/base/json-value.ts'
import type { VenueLevel, VenueMessage, VenueTrade } from '../venue.ts'
import { notJson, onlyCapture, readLevelPairs } from '../venue-frame.ts'

/** A channel message, or a fetched snapshot. */
export interface BitstampBookData {
  readonly isSnapshot: boolean
  /** The book's time, microseconds since the epoch. */
  readonly microseconds: number
  readonly bids: readonly VenueLevel[]
  readonly asks: readonly VenueLevel[]
}

export type BitstampMessage = VenueMessage<BitstampBookData>

/** Channel names are `diff_order_book_btcusd` and `live_trades_btcusd`. */
export const CHANNEL_OF = { book: 'diff_order_book_', trades: 'live_trades_' } as const

/** Longest venue text quoted in a reason. */
const REASON_CHARACTERS_MAX = 200
const CHANNEL_MEMBER = /"channel"\s*:\s*"([^"\\]*)"/g
const DIGITS = /^[0-9]{1,16}$/

/** A channel's pair and kind; undefined for other channels. */
export interface BitstampChannel {
  readonly channel: 'book' | 'trades'
  readonly symbol: string
}

/**
 * @param takeAnswered returns the answered channel and forgets its request. An error often names no channel: it belongs
 *   to the oldest request.
 */
export function readBitstampMessage(
  text: string,
  takeAnswered: (name: string) => BitstampChannel | undefined,
): readonly BitstampMessage[] {
  let frame: unknown
  try {
    frame = JSON.parse(text)
  } catch (error) {
    return [unreadable(onlyCapture(text, CHANNEL_MEMBER), notJson(error))]
  }
  if (!isObject(frame) || typeof frame.event !== 'string') return [{ kind: 'unreadable', reason: 'not an event' }]
  const { event, channel: name, data } = frame
  switch (event) {
    case 'data':
      return readData(name, data)
    case 'trade':
      return readTrades(name, data)
    case 'bts:subscription_succeeded': {
      const answered = typeof name === 'string' ? takeAnswered(name) : undefined
      return answered?.channel === 'book' ? [{ kind: 'acknowledged', symbol: answered.symbol }] : []
    }
    case 'bts:error':
      return readError(takeAnswered(typeof name === 'string' ? name : ''), data)
    case 'bts:request_reconnect':
      return [{ kind: 'restart', reason: 'the venue asks for a new connection' }]
    default:
      return []
  }
}

export function readChannel(name: unknown): BitstampChannel | undefined {
  if (typeof name !== 'string') return undefined
  for (const channel of ['book', 'trades'] as const) {
    const prefix = CHANNEL_OF[channel]
    if (name.startsWith(prefix) && name.length > prefix.length) return { channel, symbol: name.slice(prefix.length) }
  }
  return undefined
}

/** A malformed message for the pair in its channel's name, otherwise for any pair. */
function unreadable(name: unknown, reason: string): BitstampMessage {
  const known = readChannel(name)
  if (known === undefined) return { kind: 'unreadable', reason }
  return { kind: known.channel === 'book' ? 'unreadable-book' : 'unreadable-trades', symbol: known.symbol, reason }
}

/** Other channels have data too, and are ignored. */
function readData(name: unknown, data: unknown): readonly BitstampMessage[] {
  const known = readChannel(name)
  if (known?.channel !== 'book') return typeof name === 'string' ? [] : [unreadable(name, 'data without a channel')]
  const book = readBook(data, false)
  if (book === undefined) return [unreadable(name, 'an unreadable book message')]
  const eventMilliseconds = Math.floor(book.microseconds / 1000)
  return [{ kind: 'book', symbol: known.symbol, data: book, eventMilliseconds }]
}

/** The members shared by channel messages and fetched snapshots. */
export function readBook(value: unknown, isSnapshot: boolean): BitstampBookData | undefined {
  if (!isObject(value)) return undefined
  const microseconds = readDigits(value.microtimestamp)
  const [bids, asks] = [readLevelPairs(value.bids), readLevelPairs(value.asks)]
  if (microseconds === undefined || bids === undefined || asks === undefined) return undefined
  return { isSnapshot, microseconds, bids, asks }
}

function readTrades(name: unknown, data: unknown): readonly BitstampMessage[] {
  const known = readChannel(name)
  if (known?.channel !== 'trades')
    return typeof name === 'string' ? [] : [unreadable(name, 'a trade without a channel')]
  const trade = isObject(data) ? readTrade(data) : undefined
  if (trade === undefined) return [unreadable(name, 'an unreadable trade')]
  return [{ kind: 'trades', symbol: known.symbol, isRepeat: false, trades: [trade] }]
}

function readTrade(data: JsonObject): VenueTrade | undefined {
  const { id, price_str: price, amount_str: amount, microtimestamp } = data
  const microseconds = readDigits(microtimestamp)
  if (!Number.isSafeInteger(id) || (id as number) < 0 || microseconds === undefined) return undefined
  if (typeof price !== 'string' || typeof amount !== 'string') return undefined
  const side = readTakerSide(data)
  const executedAtMilliseconds = Math.floor(microseconds / 1000)
  const trade = { firstId: 0, lastId: 0, id: String(id), price, amount, executedAtMilliseconds }
  return side === undefined ? trade : { ...trade, side }
}

/**
 * The documentation defines `type` as 0 for buy and 1 for sell, but not whose side it is. The taker's order is the
 * later one, so the side is reported only where the order with the higher id confirms it.
 */
function readTakerSide({ type, buy_order_id: buy, sell_order_id: sell }: JsonObject): VenueTrade['side'] {
  if (!Number.isSafeInteger(buy) || !Number.isSafeInteger(sell)) return undefined
  if (type === 0 && (buy as number) > (sell as number)) return 'buy'
  return type === 1 && (sell as number) > (buy as number) ? 'sell' : undefined
}

function readError(answered: BitstampChannel | undefined, data: unknown): readonly BitstampMessage[] {
  const { code, message } = isObject(data) ? data : {}
  const words = typeof message === 'string' ? message.slice(0, REASON_CHARACTERS_MAX) : 'no reason given'
  const reason = typeof code === 'number' ? `${words} (code ${code})` : words
  return [{ kind: 'refused', ...answered, reason }]
}

function readDigits(value: unknown): number | undefined {
  const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : undefined
  return Number.isSafeInteger(number) ? number : undefined
}
