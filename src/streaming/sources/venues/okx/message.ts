/**
 * Parses frames from OKX's public WebSocket API v5 (https://www.okx.com/docs-v5/en/#overview-websocket). Prices and
 * amounts stay as the venue sent them, every returned member has been checked, and nothing throws. A malformed frame
 * belongs to the pair it names, or else to any pair. Pure.
 */
import { isObject, type JsonObject } from '../../../../platform/base/json-value.ts'
import type { Listing, VenueLevel, VenueMessage, VenueTrade } from '../venue.ts'
import { notJson, onlyCapture, readLevelPairs } from '../venue-frame.ts'

export interface OkxBookData {
  readonly isSnapshot: boolean
  /** Fetched by HTTP: a complete book, usable as a snapshot only where it joins the channel's messages. */
  readonly isFetched?: true
  readonly bids: readonly VenueLevel[]
  readonly asks: readonly VenueLevel[]
  /** Absent where the venue sends none, or 0, which has no meaning. A message has this, `sequence`, or both. */
  readonly checksum?: number
  /** `previous` is the preceding message's `id`; -1 in a snapshot. */
  readonly sequence?: { readonly id: number; readonly previous: number }
  readonly eventMilliseconds?: number
}

export type OkxMessage = VenueMessage<OkxBookData>

/** Longest venue text quoted in a reason. */
const REASON_CHARACTERS_MAX = 200

/** Venue-wide services in `status` messages: 0 = WebSocket, 5 = trading. */
const VENUE_SERVICES: ReadonlySet<unknown> = new Set(['0', '5'])

/**
 * Listing states by instrument state; any other state is `restricted`. An instrument's book may be crossed before it
 * opens.
 */
const LISTING_STATES: ReadonlyMap<string, Listing['state']> = new Map([
  ['live', 'open'],
  ['preopen', 'gone'],
  ['expired', 'gone'],
])

const TOO_MANY_REQUESTS = '60014'

const CHANNEL_MEMBER = /"channel"\s*:\s*"([^"\\]*)"/g
const INSTRUMENT_MEMBER = /"instId"\s*:\s*"([^"\\]+)"/g

export function readOkxMessage(text: string): readonly OkxMessage[] {
  if (text === 'pong') return []
  let frame: unknown
  try {
    frame = JSON.parse(text)
  } catch (error) {
    return readDamaged(text, notJson(error))
  }
  if (!isObject(frame)) return unreadable('not a JSON object')
  if (frame.event !== undefined) return readEvent(frame)
  const { arg, data } = frame
  if (!isObject(arg) || !Array.isArray(data)) return unreadable('neither an event nor data')
  switch (arg.channel) {
    case 'books':
      return readBooks(arg.instId, frame.action, data)
    case 'trades':
      return readTrades(arg.instId, data)
    case 'instruments':
      return [{ kind: 'listings', isComplete: false, listings: readInstruments(data) }]
    case 'status':
      return readStatus(data)
    default:
      return typeof arg.channel === 'string' ? [] : unreadable('data without a channel')
  }
}

/** Each frame has one channel and one instrument, which a malformed frame usually still names. */
function readDamaged(text: string, reason: string): readonly OkxMessage[] {
  const channel = onlyCapture(text, CHANNEL_MEMBER)
  const symbol = onlyCapture(text, INSTRUMENT_MEMBER)
  if (symbol === undefined || (channel !== 'books' && channel !== 'trades')) return unreadable(reason)
  return [{ kind: channel === 'books' ? 'unreadable-book' : 'unreadable-trades', symbol, reason }]
}

function unreadable(reason: string): readonly OkxMessage[] {
  return [{ kind: 'unreadable', reason }]
}

function readBooks(symbol: unknown, action: unknown, data: readonly unknown[]): readonly OkxMessage[] {
  if (typeof symbol !== 'string') return unreadable('a book without instrument')
  if (data.length === 0) return [{ kind: 'unreadable-book', symbol, reason: 'a book message without data' }]
  const messages: OkxMessage[] = []
  for (const entry of data) {
    const book = readBook(action, entry)
    if (typeof book === 'string') return [{ kind: 'unreadable-book', symbol, reason: book }]
    const { eventMilliseconds } = book
    messages.push({
      kind: 'book',
      symbol,
      data: book,
      ...(eventMilliseconds === undefined ? {} : { eventMilliseconds }),
    })
  }
  return messages
}

/** The book message, or the reason why it is malformed. */
function readBook(action: unknown, entry: unknown): OkxBookData | string {
  if (action !== 'snapshot' && action !== 'update') return 'a book message that is neither snapshot nor update'
  if (!isObject(entry)) return 'a book message without an object'
  const bids = readLevelPairs(entry.bids)
  const asks = readLevelPairs(entry.asks)
  if (bids === undefined || asks === undefined) return 'a book message without readable levels'
  const { checksum = 0, seqId, prevSeqId } = entry
  if (!Number.isSafeInteger(checksum)) return 'a book message with an unreadable checksum'
  const hasSequence = seqId !== undefined || prevSeqId !== undefined
  if (hasSequence && !(Number.isSafeInteger(seqId) && Number.isSafeInteger(prevSeqId))) {
    return 'a book message with unreadable sequence ids'
  }
  if (checksum === 0 && !hasSequence) return 'a book message with neither checksum nor sequence ids'
  const eventMilliseconds = readInteger(entry.ts)
  return {
    isSnapshot: action === 'snapshot',
    bids,
    asks,
    ...(checksum === 0 ? {} : { checksum: checksum as number }),
    ...(hasSequence ? { sequence: { id: seqId as number, previous: prevSeqId as number } } : {}),
    ...(eventMilliseconds === undefined ? {} : { eventMilliseconds }),
  }
}

