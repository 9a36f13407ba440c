/**
 * The market subscriptions of one connection, and the catch-up that leads each stale one to the version that stands
 * between two turns. Per market it sends, in this order: the executions missed (in slices, the book waits for them),
 * one merged UPDATE or a SNAPSHOT, the newest top. It stops as soon as the outbox blocks and goes on where it stopped,
 * so that no market starves behind another. It never skips an execution: what is lost for good ends the connection.
 */
import type { Clock } from '../base/clock.ts'
import type { MarketChannel } from './market-channel.ts'
import type { Outbox } from './outbox.ts'
import { BOOK, type ChannelReader, EXECUTIONS, type MarketSubscription, TOP } from './subscription.ts'

/** Missed executions are handed over in slices of about this size, so that a slow socket is asked in between. */
const EXECUTION_SLICE_BYTES = 32_768

/** Subscriptions looked at between two looks at the clock. */
const CLOCK_STRIDE = 16

interface ReaderSubscription extends MarketSubscription {
  readonly channel: MarketChannel
}

/** Outcome of leading one subscription: `blocked` = the outbox takes no more, go on when it does. */
type Led = 'led' | 'blocked'

export interface ReaderOptions {
  readonly outbox: Outbox
  readonly clock: Clock
  /** Asks for an empty commit, so that a SNAPSHOT can be later than what was sent; false when nobody can make one. */
  readonly requestCommit: (market: string) => boolean
  /** Counts an UPDATE that merges what a reader missed. */
  readonly onMerged: () => void
  /** The reader has something stale and wants `catchUp` to be called. */
  readonly onStale: () => void
  readonly onExecutionGap: () => void
}

export class Reader implements ChannelReader {
  readonly outbox: Outbox
  readonly #options: ReaderOptions
  readonly #byMarket = new Map<string, ReaderSubscription>()
  #active: ReaderSubscription[] = []
  #generation = 1
  /** Where catch-up goes on, and how many subscriptions it has not looked at since something became stale. */
  #cursor = 0
  #unseen = 0
  #ended = false

  constructor(options: ReaderOptions) {
    this.outbox = options.outbox
    this.#options = options
  }

  get generation(): number {
    return this.#generation
  }

  /** Subscribes one channel of a market: it is owed its first message. False when it is subscribed already. */
  subscribe(channel: MarketChannel, bit: number): boolean {
    let subscription = this.#byMarket.get(channel.symbol)
    if (subscription === undefined) {
      subscription = {
        reader: this,
        channel,
        channels: 0,
        delivered: 0,
        generation: 0,
        bookVersion: 0,
        laterThan: 0,
        topNumber: -1,
        executionNumber: 0,
        position: -1,
      }
      this.#byMarket.set(channel.symbol, subscription)
    }
    if ((subscription.channels & bit) !== 0) return false
    channel.add(subscription)
    if (subscription.channels === 0) this.#active.push(subscription)
    subscription.channels |= bit
    if (bit === BOOK) {
      subscription.bookVersion = 0
      // Tops and executions were sent up to the version now: a SNAPSHOT from before them would be a step back.
      if (subscription.delivered !== 0) this.#demandLater(subscription, channel.replica.version - 1)
    }
    if (bit === TOP) subscription.topNumber = -1
    if (bit === EXECUTIONS) subscription.executionNumber = channel.replica.executions.lastNumber
    this.makeStale(subscription)
    return true
  }

  /** Ends one channel of a market at once. False when it is not subscribed. */
  unsubscribe(market: string, bit: number): boolean {
    const subscription = this.#byMarket.get(market)
    if (subscription === undefined || (subscription.channels & bit) === 0) return false
    subscription.channels &= ~bit
    subscription.delivered &= ~bit
    this.#demandLater(subscription, bit === BOOK ? subscription.bookVersion : subscription.channel.replica.version - 1)
    if (bit === BOOK) subscription.bookVersion = 0
    if (subscription.channels === 0) {
      subscription.channel.remove(subscription)
      this.#active = this.#active.filter((other) => other !== subscription)
      this.#cursor = 0
      this.#unseen = this.#active.length
    }
    return true
  }

