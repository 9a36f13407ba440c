/**
 * The state of one market for display, built from the messages of the stream: the book, the last trades with their taker
 * side, rates and ages. The caller passes the time of each message. Pure.
 */

import { formatDecimal, parseDecimal, type Scaled } from '../base/decimal.ts'
import { isObject } from '../base/json-value.ts'
import { PAYLOAD_TYPES } from '../contract/channels.ts'
import { fractionDigits, isDecimal, isZero, levelList } from './checker-forms.ts'
import { BOOK_SIDES, ClientBook, comparePrices, type WireLevel } from './client-book.ts'
import type { ServedState } from './market-state.ts'
import { RateMeter } from './rate-meter.ts'

/** The taker's side: a buyer lifted an ask, a seller hit a bid; undefined when it cannot be derived. */
export type TakerSide = 'buy' | 'sell' | undefined

export interface Trade {
  readonly price: string
  readonly amount: string
  readonly executedAt: string
  readonly side: TakerSide
}

export interface Best {
  readonly bid: WireLevel | undefined
  readonly ask: WireLevel | undefined
}

/** The effect of one message. */
export type ViewEvent =
  | { readonly type: 'snapshot' | 'update'; readonly time: string; readonly levelCount: number }
  | { readonly type: 'top'; readonly time: string; readonly best: Best }
  | { readonly type: 'trade'; readonly time: string; readonly trade: Trade }
  | { readonly type: 'heartbeat'; readonly time: string }
  | { readonly type: 'reply' }
  /** The service ended these subscriptions because the market was removed or changed: subscribe them again. */
  | { readonly type: 'ended'; readonly channels: readonly object[]; readonly message: string }
  /** The service failed internally; the next attempt may succeed. */
  | { readonly type: 'failed'; readonly message: string }

/** Whether the displayed data is current; never without a book. */
export type Freshness =
  | { readonly type: 'live' }
  | { readonly type: 'waiting' }
  | { readonly type: 'stale'; readonly ageMilliseconds: number }

/** More than a terminal shows. */
const TRADES_KEPT = 200

export class MarketView {
  readonly market: string
  book: ClientBook | undefined
  /** The newest first. */
  readonly trades: Trade[] = []
  /** `timestamp` or `time` of the newest data message. */
  lastTime = ''
  lastMessageMilliseconds: number | undefined
  lastHeartbeatMilliseconds: number | undefined
  /** The last state that the service reported, if any. */
  served: ServedState | undefined
  /** Since when the book has been empty: a service withdraws a book without a live source. */
  #emptySinceMilliseconds: number | undefined
  readonly #rate = new RateMeter()

  constructor(market: string) {
    this.market = market
  }

  /** A new connection: the book is unknown until its SNAPSHOT; trades are kept. */
  onConnect(): void {
    this.book = undefined
    this.served = undefined
    this.#emptySinceMilliseconds = undefined
    this.lastHeartbeatMilliseconds = undefined
  }

  updatesPerSecond(nowMilliseconds: number): number {
    return this.#rate.perSecond(nowMilliseconds)
  }

  /** An empty book is stale, unless the service reports that the market is live. */
  freshness(nowMilliseconds: number): Freshness {
    const isEmpty = this.#emptySinceMilliseconds !== undefined
    const since = this.served?.state === 'STALE' ? this.served.sinceMilliseconds : this.#emptySinceMilliseconds
    const isStale = this.served === undefined ? isEmpty : this.served.state === 'STALE'
    if (isStale && since !== undefined) return { type: 'stale', ageMilliseconds: Math.max(0, nowMilliseconds - since) }
    return { type: this.book === undefined || isEmpty ? 'waiting' : 'live' }
  }

  best(): Best {
    return { bid: this.book?.best('bids'), ask: this.book?.best('asks') }
  }

  /** Applies one message. Throws when it is not a message of this API, or when the service rejects the subscription. */
  onMessage(text: string, nowMilliseconds: number): ViewEvent {
    const message = parseMessage(text)
    this.lastMessageMilliseconds = nowMilliseconds
    const { channel, payload } = message
    if (channel === undefined) return this.#onReply(message, text)
    if (!isObject(payload)) throw unexpected(text)
    if (channel === 'heartbeat') {
      this.lastHeartbeatMilliseconds = nowMilliseconds
      return { type: 'heartbeat', time: textOf(payload.timestamp, text) }
    }
    this.#rate.count(nowMilliseconds)
    if (channel === 'market_data') return this.#onBook(payload, text, nowMilliseconds)
    if (channel === 'execution_data') return this.#onExecution(payload, text)
    if (channel !== 'market_data.top_of_book') throw unexpected(text)
    const [bid] = levelsOf(payload.bids, text)
    const [ask] = levelsOf(payload.asks, text)
    this.lastTime = textOf(payload.timestamp, text)
    return { type: 'top', time: this.lastTime, best: { bid, ask } }
  }

