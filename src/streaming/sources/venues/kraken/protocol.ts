/**
 * Kraken's WebSocket API v2 (https://docs.kraken.com/exchange/api-reference/spot-websocket-v2): requests and limits,
 * frame parsing, and the book with its checksum. Prices and quantities stay as the venue sent them, without floating
 * point. Only the books have state. `rest` fetches missed trades.
 */
import { crc32 } from 'node:zlib'
import { isObject, type JsonObject } from '../../../../platform/base/json-value.ts'
import { ASK, BID, type Side } from '../../../market/event.ts'
import type {
  BestPrices,
  BookStep,
  Listing,
  UnfitLevel,
  VenueAddresses,
  VenueBook,
  VenueBookOptions,
  VenueDefinition,
  VenueLevel,
  VenueMessage,
  VenueProtocol,
  VenueTrade,
} from '../venue.ts'
import { notJson, onlyCapture } from '../venue-frame.ts'
import { priceOf, VenueLevels } from '../venue-levels.ts'
import { fetchTrades } from './rest.ts'

/** Kraken sends a heartbeat every second once anything is subscribed: three may be late. */
const SILENCE_MILLISECONDS = 4_000

/**
 * Depths that can be subscribed, in levels per side.
 * https://docs.kraken.com/exchange/api-reference/spot-websocket-v2/book
 */
const DEPTHS = [10, 25, 100, 500, 1000]

/**
 * Kraken accepts one public request per second from an address.
 * https://docs.kraken.com/api/docs/guides/spot-rest-ratelimits
 */
const HTTP_RATE = { burst: 1, perSecond: 1 }

/**
 * The checksum covers ten levels per side: a lost change beyond them is detected only by a new snapshot. Each costs two
 * requests and up to 60 KB (1,000 levels), so a thousand pairs cost 7 requests per second.
 */
const RECONCILE_MILLISECONDS = 300_000

/** One message for one pair's book. */
interface KrakenBookData {
  readonly isSnapshot: boolean
  readonly bids: readonly VenueLevel[]
  readonly asks: readonly VenueLevel[]
  readonly checksum: number
}

type KrakenMessage = VenueMessage<KrakenBookData>

/**
 * A refusal names the pair but not the channel; it repeats the request id. Requests for trades have this id, requests
 * for books none.
 */
const TRADES_REQUEST_ID = 1

function createKrakenProtocol({ restUrl }: Pick<VenueAddresses, 'restUrl'>): VenueProtocol<KrakenBookData> {
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    httpRate: HTTP_RATE,
    depths: DEPTHS,
    reconcileMilliseconds: RECONCILE_MILLISECONDS,
    fetchTrades: (symbol, gap, signal) => fetchTrades(restUrl, symbol, gap, signal),
    listings: { requests: () => [{ method: 'subscribe', params: { channel: 'instrument', snapshot: true } }] },
    requests(action, channel, symbols, depth) {
      // The trade snapshot contains the last 50, which fill a short gap without a request.
      const snapshot = action === 'subscribe' ? { snapshot: true } : {}
      return channel === 'book'
        ? [{ method: action, params: { channel, symbol: symbols, depth, ...snapshot } }]
        : [{ method: action, params: { channel: 'trade', symbol: symbols, ...snapshot }, req_id: TRADES_REQUEST_ID }]
    },
    read: readKrakenMessage,
    createBook: (options) => new KrakenBook(options),
  }
}

export const KRAKEN = {
  symbolPattern: /^[A-Za-z0-9.]{1,20}\/[A-Za-z0-9.]{1,20}$/,
  symbolExample: 'BTC/USD',
  proof: 'CHECKSUM',
  exchanges: [{ name: 'Kraken', url: 'wss://ws.kraken.com/v2', restUrl: 'https://api.kraken.com' }],
  createProtocol: createKrakenProtocol,
} satisfies VenueDefinition<KrakenBookData>

/**
 * The number after a member "price" or "qty". A quote inside a JSON string is always escaped and an escaped quote never
 * closes one, so this cannot match text inside a string.
 */
const DECIMAL_MEMBER = /"(price|qty)"(\s*):(\s*)(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)/g

const CHANNEL_MEMBER = /"channel"\s*:\s*"([^"\\]*)"/g
const SYMBOL_MEMBER = /"symbol"\s*:\s*"([^"\\]+)"/g

/** Longest venue text quoted in a reason. */
const REASON_CHARACTERS_MAX = 200