  makeStale(subscription: MarketSubscription): void {
    if (this.#ended) return
    subscription.generation = 0
    this.#unseen = this.#active.length
    this.#options.onStale()
  }

  /** Everything is stale from now on: the outbox has blocked, so what happens next is not sent. */
  makeAllStale(): void {
    this.#generation += 1
    this.#unseen = this.#active.length
  }

  /** Leads what is stale up to now, until `untilMilliseconds` of the monotonic clock. True when more is left to do. */
  catchUp(untilMilliseconds: number): boolean {
    for (let seen = 1; this.#unseen > 0 && !this.outbox.isBlocked && !this.#ended; seen++) {
      const subscription = this.#active[this.#cursor % this.#active.length] as ReaderSubscription
      const led = subscription.generation === this.#generation ? 'led' : this.#lead(subscription)
      if (this.#ended) return false
      this.#cursor = (this.#cursor + 1) % this.#active.length
      // Blocking made everything stale again; the next market comes first when it goes on.
      if (led === 'blocked') return false
      this.#unseen -= 1
      if (seen % CLOCK_STRIDE === 0 && this.#options.clock.monotonicMilliseconds() >= untilMilliseconds) break
    }
    return this.#unseen > 0 && !this.outbox.isBlocked && !this.#ended
  }

  end(): void {
    this.#ended = true
    for (const subscription of this.#active) subscription.channel.remove(subscription)
    this.#active = []
    this.#unseen = 0
  }

  #demandLater(subscription: ReaderSubscription, version: number): void {
    subscription.laterThan = Math.max(subscription.laterThan, version)
  }

  #lead(subscription: ReaderSubscription): Led {
    const { channels } = subscription
    let delivered = channels & EXECUTIONS
    if (delivered !== 0 && this.#leadExecutions(subscription) === 'blocked') return 'blocked'
    if ((channels & (BOOK | TOP)) !== 0) {
      const bookReady = this.#leadBook(subscription)
      if (bookReady === 'blocked') return 'blocked'
      if (bookReady === 'led') {
        if ((channels & TOP) !== 0 && this.#leadTop(subscription) === 'blocked') return 'blocked'
        delivered |= channels & (BOOK | TOP)
      } else {
        subscription.channel.wait(subscription)
      }
    }
    subscription.delivered = delivered
    subscription.generation = this.#generation
    return 'led'
  }

  #leadExecutions(subscription: ReaderSubscription): Led {
    const { executions } = subscription.channel.replica
    while (subscription.executionNumber < executions.lastNumber) {
      if (this.outbox.isBlocked) return 'blocked'
      if (subscription.executionNumber + 1 < executions.firstNumber) {
        this.#options.onExecutionGap()
        return 'blocked'
      }
      const frames: Buffer[] = []
      let bytes = 0
      while (subscription.executionNumber < executions.lastNumber && bytes < EXECUTION_SLICE_BYTES) {
        const frame = executions.frame(++subscription.executionNumber)
        frames.push(frame)
        bytes += frame.length
      }
      this.outbox.sendChunk({ frames: Buffer.concat(frames), messageCount: frames.length })
    }
    return this.outbox.isBlocked ? 'blocked' : 'led'
  }

  /** `waiting`: the market has no book yet, or its snapshot is still being made. */
  #leadBook(subscription: ReaderSubscription): Led | 'waiting' {
    const { replica, catchUp } = subscription.channel
    if (!replica.hasBook || !replica.isSound) return 'waiting'
    if ((subscription.channels & BOOK) === 0) return 'led'
    if (subscription.bookVersion !== 0) {
      const led = this.#leadByUpdate(subscription)
      if (led !== 'too-old') return led
      subscription.laterThan = subscription.bookVersion
      subscription.bookVersion = 0
    }
    if (replica.version <= subscription.laterThan) {
      if (this.#options.requestCommit(replica.market.symbol)) return 'waiting'
      // Nobody can make a later commit: the same book again, under the time it has, is better than none.
      subscription.laterThan = replica.version - 1
    }
    const snapshot = catchUp.snapshot(subscription.laterThan)
    if (snapshot === undefined) return 'waiting'
    subscription.bookVersion = snapshot.version
    this.outbox.send(snapshot.message)
    if (this.outbox.isBlocked) return 'blocked'
    const led = this.#leadByUpdate(subscription)
    return led === 'too-old' ? 'waiting' : led
  }

  #leadByUpdate(subscription: ReaderSubscription): Led | 'too-old' {
    const { replica, catchUp } = subscription.channel
    if (subscription.bookVersion === replica.version) return 'led'
    const merged = catchUp.merged(subscription.bookVersion)
    if (merged === 'too-old') return 'too-old'
    subscription.bookVersion = replica.version
    if (merged === 'nothing') return 'led'
    this.#options.onMerged()
    this.outbox.send(merged.message)
    return this.outbox.isBlocked ? 'blocked' : 'led'
  }

  #leadTop(subscription: ReaderSubscription): Led {
    const { replica, catchUp } = subscription.channel
    if (subscription.topNumber === replica.topNumber) return 'led'
    subscription.topNumber = replica.topNumber
    this.outbox.send(catchUp.top())
    return this.outbox.isBlocked ? 'blocked' : 'led'
  }
}