/**
 * `tradeId` is the last match. A message represents `count` matches, numbered consecutively, from one taker order at
 * one price: https://www.okx.com/docs-v5/en/#order-book-trading-market-data-ws-trades-channel
 */
function readTrades(symbol: unknown, data: readonly unknown[]): readonly OkxMessage[] {
  if (typeof symbol !== 'string') return unreadable('trades without instrument')
  const trades: VenueTrade[] = []
  for (const entry of data) {
    const trade = readTrade(entry)
    if (trade === undefined) return [{ kind: 'unreadable-trades', symbol, reason: 'unreadable trades' }]
    trades.push(trade)
  }
  return [{ kind: 'trades', symbol, isRepeat: false, trades }]
}

/**
 * The members shared by the channel and the REST API. Only the channel has `count`, the number of matches. `side` is
 * the taker's.
 */
export function readTrade(entry: unknown): VenueTrade | undefined {
  if (!isObject(entry)) return undefined
  const { tradeId, count = '1', px: price, sz: amount, side, ts } = entry
  const lastId = readInteger(tradeId)
  const matches = readInteger(count)
  const executedAtMilliseconds = readInteger(ts)
  if (lastId === undefined || matches === undefined || executedAtMilliseconds === undefined) return undefined
  if (typeof price !== 'string' || typeof amount !== 'string') return undefined
  const firstId = lastId - matches + 1
  if (matches === 0 || firstId < 0) return undefined
  const trade = { firstId, lastId, price, amount, executedAtMilliseconds }
  return side === 'buy' || side === 'sell' ? { ...trade, side } : trade
}

/** Instruments with invalid precisions are left out, as if they were not listed. */
export function readInstruments(data: readonly unknown[]): Listing[] {
  const listings: Listing[] = []
  for (const entry of data) {
    if (!isObject(entry) || typeof entry.instId !== 'string') continue
    const priceDecimals = readStep(entry.tickSz)
    const amountDecimals = readStep(entry.lotSz)
    if (priceDecimals === undefined || amountDecimals === undefined) continue
    const status = typeof entry.state === 'string' ? entry.state.slice(0, REASON_CHARACTERS_MAX) : 'unknown'
    const state = LISTING_STATES.get(status) ?? 'restricted'
    // Test pairs have a book but cannot be traded.
    const instrument = status === 'test' ? ({ instrument: 'CLOSED' } as const) : {}
    listings.push({ symbol: entry.instId, priceDecimals, amountDecimals, status, state, ...instrument })
  }
  return listings
}

/** https://www.okx.com/docs-v5/en/#status */
function readStatus(data: readonly unknown[]): readonly OkxMessage[] {
  const messages: OkxMessage[] = []
  for (const entry of data) {
    if (!isObject(entry) || !VENUE_SERVICES.has(entry.serviceType) || typeof entry.state !== 'string') continue
    const title = typeof entry.title === 'string' ? entry.title : 'maintenance'
    messages.push({
      kind: 'status',
      isOpen: entry.state !== 'ongoing' && entry.state !== 'pre_open',
      status: `${entry.state}: ${title}`.slice(0, REASON_CHARACTERS_MAX),
    })
  }
  return messages
}

function readEvent(frame: JsonObject): readonly OkxMessage[] {
  const arg = isObject(frame.arg) ? frame.arg : {}
  switch (frame.event) {
    case 'subscribe':
    case 'unsubscribe':
      return arg.channel === 'books' && typeof arg.instId === 'string'
        ? [{ kind: 'acknowledged', symbol: arg.instId }]
        : []
    case 'error':
      return readError(frame, arg)
    case 'channel-conn-count-error':
      return [{ kind: 'refused', reason: `too many connections subscribe ${venueText(frame.channel)}` }]
    case 'notice':
      return restart(`notice ${venueText(frame.code)}: ${venueText(frame.msg)}`)
    default:
      return []
  }
}

/** https://www.okx.com/docs-v5/en/#error-code-websocket-public */
function readError(frame: JsonObject, arg: JsonObject): readonly OkxMessage[] {
  const reason = `${venueText(frame.code)}: ${venueText(frame.msg)}`
  // This connection has used its requests for up to an hour. A new connection has all its requests again.
  if (frame.code === TOO_MANY_REQUESTS) return restart(reason)
  // "Wrong URL or channel:books,instId:BTC-USDX doesn't exist. Please …" is the only refusal with a channel and a pair.
  const named = typeof frame.msg === 'string' ? /channel:([^\s,]+)(?:,instId:([^\s,]+))?/.exec(frame.msg) : null
  const channel = arg.channel ?? named?.[1]
  const symbol = arg.instId ?? named?.[2]
  // No book depends on the venue's status messages.
  if (channel === 'status') return []
  if (typeof symbol !== 'string') return [{ kind: 'refused', reason }]
  return [{ kind: 'refused', symbol, channel: channel === 'trades' ? 'trades' : 'book', reason }]
}

function restart(reason: string): readonly OkxMessage[] {
  return [{ kind: 'restart', reason }]
}

function venueText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, REASON_CHARACTERS_MAX) : 'unknown'
}

/** A whole number as OKX writes ids, counts and times: text. */
function readInteger(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^[0-9]{1,16}$/.test(value)) return undefined
  const integer = Number(value)
  return Number.isSafeInteger(integer) ? integer : undefined
}

/** Fraction digits in a step like 0.001. */
function readStep(value: unknown): number | undefined {
  const match = typeof value === 'string' ? /^[0-9]{1,20}(?:\.([0-9]{0,17}[1-9])?0*)?$/.exec(value) : null
  return match === null || !/[1-9]/.test(match[0]) ? undefined : (match[1]?.length ?? 0)
}