function readKrakenMessage(text: string): readonly KrakenMessage[] {
  let value: unknown
  try {
    value = JSON.parse(text.replace(DECIMAL_MEMBER, '"$1"$2:$3"$4"'))
  } catch (error) {
    return readDamaged(text, notJson(error))
  }
  if (!isObject(value)) return unreadable('not a JSON object')
  switch (value.channel) {
    case 'book':
      return readBooks(value)
    case 'trade':
      return readTrades(value)
    case 'instrument':
      return [readInstrument(value)]
    case 'status':
      return readStatus(value)
  }
  const isAnswer = value.method === 'subscribe' || value.method === 'unsubscribe' || value.success === false
  return isAnswer ? readAnswer(value) : []
}

/** The frame may have been a change in any book. */
function unreadable(what: string): readonly KrakenMessage[] {
  return [{ kind: 'unreadable', reason: `an unreadable message: ${what}` }]
}

/** A frame on the book or trade channel has one pair, which a malformed frame usually still names. */
function readDamaged(text: string, what: string): readonly KrakenMessage[] {
  const channel = onlyCapture(text, CHANNEL_MEMBER)
  const symbol = onlyCapture(text, SYMBOL_MEMBER)
  if (symbol === undefined || (channel !== 'book' && channel !== 'trade')) return unreadable(what)
  const reason = `an unreadable ${channel} message: ${what}`
  return [{ kind: channel === 'book' ? 'unreadable-book' : 'unreadable-trades', symbol, reason }]
}

function readBooks({ type, data }: JsonObject): readonly KrakenMessage[] {
  if ((type !== 'snapshot' && type !== 'update') || !Array.isArray(data)) {
    return unreadable('a book message without type or data')
  }
  const messages: KrakenMessage[] = []
  for (const entry of data as unknown[]) {
    if (!isObject(entry) || typeof entry.symbol !== 'string') return unreadable('a book message without symbol')
    const bids = readLevels(entry.bids)
    const asks = readLevels(entry.asks)
    const { symbol, checksum } = entry
    if (bids === undefined || asks === undefined || typeof checksum !== 'number') {
      messages.push({ kind: 'unreadable-book', symbol, reason: 'an unreadable book message' })
      continue
    }
    const isSnapshot = type === 'snapshot'
    // A snapshot's time is the book's last change, however long ago.
    const eventMilliseconds = isSnapshot ? undefined : readTime(entry.timestamp)
    const event = eventMilliseconds === undefined ? {} : { eventMilliseconds }
    messages.push({ kind: 'book', symbol, data: { isSnapshot, bids, asks, checksum }, ...event })
  }
  return messages
}

/** One side's levels; an absent side did not change. */
function readLevels(value: unknown): VenueLevel[] | undefined {
  if (value === undefined) return []
  if (!Array.isArray(value)) return undefined
  const levels: VenueLevel[] = []
  for (const level of value as unknown[]) {
    if (!isObject(level) || typeof level.price !== 'string' || typeof level.qty !== 'string') return undefined
    levels.push({ price: level.price, amount: level.qty })
  }
  return levels
}

/**
 * A malformed trade is left out, and the next trade's number reveals the gap. `side` is the taker's:
 * https://docs.kraken.com/api/docs/websocket-v2/trade
 */
function readTrades({ type, data }: JsonObject): readonly KrakenMessage[] {
  const bySymbol = new Map<string, VenueTrade[]>()
  for (const entry of Array.isArray(data) ? (data as unknown[]) : []) {
    if (!isObject(entry)) continue
    const { symbol, trade_id: id, price, qty: amount, side } = entry
    const executedAtMilliseconds = readTime(entry.timestamp)
    if (typeof symbol !== 'string' || typeof price !== 'string' || typeof amount !== 'string') continue
    if (!Number.isSafeInteger(id) || executedAtMilliseconds === undefined) continue
    const trades = bySymbol.get(symbol) ?? []
    const trade = { firstId: id as number, lastId: id as number, price, amount, executedAtMilliseconds }
    trades.push(side === 'buy' || side === 'sell' ? { ...trade, side } : trade)
    bySymbol.set(symbol, trades)
  }
  return [...bySymbol].map(([symbol, trades]) => ({ kind: 'trades', symbol, isRepeat: type === 'snapshot', trades }))
}

/** Pairs with invalid precisions are left out, as if they were not listed. */
function readInstrument(message: JsonObject): KrakenMessage {
  const pairs = isObject(message.data) ? message.data.pairs : undefined
  const listings: Listing[] = []
  for (const pair of Array.isArray(pairs) ? (pairs as unknown[]) : []) {
    if (!isObject(pair) || typeof pair.symbol !== 'string') continue
    const { symbol, price_precision: priceDecimals, qty_precision: amountDecimals } = pair
    if (!isPrecision(priceDecimals) || !isPrecision(amountDecimals)) continue
    const status = typeof pair.status === 'string' ? pair.status.slice(0, REASON_CHARACTERS_MAX) : 'unknown'
    listings.push({
      symbol,
      priceDecimals,
      amountDecimals,
      status,
      state: stateOf(status),
      ...(STILL_TRADING.has(status) ? { instrument: 'OPEN' } : {}),
    })
  }
  return { kind: 'listings', isComplete: message.type === 'snapshot', listings }
}

