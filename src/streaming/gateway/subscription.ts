/**
 * One session's subscription to one market: its channels, and each channel's sent position.
 *
 * A subscription is current (it gets every tick's frames for the channels in `delivered`), lagging (`generation`
 * differs from the outbox's: catch-up owes it something), or empty (no channels; kept because of `laterThan`).
 */
import type { ClientUsage, UsageCell } from '../../access/metering/meter.ts'
import type { ChannelType } from '../../contract/channels.ts'
import type { EncodedFrame, Encoding, FrameCount, FrameCounts } from '../sequencing/frame.ts'
import type { ViewCommit } from '../sequencing/replica.ts'
import type { ViewFeed } from '../sequencing/view-feed.ts'
import type { Chunk, Outbox } from './outbox.ts'

/** The session's methods for a market. */
export interface Subscriber {
  readonly outbox: Outbox
  /** False for the self-audit. */
  readonly isClient: boolean
  /** Where its usage is counted. */
  readonly usage: ClientUsage
  /** Leaves the subscription to the session's catch-up. */
  owe(subscription: MarketSubscription): void
}

/** A session, or a self-audit subscriber. The hub calls it at the end of a tick to catch up. */
export interface LaggingParty {
  /** Sends owed messages until `untilMilliseconds` on the monotonic clock. True when more is left. */
  catchUp(untilMilliseconds: number): boolean
}

/** Parameters in an extended-protocol subscribe request. Undefined = absent. */
export interface ChannelParams {
  readonly depth?: number | undefined
  readonly intervalMilliseconds?: number | undefined
  /** Whether levels name their venues. */
  readonly attribution?: boolean | undefined
  /** A cursor to continue from. */
  readonly resume?: string | undefined
}

/** How far one channel in a subscription has been sent. */
export interface ChannelState {
  /** The client's position: a book version, a top's number or an execution's number; NONE = owed the first. */
  position: number
  /** The cursor in the last message; NONE before the first. */
  cursor: number
  /** For a throttled channel: whether catch-up may send its owed data now. */
  isDue: boolean
  /** Where its messages are counted. */
  readonly usage: UsageCell
  /** While aligned: the channel's totals up to which fanned-out messages are counted in `usage`. */
  countedMessages: number
  countedBytes: number
}

/** The last book digest sent to a subscription in a heartbeat. */
export interface SentDigest {
  readonly digest: string
  /** From the last message before this heartbeat. */
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
  /** Channels that get a tick's frames, as bits. The others in `channels` wait for the market. */
  delivered: number
  /** Channels that get messages only at intervals, as bits. */
  throttled: number
  /** The outbox's generation when the subscription was last current. */
  generation: number
  /**
   * Whether the channels in `delivered` that are not throttled were sent everything up to the last fan-out. Their
   * entries in `states` are then not kept: `MarketStream.settle` sets them.
   */
  isAligned: boolean
  /** By the channel's place in its market. Undefined where it was never subscribed. */
  readonly states: (ChannelState | undefined)[]
  /** The market_data view; the published one until another depth is subscribed. */
  view: ViewFeed
  /** The view of the book that the client holds, while catch-up owes it the one in `view`. */
  heldView: ViewFeed | undefined
  /** Whether the client holds a book, even at a version that the journal no longer reaches. */
  holdsBook: boolean
  /** A book's version must be later than this one, because of earlier messages on this connection. */
  laterThan: number
  /** Undefined before the first, and without market_data. */
  sentDigest: SentDigest | undefined
  /** Receipts before this version were sent, or are from before the subscription. Undefined before the first heartbeat. */
  receiptsFrom: number | undefined
  /**
   * The change version from which the book was resumed; 0 without a resumption. A process that opened its view later names
   * an unchanged book by a later version, so receipts here may name an earlier one, which the client was not sent.
   */
  resumedFrom: number
  /** Place in the market's list; -1 when not in it. */
  place: number
}

/**
 * A subscription without channels.
 * @param view the market's published one
 */
