/**
 * Parses single events in Coinbase Advanced Trade's WebSocket frames
 * (https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/websocket/websocket-channels, read 2026-11-22).
 * Prices and sizes stay as the venue sent them, and every returned member has been checked. Pure.
 */
import { isObject, type JsonObject } from '../../../../platform/base/json-value.ts'
import type { VenueMessage, VenueTrade } from '../venue.ts'
import type { CoinbaseBookData, CoinbaseLevel } from './book.ts'

export type CoinbaseMessage = VenueMessage<CoinbaseBookData>
const TRADE_ID = /^[0-9]{1,16}$/

/** One `l2_data` event: a complete message for one product's book. */
export function readBookEvent(event: unknown): CoinbaseMessage {
  if (!isObject(event) || typeof event.product_id !== 'string') return unreadable('l2_data')
  const { product_id: symbol, type, updates } = event
  const isSnapshot = type === 'snapshot'
  if ((!isSnapshot && type !== 'update') || !Array.isArray(updates) || !updates.every(isLevel)) {
    return {
      kind: 'unreadable-book',
      symbol,
      reason: `an unreadable l2_data event, type ${String(type)}`,
    }
  }
  const data = { isSnapshot, levels: updates }
  // A snapshot's levels have their own times, most long past.
  const eventMilliseconds = isSnapshot ? Number.NaN : readTime((updates.at(-1) as JsonObject | undefined)?.event_time)
  return Number.isNaN(eventMilliseconds)
    ? { kind: 'book', symbol, data }
    : { kind: 'book', symbol, data, eventMilliseconds }
}

function isLevel(value: unknown): value is CoinbaseLevel {
  if (!isObject(value)) return false
  const { side, price_level, new_quantity } = value
  return (side === 'bid' || side === 'offer') && typeof price_level === 'string' && typeof new_quantity === 'string'
}

/**
 * One `market_trades` event, newest first. A `snapshot` contains the last trades before the subscription, which are not
 * new executions. A malformed trade is left out, and the next trade's number reveals the gap. `side` is ignored: the
 * documentation does not say whether it is the maker's or the taker's.
 */
export function readTradesEvent(event: unknown): readonly CoinbaseMessage[] {
  if (!isObject(event) || !Array.isArray(event.trades)) return [unreadable('market_trades')]
  const isRepeat = event.type === 'snapshot'
  const bySymbol = new Map<string, VenueTrade[]>()
  const problems: CoinbaseMessage[] = []
  for (const one of event.trades.toReversed() as unknown[]) {
    if (!isObject(one) || typeof one.product_id !== 'string') return [unreadable('market_trades')]
    const { product_id: symbol } = one
    const trade = readTrade(one)
    const known = bySymbol.get(symbol)
    if (trade === undefined) {
      problems.push({ kind: 'unreadable-trades', symbol, reason: 'an unreadable trade in market_trades' })
    } else if (known === undefined) bySymbol.set(symbol, [trade])
    else known.push(trade)
  }
  return [
    ...problems,
    ...[...bySymbol].map(([symbol, trades]) => ({ kind: 'trades', symbol, isRepeat, trades }) as const),
  ]
}

/** The members shared by the channel and the REST API. */
export function readTrade({ trade_id, price, size, time }: JsonObject): VenueTrade | undefined {
  const executedAtMilliseconds = readTime(time)
  if (typeof trade_id !== 'string' || !TRADE_ID.test(trade_id)) return undefined
  if (typeof price !== 'string' || typeof size !== 'string' || Number.isNaN(executedAtMilliseconds)) return undefined
  const id = Number(trade_id)
  if (!Number.isSafeInteger(id)) return undefined
  return { firstId: id, lastId: id, price, amount: size, executedAtMilliseconds }
}

/** Milliseconds since the epoch. The venue sends up to nine fraction digits; three are kept. */
function readTime(value: unknown): number {
  return typeof value === 'string' ? Date.parse(value) : Number.NaN
}

function unreadable(channel: string): CoinbaseMessage {
  return { kind: 'unreadable', reason: `an unreadable ${channel} message` }
}
