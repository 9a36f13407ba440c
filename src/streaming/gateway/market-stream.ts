/**
 * One market with its subscriptions. It collects the tick's frames from its channels and hands each current
 * subscription its chunk, joined once for all with the same channels, view and encoding. A lagging subscription is left
 * to its session's catch-up, which sends it one conflated message per channel.
 */
import type { ChannelType } from '../../contract/channels.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Encoding } from '../sequencing/frame.ts'
import type { ReceiptSigner } from '../sequencing/receipt-signer.ts'
import type { Replica, ViewCommit } from '../sequencing/replica.ts'
import { NONE, type ViewFeed } from '../sequencing/view-feed.ts'
import { BookChannel } from './book-channel.ts'
import { ExecutionChannel } from './execution-channel.ts'
import type { Chunk, Outbox } from './outbox.ts'
import { PublicationChannel } from './publication-channel.ts'
import {
  type ChannelParams,
  type ChannelState,
  type MarketChannel,
  type MarketSubscription,
  newSubscription,
  type SentDigest,
  type Subscriber,
} from './subscription.ts'
import { Throttle } from './throttle.ts'
import { TopChannel } from './top-channel.ts'
import { countSince, LEFT_TO_CATCH_UP, noteTotals, TickFrames } from './writes/tick-frames.ts'

export interface MarketStreamOptions {
  readonly replica: Replica
  readonly clock: Clock
  /** Called when the market has work for the end of the tick. */
  readonly onDirty: (market: MarketStream) => void
  /** Called when the market begins to need the ends of intervals. */
  readonly onGridUse: () => void
  readonly requestCommit: () => boolean
  /** Signs receipts for the extended protocol's heartbeats. Absent: there are none. */
  readonly receipts?: ReceiptSigner | undefined
  /** Seconds without a live source after which subscribers are closed; 0 = never. */
  readonly closeStaleSeconds: number
  /** Called with the subscriptions to close. */
  readonly onStaleTooLong: (subscriptions: readonly MarketSubscription[]) => void
}

/** STARTING: no book yet; LIVE: a source is live; STALE: there was a book, no source is live. */
export const MARKET_STATES = ['LIVE', 'STALE', 'STARTING'] as const

export type MarketState = (typeof MARKET_STATES)[number]

/** How far a subscription to this market has been sent. */
export interface SentMarket {
  readonly market: string
  /** Whether catch-up owes it something. */
  readonly isLagging: boolean
  /** The last book sent. Undefined before the first one, and without market_data. */
  readonly version: number | undefined
  readonly currentVersion: number
  readonly digest: SentDigest | undefined
}

export class MarketStream {
  readonly replica: Replica
  /** In wire order: a commit's messages, and a catch-up's. */
  readonly channels: readonly MarketChannel[]
  /** The channels that receive commits: the book's, which relays read too, and each that has had a subscription. */
  #fed: readonly MarketChannel[]
  readonly book: BookChannel
  readonly #publication: PublicationChannel
  readonly #options: MarketStreamOptions
  readonly #subscriptions: MarketSubscription[] = []
  readonly #subscriptionCounts: [base: number, extended: number] = [0, 0]
  readonly #waiting = new Set<MarketSubscription>()
  readonly #throttle = new Throttle()
  readonly #tick: TickFrames
  #isDirty = false
  #staleTimer: Timer | undefined
  #state: MarketState
  #stateSinceMilliseconds: number
  readonly #endListening: () => void

