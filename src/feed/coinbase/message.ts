/**
 * Reads messages of Coinbase Exchange (https://docs.cdp.coinbase.com/exchange/websocket-feed/channels), each by itself.
 * It promises that prices and sizes stay the text that the venue sent, and that every member it hands on has the type
 * it should have. Pure.
 */
import type { Listing, VenueMessage } from '../venue.ts'
import type { CoinbaseBookData, CoinbaseChange, CoinbaseLevel } from './book.ts'

export type CoinbaseMessage = VenueMessage<CoinbaseBookData>
export type Members = Readonly<Record<string, unknown>>

/** Longest text of the venue that goes into a reason. */
const REASON_CHARACTERS_MAX = 200
/** Fraction digits that can be scaled exactly. */
const DECIMALS_MAX = 18
/** Sizes of products whose increment was finer once, and what is left of orders from then, have so many digits. */
const SIZE_DECIMALS_FINEST = 8

/** What an `error` says when the venue has left something out, or is about to end the connection. */
const FATAL_ERROR = /slow|too (?:big|many)/i
const PRODUCT = /\b[A-Z0-9]+-[A-Z0-9]+\b/
const INCREMENT = /^[0-9]+(?:\.([0-9]*?)0*)?$/

/** What can keep a product's book from moving, the strongest first. */
const RESTRICTIONS = ['trading_disabled', 'cancel_only', 'post_only', 'auction_mode'] as const

export function readUpdate(message: Members): readonly CoinbaseMessage[] {
  return bookMessage(message, readChanges(message.changes))
}

export function readSnapshot(message: Members): readonly CoinbaseMessage[] {
  return bookMessage(message, readLevels(message.bids, message.asks))
}

function bookMessage(message: Members, data: CoinbaseBookData | undefined): readonly CoinbaseMessage[] {
  const { product_id: symbol, time, type } = message
  if (typeof symbol !== 'string') return unreadable(String(type))
  if (data === undefined) return [{ kind: 'unreadable-book', symbol, reason: `a ${type} that cannot be read` }]
  const eventMilliseconds = !data.isSnapshot && typeof time === 'string' ? Date.parse(time) : Number.NaN
  return Number.isNaN(eventMilliseconds)
    ? [{ kind: 'book', symbol, data }]
    : [{ kind: 'book', symbol, data, eventMilliseconds }]
}

function readChanges(changes: unknown): CoinbaseBookData | undefined {
  return Array.isArray(changes) && changes.every(isChange) ? { isSnapshot: false, changes } : undefined
}

function readLevels(bids: unknown, asks: unknown): CoinbaseBookData | undefined {
  if (!Array.isArray(bids) || !Array.isArray(asks)) return undefined
  return bids.every(isLevel) && asks.every(isLevel) ? { isSnapshot: true, bids, asks } : undefined
}

function isChange(value: unknown): value is CoinbaseChange {
  if (!Array.isArray(value) || value.length < 3) return false
  const [side, price, size] = value as unknown[]
  return (side === 'buy' || side === 'sell') && typeof price === 'string' && typeof size === 'string'
}

function isLevel(value: unknown): value is CoinbaseLevel {
  return Array.isArray(value) && value.length >= 2 && typeof value[0] === 'string' && typeof value[1] === 'string'
}

/** A `last_match` is the last trade before the subscription. */
export function readTrade(message: Members): readonly CoinbaseMessage[] {
  const { type, product_id: symbol, trade_id: id, price, size, time } = message
  const executedAtMilliseconds = typeof time === 'string' ? Date.parse(time) : Number.NaN
  if (typeof symbol !== 'string' || !isTradeId(id) || Number.isNaN(executedAtMilliseconds)) return unreadable('match')
  if (typeof price !== 'string' || typeof size !== 'string') return unreadable('match')
  const trade = { firstId: id, lastId: id, price, amount: size, executedAtMilliseconds }
  return [{ kind: 'trades', symbol, isRepeat: type === 'last_match', trades: [trade] }]
}

/** Products whose increments make no sense are left out, as if the venue did not list them. */
export function readStatus({ products }: Members): readonly CoinbaseMessage[] {
  if (!Array.isArray(products)) return unreadable('status')
  const listings: Listing[] = []
  for (const product of products as unknown[]) {
    if (!isObject(product) || typeof product.id !== 'string') continue
    const priceDecimals = decimalsOf(product.quote_increment)
    const amountDecimals = decimalsOf(product.base_increment)
    if (priceDecimals === undefined || amountDecimals === undefined) continue
    const finestAmountDecimals = Math.max(amountDecimals, SIZE_DECIMALS_FINEST)
    listings.push({ symbol: product.id, priceDecimals, amountDecimals, finestAmountDecimals, ...stateOf(product) })
  }
  return [{ kind: 'listings', isComplete: true, listings }]
}

/** Fraction digits of the multiples of an increment: 2 for `0.01` and for `0.0500`, 0 for `10`. */
function decimalsOf(increment: unknown): number | undefined {
  const match = typeof increment === 'string' ? INCREMENT.exec(increment) : null
  if (match === null) return undefined
  const decimals = (match[1] ?? '').length
  return decimals <= DECIMALS_MAX ? decimals : undefined
}

/**
 * `internal` products are not for the public yet. A status that is not known may well have a book. A product that is
 * `limit_only` trades as usual, for there is nothing else in a book.
 */
function stateOf(product: Members): Pick<Listing, 'status' | 'state'> {
  const status = typeof product.status === 'string' ? product.status : 'unknown'
  if (status === 'delisted' || status === 'internal') return { status, state: 'gone' }
  if (status !== 'online') return { status, state: 'restricted' }
  const restriction = RESTRICTIONS.find((name) => product[name] === true)
  if (restriction !== undefined) return { status: restriction, state: 'restricted' }
  return { status: product.limit_only === true ? 'limit_only' : status, state: 'open' }
}

/** https://docs.cdp.coinbase.com/exchange/websocket-feed/errors */
export function readError(message: Members): readonly CoinbaseMessage[] {
  const texts = [message.message, message.reason].filter((text) => typeof text === 'string')
  const reason = texts.join(': ').slice(0, REASON_CHARACTERS_MAX) || 'no reason given'
  if (FATAL_ERROR.test(reason))
    return [{ kind: 'restart', reason: `coinbase is about to end the connection: ${reason}` }]
  const symbol = PRODUCT.exec(reason)?.[0]
  return [symbol === undefined ? { kind: 'refused', reason } : { kind: 'refused', symbol, reason }]
}

export function unreadable(type: string): readonly CoinbaseMessage[] {
  return [{ kind: 'restart', reason: `a message of type ${type} that cannot be read` }]
}

export function isTradeId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
