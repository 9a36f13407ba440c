/**
 * Reads frames of Kraken's WebSocket API v2 (https://docs.kraken.com/exchange/api-reference/spot-websocket-v2). It
 * promises that prices and quantities stay the text that the venue sent: no floating point touches them. What a
 * message means for a book is not decided here. Pure.
 */

/** One level as text, exactly as sent. */
export interface KrakenLevel {
  readonly price: string
  readonly quantity: string
}

export interface KrakenBookData {
  readonly symbol: string
  readonly bids: readonly KrakenLevel[]
  readonly asks: readonly KrakenLevel[]
  readonly checksum: number
}

export interface KrakenListing {
  readonly symbol: string
  readonly status: string
  readonly pricePrecision: number
  readonly quantityPrecision: number
}

/**
 * What a frame says. `other` is everything that moves no book: heartbeats, statuses, channels nobody asked for.
 * `acknowledged` is a book that was subscribed or unsubscribed, with the depth that the venue names.
 * `unreadable` may have been a change of any book; a `book` with `unreadableSymbol` was one of that symbol.
 */
export type KrakenMessage =
  | {
      readonly kind: 'book'
      readonly isSnapshot: boolean
      readonly books: readonly (KrakenBookData | UnreadableBook)[]
    }
  | { readonly kind: 'instrument'; readonly isSnapshot: boolean; readonly listings: readonly KrakenListing[] }
  | { readonly kind: 'acknowledged'; readonly symbol: string; readonly depth: number | undefined }
  | { readonly kind: 'refused'; readonly method: string; readonly symbol: string | undefined; readonly reason: string }
  | { readonly kind: 'other' }
  | { readonly kind: 'unreadable'; readonly reason: string }

export interface UnreadableBook {
  readonly unreadableSymbol: string
}

/**
 * The number behind a member "price" or "qty". A quote inside a JSON string is always escaped and an escaped quote
 * never closes one, so this can match no text inside a string value.
 */
const DECIMAL_MEMBER = /"(price|qty)"(\s*):(\s*)(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)/g

/** Longest text of the venue that goes into a reason. */
const REASON_CHARACTERS_MAX = 200

type Members = Readonly<Record<string, unknown>>

export function readKrakenMessage(text: string): KrakenMessage {
  let value: unknown
  try {
    value = JSON.parse(text.replace(DECIMAL_MEMBER, '"$1"$2:$3"$4"'))
  } catch (error) {
    return { kind: 'unreadable', reason: `no JSON: ${error instanceof Error ? error.name : 'unknown error'}` }
  }
  if (!isObject(value)) return { kind: 'unreadable', reason: 'no JSON object' }
  if (value.channel === 'book') return readBook(value)
  if (value.channel === 'instrument') return readInstrument(value)
  if (value.method === 'subscribe' || value.method === 'unsubscribe' || value.success === false) {
    return readAcknowledgement(value)
  }
  return { kind: 'other' }
}

function readBook(message: Members): KrakenMessage {
  const { type, data } = message
  if ((type !== 'snapshot' && type !== 'update') || !Array.isArray(data)) {
    return { kind: 'unreadable', reason: 'a book message without type or data' }
  }
  const books: (KrakenBookData | UnreadableBook)[] = []
  for (const entry of data as unknown[]) {
    if (!isObject(entry) || typeof entry.symbol !== 'string') {
      return { kind: 'unreadable', reason: 'a book message without symbol' }
    }
    const bids = readLevels(entry.bids)
    const asks = readLevels(entry.asks)
    const { symbol, checksum } = entry
    if (bids === undefined || asks === undefined || typeof checksum !== 'number') {
      books.push({ unreadableSymbol: symbol })
    } else {
      books.push({ symbol, bids, asks, checksum })
    }
  }
  return { kind: 'book', isSnapshot: type === 'snapshot', books }
}

/** Levels of one side; a side that the message leaves out did not change. */
function readLevels(value: unknown): KrakenLevel[] | undefined {
  if (value === undefined) return []
  if (!Array.isArray(value)) return undefined
  const levels: KrakenLevel[] = []
  for (const level of value as unknown[]) {
    if (!isObject(level) || typeof level.price !== 'string' || typeof level.qty !== 'string') return undefined
    levels.push({ price: level.price, quantity: level.qty })
  }
  return levels
}

/** Pairs whose precisions make no sense are left out, as if the venue did not list them. */
function readInstrument(message: Members): KrakenMessage {
  const pairs = isObject(message.data) ? message.data.pairs : undefined
  const listings: KrakenListing[] = []
  for (const pair of Array.isArray(pairs) ? (pairs as unknown[]) : []) {
    if (!isObject(pair) || typeof pair.symbol !== 'string') continue
    const { symbol, status, price_precision: pricePrecision, qty_precision: quantityPrecision } = pair
    if (!isPrecision(pricePrecision) || !isPrecision(quantityPrecision)) continue
    listings.push({
      symbol,
      status: typeof status === 'string' ? status : 'unknown',
      pricePrecision,
      quantityPrecision,
    })
  }
  return { kind: 'instrument', isSnapshot: message.type === 'snapshot', listings }
}

function readAcknowledgement(message: Members): KrakenMessage {
  const result = isObject(message.result) ? message.result : {}
  if (message.success !== true) {
    const symbol = message.symbol ?? result.symbol
    return {
      kind: 'refused',
      method: typeof message.method === 'string' ? message.method : 'unknown',
      symbol: typeof symbol === 'string' ? symbol : undefined,
      reason: typeof message.error === 'string' ? message.error.slice(0, REASON_CHARACTERS_MAX) : 'no reason given',
    }
  }
  if (result.channel !== 'book' || typeof result.symbol !== 'string') return { kind: 'other' }
  const { depth } = result
  return {
    kind: 'acknowledged',
    symbol: result.symbol,
    depth: Number.isSafeInteger(depth) && (depth as number) > 0 ? (depth as number) : undefined,
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Fraction digits that can be scaled exactly; no listed pair comes near 18. */
function isPrecision(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 18
}