  #onReply(message: Record<string, unknown>, text: string): ViewEvent {
    const entries = Array.isArray(message.channels) ? message.channels.filter(isObject) : []
    // An existing subscription is not a failure.
    const refused = [message, ...entries].find(({ error }) => error !== undefined && error !== 'NO_EFFECT_ACTION')
    if (refused?.error === 'INTERNAL_SERVER_ERROR') return { type: 'failed', message: String(refused.message) }
    if (refused !== undefined) {
      const what = refused === message ? 'the request' : `${refused.type} of ${this.market}`
      throw new Error(`the service rejected ${what}: ${refused.error}, ${refused.message}`)
    }
    if (message.type === 'unsubscribe') return this.#onEnded(entries)
    if (message.type !== 'subscribe') throw unexpected(text)
    return { type: 'reply' }
  }

  #onEnded(entries: readonly Record<string, unknown>[]): ViewEvent {
    this.book = undefined
    this.#emptySinceMilliseconds = undefined
    const channels = entries.map(({ type, params }) => ({ type, params }))
    return { type: 'ended', channels, message: String(entries[0]?.message ?? 'the market was removed or changed') }
  }

  #onBook(payload: Record<string, unknown>, text: string, nowMilliseconds: number): ViewEvent {
    const isSnapshot = payload.type === PAYLOAD_TYPES.snapshot
    if (isSnapshot) this.book = new ClientBook()
    if (this.book === undefined || !(isSnapshot || payload.type === PAYLOAD_TYPES.update)) throw unexpected(text)
    let levelCount = 0
    for (const side of BOOK_SIDES) {
      for (const { price, amount } of levelsOf(payload[side], text)) {
        levelCount++
        if (isZero(amount)) this.book.remove(side, price)
        else this.book.set(side, price, amount)
      }
    }
    const isEmpty = this.book.size('bids') + this.book.size('asks') === 0
    this.#emptySinceMilliseconds = isEmpty ? (this.#emptySinceMilliseconds ?? nowMilliseconds) : undefined
    this.lastTime = textOf(payload.time, text)
    return { type: isSnapshot ? 'snapshot' : 'update', time: this.lastTime, levelCount }
  }

  #onExecution(payload: Record<string, unknown>, text: string): ViewEvent {
    const [level] = levelsOf([payload], text)
    if (level === undefined) throw unexpected(text)
    const executedAt = textOf(payload.executed_at, text)
    const trade = { ...level, executedAt, side: this.#takerSide(level.price) }
    this.trades.unshift(trade)
    if (this.trades.length > TRADES_KEPT) this.trades.pop()
    return { type: 'trade', time: executedAt, trade }
  }

  /**
   * The base protocol does not contain the taker's side. It is derived by the rule of Lee and Ready (Journal of Finance 46,
   * 1991): a trade at or beyond the ask is a buy, at or beyond the bid a sell (executions precede the UPDATE of their
   * batch, so the book is the one they were matched with); inside the spread an up-tick is a buy and a down-tick a sell.
   */
  #takerSide(price: string): TakerSide {
    const { bid, ask } = this.best()
    if (ask !== undefined && comparePrices(price, ask.price) >= 0) return 'buy'
    if (bid !== undefined && comparePrices(price, bid.price) <= 0) return 'sell'
    const other = this.trades.find((trade) => trade.price !== price)
    if (other === undefined) return undefined
    return comparePrices(price, other.price) > 0 ? 'buy' : 'sell'
  }
}

/** The spread as exact text: in the quote asset, and in basis points of the mid price. */
export function spreadText({ bid, ask }: Best): { value: string; basisPoints: string } | undefined {
  if (bid === undefined || ask === undefined) return undefined
  const scale = Math.max(fractionDigits(bid.price), fractionDigits(ask.price))
  const [low, high] = [exactInteger(bid.price, scale), exactInteger(ask.price, scale)]
  const sum = low + high
  // (high - low) / ((high + low) / 2) * 10,000 basis points, in thousandths, rounded half up.
  const thousandths = sum === 0n ? 0n : (2n * (high - low) * 20_000_000n + sum) / (2n * sum)
  return { value: formatDecimal(high - low, scale), basisPoints: formatDecimal(thousandths, 3) }
}

/** The exact mid price, with one decimal more than the prices. */
export function middleText({ bid, ask }: Best): string | undefined {
  if (bid === undefined || ask === undefined) return undefined
  const scale = Math.max(fractionDigits(bid.price), fractionDigits(ask.price)) + 1
  return formatDecimal((exactInteger(bid.price, scale) + exactInteger(ask.price, scale)) / 2n, scale)
}

/** Decimal text as an integer count of 10^-scale. */
export function exactInteger(text: string, scale: number): bigint {
  const value: Scaled | string = parseDecimal(text, scale)
  if (typeof value === 'string') throw new Error(`'${text}' is not a number with ${scale} decimals`)
  return BigInt(value)
}

function parseMessage(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw unexpected(text)
  }
  if (!isObject(value)) throw unexpected(text)
  return value
}

function levelsOf(value: unknown, text: string): WireLevel[] {
  const list = levelList(value)
  if (list === undefined) throw unexpected(text)
  return list.map(({ price, amount }) => {
    if (!isDecimal(price) || !isDecimal(amount)) throw unexpected(text)
    return { price, amount }
  })
}

function textOf(value: unknown, text: string): string {
  if (typeof value !== 'string') throw unexpected(text)
  return value
}

function unexpected(text: string): Error {
  return new Error(`the service sent an unknown message: ${text.slice(0, 160)}`)
}
