/**
 * What one connection reads of one market, and how far it has come.
 *
 * States: nothing subscribed (`channels` 0, kept because of `laterThan`); stale (`generation` differs from the
 * reader's: catch-up owes it something); current (it gets the chunk of every turn for the channels in `delivered`,
 * which lacks those that wait for the market to have a book).
 */
import type { Outbox } from './outbox.ts'

/** The channels of a market as bits, so that a set of them is a number below `CHANNEL_SETS`. */
export const BOOK = 1
export const TOP = 2
export const EXECUTIONS = 4
export const CHANNEL_SETS = 8

/** Who reads: what a market needs to know of a connection. */
export interface ChannelReader {
  readonly outbox: Outbox
  /** Moves on whenever the outbox blocks: every subscription of an older generation is stale. */
  readonly generation: number
  /** Leaves the subscription to catch-up. */
  makeStale(subscription: MarketSubscription): void
}

export interface MarketSubscription {
  readonly reader: ChannelReader
  /** Channels subscribed, as bits. */
  channels: number
  /** Channels that get what happens now, as bits; the others are owed something. */
  delivered: number
  generation: number
  /** Version of the book that the client holds; 0 = it is owed a SNAPSHOT. */
  bookVersion: number
  /** A SNAPSHOT must be of a later version than this one, because of what was sent on this connection before. */
  laterThan: number
  /** Number of the top that the client holds; -1 = it is owed one. */
  topNumber: number
  /** Number of the last execution sent. */
  executionNumber: number
  /** Place in the market's list; -1 when not there. */
  position: number
}