  constructor(options: MarketStreamOptions) {
    const { replica, clock, requestCommit, receipts } = options
    this.#options = options
    this.replica = replica
    this.book = new BookChannel({ replica, clock, place: 1, requestCommit, receipts })
    this.#publication = new PublicationChannel(replica, this.book.published, 3)
    this.channels = [new ExecutionChannel(replica, 0), this.book, new TopChannel(replica, 2), this.#publication]
    this.#tick = new TickFrames(this.channels)
    this.#fed = [this.book]
    this.#state = stateOf(replica)
    this.#stateSinceMilliseconds = clock.wallInstant().milliseconds
    this.#endListening = replica.listen({
      onCommit: (commit) => this.#onCommit(commit),
      onStatus: (live) => this.#onStatus(live),
    })
  }

  get symbol(): string {
    return this.replica.market.symbol
  }

  get state(): MarketState {
    return this.#state
  }

  /** When the state changed last, or the market was added: wall clock, milliseconds. */
  get stateSinceMilliseconds(): number {
    return this.#stateSinceMilliseconds
  }

  get subscriptions(): readonly MarketSubscription[] {
    return this.#subscriptions
  }

  /** Client connections with a subscription to any channel. */
  get clientCount(): number {
    return this.#subscriptions.filter(({ subscriber }) => subscriber.isClient).length
  }

  get usesGrid(): boolean {
    return !this.#throttle.isEmpty || this.book.makesReceipts
  }

  createSubscription(subscriber: Subscriber, encoding: Encoding): MarketSubscription {
    return newSubscription(subscriber, encoding, this.book.published, this.channels.length)
  }

  channelOf(type: ChannelType): MarketChannel {
    return this.channels.find((channel) => channel.type === type) as MarketChannel
  }

  /** Adds a channel to a subscription. Returns whether it continues from the cursor in `params.resume`. */
  subscribe(subscription: MarketSubscription, channel: MarketChannel, params: ChannelParams): boolean {
    this.#feed(channel)
    const usage = subscription.subscriber.usage.of(this.symbol, channel.type)
    const state = { position: NONE, cursor: NONE, isDue: true, usage, countedMessages: 0, countedBytes: 0 }
    const resumes = channel.subscribe(subscription, state, params)
    subscription.states[channel.place] = state
    subscription.channels |= channel.bit
    if (subscription.place === -1) {
      subscription.place = this.#subscriptions.push(subscription) - 1
      this.#subscriptionCounts[subscription.encoding] += 1
    }
    this.#throttleTo(subscription, channel, params.intervalMilliseconds)
    return resumes
  }

  /** Serves a subscribed channel at another depth or interval from now on. Catch-up then leads the client there. */
  changeParams(subscription: MarketSubscription, channel: MarketChannel, params: ChannelParams): void {
    this.settle(subscription)
    const state = subscription.states[channel.place] as ChannelState
    if ((subscription.throttled & channel.bit) !== 0) this.#throttle.remove(subscription, channel)
    subscription.throttled &= ~channel.bit
    if (params.depth !== undefined) channel.changeDepth?.(subscription, state, params.depth)
    this.#throttleTo(subscription, channel, params.intervalMilliseconds)
    state.isDue = true
  }

  /** Removes a channel from a subscription, which is kept without channels until it is removed. */
  unsubscribe(subscription: MarketSubscription, channel: MarketChannel): void {
    this.settle(subscription)
    if ((subscription.throttled & channel.bit) !== 0) this.#throttle.remove(subscription, channel)
    subscription.channels &= ~channel.bit
    subscription.delivered &= ~channel.bit
    subscription.throttled &= ~channel.bit
    channel.unsubscribe(subscription, subscription.states[channel.place] as ChannelState)
    if (subscription.channels === 0) this.#remove(subscription)
  }

  /** Removes all channels from a subscription. */
  end(subscription: MarketSubscription): void {
    for (const channel of this.channels) {
      if ((subscription.channels & channel.bit) !== 0) this.unsubscribe(subscription, channel)
    }
  }

  /**
   * Leaves the subscription to catch-up again after the next commit or finished SNAPSHOT, or when the market is live.
   */
  wait(subscription: MarketSubscription): void {
    this.#waiting.add(subscription)
  }

  /**
   * Hands the tick's chunks to all current subscriptions. Adds the outboxes that have to be flushed. Returns whether
   * there were any chunks.
   */
  fanOut(outboxes: Outbox[]): boolean {
    let isHanded = false
    // Nearly all subscriptions share the preceding one's view, so its chunks are looked up once.
    let view: ViewFeed | undefined
    let chunks: (Chunk | undefined)[] = []
    for (const subscription of this.#subscriptions) {
      const { outbox } = subscription
      // A blocked outbox has a later generation than every subscription.
      if (subscription.generation !== outbox.generation) {
        if (subscription.isAligned) this.settle(subscription)
        continue
      }
      if (subscription.view !== view) {
        view = subscription.view
        chunks = this.#tick.chunksOf(view)
      }
      const bits = subscription.delivered & ~subscription.throttled
      const place = 2 * bits + subscription.encoding
      let chunk = chunks[place]
      if (chunk === undefined) {
        chunk = this.#tick.join(view, subscription.encoding, bits)
        chunks[place] = chunk
      }
      if (chunk === LEFT_TO_CATCH_UP || !(subscription.isAligned || this.#advance(subscription, bits))) {
        this.settle(subscription)
        subscription.subscriber.owe(subscription)
      } else if (chunk.messageCount > 0) {
        isHanded = true
        if (outbox.add(chunk)) outboxes.push(outbox)
      }
    }
    this.#tick.end()
    for (const channel of this.#fed) channel.endTick()
    this.#isDirty = false
    this.#wakeWaiting()
    return isHanded
  }

  /** Sends the changes in these intervals (milliseconds) to the subscriptions throttled to them. */
  fanOutThrottled(intervals: ReadonlySet<number>, outboxes: Outbox[]): void {
    this.#throttle.fanOut(intervals, this.channels, outboxes)
  }

  endSecond(): void {
    this.book.endSecond()
  }

  /** Sets an aligned subscription's states. It is not aligned until the next fan-out. */
  settle(subscription: MarketSubscription): void {
    if (!subscription.isAligned) return
    this.count(subscription)
    subscription.isAligned = false
    const bits = subscription.delivered & ~subscription.throttled
    for (const channel of this.channels) {
      if ((bits & channel.bit) !== 0) channel.settle(subscription, subscription.states[channel.place] as ChannelState)
    }
  }

  /** Counts what an aligned subscription was sent, up to the last fan-out. */
  count(subscription: MarketSubscription): void {
    if (!subscription.isAligned) return
    const bits = subscription.delivered & ~subscription.throttled
    for (const channel of this.channels) {
      if ((bits & channel.bit) === 0) continue
      countSince(subscription.states[channel.place] as ChannelState, channel.fannedOut(subscription))
    }
  }

  /** True while a SNAPSHOT, a digest or a receipt is unfinished: `work` is then to be called once per tick. */
  get isWorking(): boolean {
    return this.book.isWorking
  }

  /** Continues until `untilMilliseconds` on the monotonic clock. */
  work(untilMilliseconds: number): void {
    this.book.work(untilMilliseconds)
    if (!this.book.isWorking) this.#wakeWaiting()
  }

  /** A subscribed book's status in this extended-protocol heartbeat. Undefined while its digest is not known. */
  bookStatus(subscription: MarketSubscription, nowMilliseconds: number): string | undefined {
    const isCurrent = subscription.generation === subscription.outbox.generation
    if (!isCurrent || (subscription.delivered & this.book.bit) === 0) return undefined
    this.settle(subscription)
    const state = subscription.states[this.book.place] as ChannelState
    return this.book.statusText(subscription, state, this.#stateSinceMilliseconds, nowMilliseconds)
  }

  /** What a subscription has been sent, for the operator. */
  observe(subscription: MarketSubscription): SentMarket {
    this.settle(subscription)
    const { generation, outbox, channels, states, sentDigest } = subscription
    const hasBook = (channels & this.book.bit) !== 0
    const position = hasBook ? (states[this.book.place] as ChannelState).position : NONE
    return {
      market: this.symbol,
      isLagging: generation !== outbox.generation,
      version: position === NONE ? undefined : position,
      currentVersion: this.replica.version,
      digest: sentDigest,
    }
  }

  stop(): void {
    this.#endListening()
    this.book.stop()
    this.#staleTimer?.cancel()
  }

  #throttleTo(subscription: MarketSubscription, channel: MarketChannel, intervalMilliseconds = 0): void {
    if (intervalMilliseconds > 0) {
      subscription.throttled |= channel.bit
      this.#throttle.add(subscription, channel, intervalMilliseconds)
    }
    if (this.usesGrid) this.#options.onGridUse()
  }

  /** A channel without a commit so far begins with the present state. */
  #feed(channel: MarketChannel): void {
    if (this.#fed.includes(channel)) return
    channel.endTick()
    this.#fed = this.channels.filter((each) => each === channel || this.#fed.includes(each))
  }

  #remove(subscription: MarketSubscription): void {
    this.#waiting.delete(subscription)
    this.#subscriptionCounts[subscription.encoding] -= 1
    const last = this.#subscriptions.pop() as MarketSubscription
    if (last !== subscription) {
      this.#subscriptions[subscription.place] = last
      last.place = subscription.place
    }
    subscription.place = -1
  }

  /** Whether the tick's frames come next for these channels of a subscription; if so, notes them as sent. */
  #advance(subscription: MarketSubscription, bits: number): boolean {
    const { states } = subscription
    const channels = this.channels.filter(({ bit }) => (bits & bit) !== 0)
    const state = ({ place }: MarketChannel) => states[place] as ChannelState
    if (!channels.every((channel) => channel.continues(subscription, state(channel)))) return false
    for (const channel of channels) channel.advance(subscription, state(channel))
    subscription.isAligned = channels.every((channel) => channel.isAligned(subscription, state(channel)))
    // Before this tick is added to the totals, so that their difference includes it.
    if (!subscription.isAligned) this.#tick.countFor(subscription, bits)
    else for (const channel of channels) noteTotals(state(channel), channel.fannedOut(subscription))
    return true
  }

  #wakeWaiting(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const subscription of waiting) subscription.subscriber.owe(subscription)
  }

  #onCommit(commit: ViewCommit): void {
    const [base, extended] = this.#subscriptionCounts
    const hasSubscribers = [base > 0, extended > 0] as const
    for (const channel of this.#fed) channel.encodeCommit(commit, hasSubscribers, this.#tick.frames)
    this.#markDirty()
  }

  #onStatus(live: boolean): void {
    const state = stateOf(this.replica)
    if (state !== this.#state) this.#stateSinceMilliseconds = this.#options.clock.wallInstant().milliseconds
    this.#state = state
    if (live) {
      this.#staleTimer?.cancel()
      this.#staleTimer = undefined
      this.#markDirty()
      return
    }
    // Relays are notified at once.
    if (this.#publication.hasSubscribers) this.#markDirty()
    if (this.#staleTimer === undefined && this.#options.closeStaleSeconds > 0 && this.replica.hasBook) {
      this.#closeStaleLater()
    }
  }

  /** Once per stale period: a client that reconnects while the market is stale holds no old data and may wait. */
  #closeStaleLater(): void {
    const { clock, closeStaleSeconds, onStaleTooLong } = this.#options
    this.#staleTimer = clock.schedule(closeStaleSeconds * 1000, () => onStaleTooLong([...this.#subscriptions]))
  }

  #markDirty(): void {
    if (this.#isDirty) return
    this.#isDirty = true
    this.#options.onDirty(this)
  }
}

function stateOf({ live, hasBook }: Replica): MarketState {
  if (live) return 'LIVE'
  return hasBook ? 'STALE' : 'STARTING'
}
