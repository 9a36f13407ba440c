/**
 * What one connection reads of one market, and how far it has come.
 *
 * States: nothing subscribed (`channels` 0, kept because of `laterThan`); stale (`generation` differs from the
 * reader's: catch-up owes it something); current (it gets the chunk of every turn for the channels in `delivered`,
 * which lacks those that wait for the market to be live).
 */
import type { ChannelType } from '../contract/channels.ts'
import type { ExtendedView } from './extended-view.ts'
import type { Outbox } from './outbox.ts'

/** The channels of a market as bits, so that a set of them is a number below `CHANNEL_SETS`. */
export const BOOK = 1
export const TOP = 2
export const EXECUTIONS = 4
export const CHANNEL_SETS = 8

export const CHANNEL_BITS: Readonly<Record<Exclude<ChannelType, 'heartbeat'>, number>> = {
  market_data: BOOK,
  'market_data.top_of_book': TOP,
  execution_data: EXECUTIONS,
}

/** Who reads: what a market needs to know of a connection. */
export interface ChannelReader {
  readonly outbox: Outbox
  /** Moves on whenever the outbox blocks: every subscription of an older generation is stale. */
  readonly generation: number
  /** Leaves the subscription to catch-up. */
  makeStale(subscription: MarketSubscription): void
}

/** What a subscribe request of the extended wire asks for beside the market; undefined = not asked for. */
export interface Wishes {
  readonly depth?: number | undefined
  readonly intervalMilliseconds?: number | undefined
  /** A cursor to go on from. */
  readonly resume?: string | undefined
}

/**
 * What a subscription of the extended wire knows besides. A channel with an interval is paced: when it is current it
 * gets nothing until a tick finds that it changed, or makes it due, which lets catch-up lead it once.
 */
export interface ExtendedState {
  /** The view of market_data; undefined while that is not subscribed. */
  view: ExtendedView | undefined
  /** Intervals of the paced channels, in milliseconds; 0 = not paced. */
  bookInterval: number
  topInterval: number
  /** Paced channels, as bits. */
  paced: number
  /** Paced channels that may be sent what they are owed, as bits. */
  due: number
  /** Change version that the last market_data message named; 0 = none was sent yet. */
  bookCursor: number
  /** The same of the top. */
  topCursor: number
  /** Number of the last execution that a message named; -1 = none was sent yet. */
  executionCursor: number
}

export interface MarketSubscription {
  /** Only on the extended wire. */
  readonly extended: ExtendedState | undefined
  readonly reader: ChannelReader
  /** Channels subscribed, as bits. */
  channels: number
  /** Channels that get what happens now, as bits; the others are owed something. */
  delivered: number
  generation: number
  /** Version of the book that the client holds; 0 = it is owed a SNAPSHOT. */
  bookVersion: number
  /** Whether the client holds a book at all, also one of a version that the journal no longer reaches. */
  holdsBook: boolean
  /** A SNAPSHOT must be of a later version than this one, because of what was sent on this connection before. */
  laterThan: number
  /** Number of the top that the client holds; -1 = it is owed one. */
  topNumber: number
  /** Number of the last execution sent. */
  executionNumber: number
  /** Place in the market's list; -1 when not there. */
  position: number
}

export interface ExtendedSubscription extends MarketSubscription {
  readonly extended: ExtendedState
}