export function newSubscription(
  subscriber: Subscriber,
  encoding: Encoding,
  view: ViewFeed,
  channelCount: number,
): MarketSubscription {
  return {
    subscriber,
    outbox: subscriber.outbox,
    encoding,
    channels: 0,
    delivered: 0,
    throttled: 0,
    generation: 0,
    isAligned: false,
    states: Array.from({ length: channelCount }, () => undefined),
    view,
    heldView: undefined,
    holdsBook: false,
    laterThan: 0,
    sentDigest: undefined,
    receiptsFrom: undefined,
    resumedFrom: 0,
    place: -1,
  }
}

/** A message's frames in the current tick. */
export interface TickFrame {
  readonly bit: number
  /** Only this view's subscribers get it. Undefined = all. */
  readonly view: ViewFeed | undefined
  readonly frames: EncodedFrame
  /** Where it is counted once for all its subscribers. */
  readonly totals: FrameCounts
}

/**
 * Catch-up's outcome for one channel: it is current (`done`), it waits for the market to have something to send
 * (`waiting`), the outbox takes no more (`blocked`), or the connection has to be closed with this cause.
 */
export type CaughtUp = 'done' | 'waiting' | 'blocked' | 'executionGap' | 'executionsMissed'

/** One channel's subscriptions with the same view, encoding and interval, which share one conflated message per interval. */
export interface ThrottleGroup {
  readonly channel: MarketChannel
  readonly encoding: Encoding
  readonly view: ViewFeed | undefined
  readonly intervalMilliseconds: number
  readonly subscriptions: Set<MarketSubscription>
  /** The last message's position and cursor. */
  position: number
  cursor: number
}

/**
 * One channel in one market. Markets, catch-up and throttling treat all channels alike through these methods: to add a
 * channel is to implement them. `state` is always the subscription's state in this channel.
 */
export interface MarketChannel {
  readonly type: ChannelType
  /** A power of two. */
  readonly bit: number
  /** Place in the market's channel list and in `MarketSubscription.states`. */
  readonly place: number
  /** Sets the first position. Returns whether it continues from the cursor in `params.resume`. */
  subscribe(subscription: MarketSubscription, state: ChannelState, params: ChannelParams): boolean
  unsubscribe(subscription: MarketSubscription, state: ChannelState): void
  /** For the order book: serves another depth from now on. Catch-up leads the client's book to it. */
  changeDepth?(subscription: MarketSubscription, state: ChannelState, depth: number): void
  /** Everything fanned out so far to a subscription's view and encoding. */
  fannedOut(subscription: MarketSubscription): FrameCount
  /** Adds a commit's frames, in the encodings with subscribers. */
  encodeCommit(
    commit: ViewCommit,
    hasSubscribers: readonly [base: boolean, extended: boolean],
    frames: TickFrame[],
  ): void
  /** Whether the tick's frames cannot be fanned out. Catch-up then sends owed messages. */
  isLeftToCatchUp(view: ViewFeed, encoding: Encoding): boolean
  /** Whether the tick's frames come next for a current subscription that is not aligned. */
  continues(subscription: MarketSubscription, state: ChannelState): boolean
  /** Notes that the tick's frames were sent. */
  advance(subscription: MarketSubscription, state: ChannelState): void
  /** Whether a subscription's state is the one `settle` would set after this tick. */
  isAligned(subscription: MarketSubscription, state: ChannelState): boolean
  /** Sets the state for a subscription that was sent everything up to the last fan-out. */
  settle(subscription: MarketSubscription, state: ChannelState): void
  /** Ends the tick: everything up to now was fanned out. */
  endTick(): void
  /**
   * Sends owed messages to a lagging subscription. `waiting`: the state of an earlier channel in the market that waits.
   */
  catchUp(subscription: MarketSubscription, state: ChannelState, waiting: ChannelState | undefined): CaughtUp
  /** For channels that can be throttled: a group's common view. */
  groupView?(subscription: MarketSubscription): ViewFeed | undefined
  /**
   * Moves a group to the current position. Returns its subscriptions' shared message, 'unchanged' when there is none,
   * or 'by-catch-up' when each has to be sent its own. In a group without subscriptions it only sets the first
   * position.
   */
  conflate?(group: ThrottleGroup): Chunk | 'unchanged' | 'by-catch-up'
}

/** Whether catch-up may send a channel now: always, unless it is throttled and its interval has not passed. */
export function isDue({ throttled }: MarketSubscription, bit: number, state: ChannelState): boolean {
  return (throttled & bit) === 0 || state.isDue
}
