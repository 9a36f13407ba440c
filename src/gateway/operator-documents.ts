/**
 * The operator API's documents of a connection, a market and a book, built from memory. Prices and amounts are exact
 * text with the market's decimals, as in the stream. Members without a value are absent.
 */
import { millisecondText, nanosecondText } from '../base/clock.ts'
import { formatDecimal } from '../base/decimal.ts'
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from '../market/event.ts'
import type { MarketStream } from './market-stream.ts'
import type { Session } from './session.ts'

export interface ConnectionDocument {
  readonly id: string
  readonly client_id: string
  readonly customer_id: string
  readonly client_address: string
  /** Absent where none was selected: the base protocol. */
  readonly subprotocol?: string
  readonly created_at: string
  /** Number of subscribed channels. */
  readonly subscriptions: number
  /** Whether it lags: it is above its high-water mark and gets conflated updates when it has drained. */
  readonly behind: boolean
  /** Bytes that wait in this process. */
  readonly queued_bytes: number
  /** Bytes written to its socket since it was opened. */
  readonly bytes_out: number
}

interface LevelDocument {
  readonly price: string
  readonly amount: string
}

/** One source of a market as this process observes it. */
export interface ObservedSource {
  /** As the configuration names it. */
  readonly source: string
  readonly state: 'starting' | 'live' | 'lost'
  /** Why it is not live. */
  readonly reason: string
  readonly sinceMilliseconds: number
  readonly notices: readonly string[]
}

interface SourceDocument {
  readonly source: string
  readonly live: boolean
  /** Why it is not live. */
  readonly reason?: string
  /** When `live` changed last. */
  readonly since: string
  /** What an operator should know although the source may be live. */
  readonly notices: readonly string[]
}

export interface MarketDocument {
  readonly symbol: string
  readonly live: boolean
  /** Why it is not live. */
  readonly reason?: string
  /** Since when the market has been stale. */
  readonly stale_since?: string
  readonly sources: readonly string[]
  readonly source_states: readonly SourceDocument[]
  /** Published levels per side; 0 = all. */
  readonly depth: number
  /** Version of the last commit since the process started; 0 before the first. */
  readonly version: number
  readonly committed_at?: string
  readonly bid_levels: number
  readonly ask_levels: number
  readonly best_bid?: LevelDocument
  readonly best_ask?: LevelDocument
  /** Connections with a subscription to any of its channels. */
  readonly subscribers: number
}

export interface BookDocument {
  readonly symbol: string
  readonly live: boolean
  readonly reason?: string
  readonly version: number
  /** `time` of the last commit, as the messages of the stream carry it. */
  readonly time?: string
  /** Best first. */
  readonly bids: readonly LevelDocument[]
  readonly asks: readonly LevelDocument[]
}

export function connectionDocument(session: Session): ConnectionDocument {
  const { clientAddress, subprotocol, bytesWritten } = session.transport
  return {
    id: session.id,
    client_id: session.token.clientId,
    customer_id: session.token.customerId,
    client_address: clientAddress,
    ...(subprotocol === '' ? {} : { subprotocol }),
    created_at: millisecondText(session.createdMilliseconds),
    subscriptions: session.subscriptionCount,
    behind: session.isLagging,
    queued_bytes: session.queuedBytes,
    bytes_out: bytesWritten,
  }
}

export function marketDocument(stream: MarketStream, sources: readonly ObservedSource[]): MarketDocument {
  const { replica, state, stateSinceMilliseconds } = stream
  const { market, view, top, instant, version } = replica
  return {
    symbol: market.symbol,
    ...statusOf(stream),
    ...(state === 'STALE' ? { stale_since: millisecondText(stateSinceMilliseconds) } : {}),
    sources: sources.map(({ source }) => source),
    source_states: sources.map(sourceDocument),
    depth: market.depth,
    version,
    ...(version === 0 ? {} : { committed_at: nanosecondText(instant.milliseconds, instant.nanoseconds) }),
    bid_levels: view.levelCount(BID),
    ask_levels: view.levelCount(ASK),
    ...(top.bid === undefined ? {} : { best_bid: levelDocument(market, top.bid) }),
    ...(top.ask === undefined ? {} : { best_ask: levelDocument(market, top.ask) }),
    subscribers: stream.subscriptions.filter(({ subscriber }) => subscriber.isClient).length,
  }
}

function sourceDocument({ source, state, reason, sinceMilliseconds, notices }: ObservedSource): SourceDocument {
  const live = state === 'live'
  return { source, live, ...(live ? {} : { reason }), since: millisecondText(sinceMilliseconds), notices }
}

/** @param depth at most this many levels per side, the best ones */
export function bookDocument(stream: MarketStream, depth: number): BookDocument {
  const { market, view, instant, version } = stream.replica
  const levels = view.levels(depth)
  const side = (wanted: Side): LevelDocument[] =>
    levels.filter((level) => level.side === wanted).map((level) => levelDocument(market, level))
  return {
    symbol: market.symbol,
    ...statusOf(stream),
    version,
    ...(version === 0 ? {} : { time: millisecondText(instant.milliseconds) }),
    bids: side(BID),
    asks: side(ASK),
  }
}

function statusOf({ replica: { live, reason } }: MarketStream): { readonly live: boolean; readonly reason?: string } {
  return live ? { live } : { live, reason }
}

function levelDocument(market: MarketDefinition, { price, amount }: LevelChange): LevelDocument {
  return {
    price: formatDecimal(price, market.priceDecimals),
    amount: formatDecimal(amount, market.amountDecimals),
  }
}
