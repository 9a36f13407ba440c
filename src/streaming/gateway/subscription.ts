/**
 * The subscription of one session to one market: its channels, and the position up to which each has been sent.
 *
 * A subscription is current (it gets the frames of every tick for the channels in `delivered`), lagging (`generation`
 * differs from the outbox's: catch-up owes it something), or empty (no channels; kept because of `laterThan`).
 */
import type { ChannelType } from '../../contract/channels.ts'
import type { EncodedFrame, Encoding } from '../sequencing/frame.ts'
import type { ViewCommit } from '../sequencing/replica.ts'
import type { ViewFeed } from '../sequencing/view-feed.ts'
import type { Chunk, Outbox } from './outbox.ts'

/** The part of a session that a market uses. */
export interface Subscriber {
  readonly outbox: Outbox
  /** False for the self-audit. */
  readonly isClient: boolean
  /** Leaves the subscription to the session's catch-up. */
  owe(subscription: MarketSubscription): void
}

/** Parameters of a subscribe request of the extended protocol; undefined = absent. */
export interface ChannelParams {
  readonly depth?: number | undefined
  readonly intervalMilliseconds?: number | undefined
  /** Whether levels name their venues. */
  readonly attribution?: boolean | undefined
  /** A cursor to continue from. */
  readonly resume?: string | undefined
}

/** How far one channel of a subscription has been sent. */
export interface ChannelState {
  /**
   * The position that the client holds: a version of the book, a number of the top or of an execution; NONE = owed the
   * first.
   */
  position: number
  /** The cursor that the last message named; NONE before the first. */
  cursor: number
  /** Of a throttled channel: whether catch-up may send now what is owed. */
  isDue: boolean
}

/** The last digest of its book that a subscription was sent, in a heartbeat. */
export interface SentDigest {
  readonly digest: string
  /** Of the last message before that heartbeat. */
  readonly cursor: string
  readonly sentMilliseconds: number
}

export interface MarketSubscription {
  readonly subscriber: Subscriber
  /**
   * The subscriber's. It is kept here too because fan-out, which visits every subscription, then reads one object less.
   */
  readonly outbox: Outbox
  readonly encoding: Encoding
  /** Channels subscribed, as bits. */
  channels: number
  /** Channels that get the frames of a tick, as bits; the others of `channels` wait for the market. */
  delivered: number
  /** Channels that get messages only at intervals, as bits. */
  throttled: number
  /** That of the outbox when the subscription was last current. */
  generation: number
  /**
   * Whether the channels in `delivered` that are not throttled were sent everything up to the last fan-out. Their
   * entries in `states` are then not kept: `MarketStream.settle` sets them.
   */
  isAligned: boolean
  /** By place of the channel in its market; undefined where it was never subscribed. */
  readonly states: (ChannelState | undefined)[]
  /** The view of market_data; the published one until another depth is subscribed. */
  view: ViewFeed
  /** Whether the client holds a book, even of a version that the journal no longer reaches. */
  holdsBook: boolean
  /** A book must be of a later version than this one, because of what was sent on this connection before. */
  laterThan: number
  /** Undefined before the first, and without market_data. */
  sentDigest: SentDigest | undefined
  /** Place in the market's list; -1 when not in it. */
  place: number
}

/** Frames of a message of the current tick. */
export interface TickFrame {
  readonly bit: number
  /** Only the subscribers of this view get it; undefined = all. */
  readonly view: ViewFeed | undefined
  readonly frames: EncodedFrame
}

/**
 * Outcome of catch-up for one channel: it is current (`done`), it waits for the market to have something to send
 * (`waiting`), the outbox takes no more (`blocked`), or the connection has to be closed with this cause.
 */
export type CaughtUp = 'done' | 'waiting' | 'blocked' | 'executionGap' | 'executionsMissed'

/** Subscriptions of one channel with the same view and interval, which share one conflated message per interval. */
export interface ThrottleGroup {
  readonly channel: MarketChannel
  readonly view: ViewFeed | undefined
  readonly intervalMilliseconds: number
  readonly subscriptions: Set<MarketSubscription>
  /** Position and cursor of the last message. */
  position: number
  cursor: number
}

/**
 * One channel of one market. Markets, catch-up and throttling treat all channels alike through these methods; to add a
 * channel is to implement them. `state` is always the subscription's state of this channel.
 */
export interface MarketChannel {
  readonly type: ChannelType
  /** A power of two. */
  readonly bit: number
  /** Place in the market's list of channels and in `MarketSubscription.states`. */
  readonly place: number
  /** Sets the first position. Returns whether it continues from the cursor in `params.resume`. */
  subscribe(subscription: MarketSubscription, state: ChannelState, params: ChannelParams): boolean
  unsubscribe(subscription: MarketSubscription, state: ChannelState): void
  /** Adds the frames of a commit, in the encodings that have subscribers. */
  encodeCommit(
    commit: ViewCommit,
    hasSubscribers: readonly [base: boolean, extended: boolean],
    frames: TickFrame[],
  ): void
  /** Whether the frames of the tick cannot be fanned out: catch-up sends what its subscriptions are owed. */
  isLeftToCatchUp(view: ViewFeed, encoding: Encoding): boolean
  /** Whether the frames of the tick come next for a current subscription, which is not aligned. */
  continues(subscription: MarketSubscription, state: ChannelState): boolean
  /** Notes that the frames of the tick were sent. */
  advance(subscription: MarketSubscription, state: ChannelState): void
  /** Whether the state of a subscription is what `settle` would set after this tick. */
  isAligned(subscription: MarketSubscription, state: ChannelState): boolean
  /** Sets the state of a subscription that was sent everything up to the last fan-out. */
  settle(subscription: MarketSubscription, state: ChannelState): void
  /** Ends the tick: everything up to now was fanned out. */
  endTick(): void
  /**
   * Sends a lagging subscription what it is owed. `waiting`: the state of an earlier channel of the market that waits.
   */
  catchUp(subscription: MarketSubscription, state: ChannelState, waiting: ChannelState | undefined): CaughtUp
  /** Of channels that can be throttled: the view that a group has in common. */
  groupView?(subscription: MarketSubscription): ViewFeed | undefined
  /**
   * Moves a group to the current position. Returns the message that its subscriptions share, 'unchanged' when there is
   * none, or 'by-catch-up' when each of them has to be sent its own. In a group without subscriptions it only sets the
   * first position.
   */
  conflate?(group: ThrottleGroup): Chunk | 'unchanged' | 'by-catch-up'
}

/** Whether catch-up may send a channel now: always, unless it is throttled and its interval has not passed. */
export function isDue({ throttled }: MarketSubscription, bit: number, state: ChannelState): boolean {
  return (throttled & bit) === 0 || state.isDue
}