/** Trading continues in these states, although some order kinds are refused. */
const STILL_TRADING: ReadonlySet<string> = new Set(['limit_only', 'reduce_only'])

/** https://docs.kraken.com/exchange/api-reference/spot-websocket-v2/instrument, the `status` values. */
function stateOf(status: string): Listing['state'] {
  if (status === 'online') return 'open'
  return status === 'delisted' || status === 'work_in_progress' ? 'gone' : 'restricted'
}

/** `online`, `maintenance`, `cancel_only`, `post_only`. */
function readStatus({ data }: JsonObject): readonly KrakenMessage[] {
  const entry: unknown = Array.isArray(data) ? data[0] : undefined
  if (!isObject(entry) || typeof entry.system !== 'string') return []
  const status = entry.system.slice(0, REASON_CHARACTERS_MAX)
  return [{ kind: 'status', isOpen: status === 'online', status }]
}

function readAnswer(message: JsonObject): readonly KrakenMessage[] {
  const result = isObject(message.result) ? message.result : {}
  if (message.success !== true) return [readRefusal(message, message.symbol ?? result.symbol)]
  if (result.channel !== 'book' || typeof result.symbol !== 'string') return []
  const { symbol, depth } = result
  const isDepth = Number.isSafeInteger(depth) && (depth as number) > 0
  return [{ kind: 'acknowledged', symbol, ...(isDepth ? { depth: depth as number } : {}) }]
}

/** Only a refused subscription affects the pair. */
function readRefusal(message: JsonObject, symbol: unknown): KrakenMessage {
  const reason = typeof message.error === 'string' ? message.error.slice(0, REASON_CHARACTERS_MAX) : 'no reason given'
  if (message.method !== 'subscribe' || typeof symbol !== 'string') return { kind: 'refused', reason }
  const channel = message.req_id === TRADES_REQUEST_ID ? 'trades' : 'book'
  return { kind: 'refused', channel, symbol, reason }
}

/** An RFC 3339 time in milliseconds since the epoch. */
function readTime(value: unknown): number | undefined {
  const milliseconds = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(milliseconds) ? undefined : milliseconds
}

/** Fraction digits that scale exactly. No listed pair comes near 18. */
function isPrecision(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 18
}

/** Levels per side in the checksum, for every depth. */
const CHECKSUM_LEVELS = 10

/**
 * One book at the venue's precision. It is cut to the subscribed depth after each message, and checked against its
 * CRC32 (https://docs.kraken.com/exchange/guides/websockets/book-checksum-v2). It reports exactly the levels that
 * differ after a message. These include levels that fell out of the depth, which the venue never deletes explicitly. A
 * book with a different checksum is wrong.
 */
class KrakenBook implements VenueBook<KrakenBookData> {
  readonly #symbol: string
  readonly #levels: VenueLevels
  #isComplete = false

  constructor(options: VenueBookOptions) {
    this.#symbol = options.listing.symbol
    this.#levels = new VenueLevels(options)
  }

  get best(): BestPrices {
    return this.#levels.best
  }

  get unfit(): readonly UnfitLevel[] {
    return this.#levels.unfit
  }

  /** The last entry for a price wins. A snapshot replaces the book. Messages before the first snapshot are ignored. */
  apply({ isSnapshot, bids, asks, checksum }: KrakenBookData): BookStep {
    if (!isSnapshot && !this.#isComplete) return { kind: 'waiting' }
    const taken = isSnapshot ? this.#levels.replace(bids, asks) : this.#levels.apply(bids, asks)
    if (typeof taken === 'string') return { kind: 'wrong', reason: taken }
    if (this.#checksum() !== checksum) {
      const reason = `the checksum of ${this.#symbol} does not match`
      return { kind: 'wrong', reason, isChecksumMismatch: true }
    }
    if (!('levels' in taken)) return { kind: 'update', changes: taken }
    const { levels, changes } = taken
    const isFirst = !this.#isComplete
    this.#isComplete = true
    return isFirst ? { kind: 'snapshot', levels } : { kind: 'snapshot', levels, changes }
  }

  /** CRC32 over price and quantity digits: the best ten asks, then the best ten bids. */
  #checksum(): number {
    return crc32(this.#checksumText(ASK) + this.#checksumText(BID))
  }

  #checksumText(side: Side): string {
    const { keys, amounts } = this.#levels.side(side)
    let text = ''
    for (let index = 0; index < CHECKSUM_LEVELS && index < keys.length; index++) {
      text += `${priceOf(keys[index]!)}${amounts[index]!}`
    }
    return text
  }
}
