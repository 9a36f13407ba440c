/**
 * The market subscriptions of one connection, and the catch-up that leads each stale one to the version that stands
 * between two turns. Per market it sends, in this order: the executions missed (in slices, the book waits for them),
 * one merged UPDATE or a SNAPSHOT, the newest top. It stops as soon as the outbox blocks and goes on where it stopped,
 * so that no market starves behind another. It never skips an execution: what is lost for good, here or at the source, ends
 * the connection at once, with what it was still owed from before.
 */
import type { Clock } from '../base/clock.ts'
import type { ExtendedMarket } from './extended-market.ts'
import type { MarketChannel } from './market-channel.ts'
import type { Outbox } from './outbox.ts'
import { BOOK, type ChannelReader, EXECUTIONS, type MarketSubscription, TOP, type Wishes } from './subscription.ts'

/** Missed executions are handed over in slices of about this size, so that a slow socket is asked in between. */
const EXECUTION_SLICE_BYTES = 32_768

/** Subscriptions looked at between two looks at the clock. */
const CLOCK_STRIDE = 16

interface ReaderSubscription extends MarketSubscription {
  readonly channel: MarketChannel
}

/** Outcome of leading one subscription: `blocked` = the outbox takes no more, go on when it does. */
type Led = 'led' | 'blocked'

/** What all readers share. */
export interface ReaderHost {
  readonly clock: Clock
  /** Asks for an empty commit, so that a SNAPSHOT can be later than what was sent; false when nobody can make one. */
  requestCommit(market: string): boolean
  /** Counts an UPDATE that merges what a reader missed. */
  countMerged(): void
}

/** The connection of one reader. */
export interface ReaderOwner {
  /** The reader has something stale and wants `catchUp` to be called. */
  onStale(): void
  /** Executions that are owed cannot be given any more: they have left the log, or the source itself missed some. */
  close(cause: 'executionGap' | 'executionsMissed'): void
}

export interface ReaderOptions {
  readonly host: ReaderHost
  readonly owner: ReaderOwner
  readonly outbox: Outbox
  /** Whether it reads the extended wire. */
  readonly isExtended: boolean
}

export class Reader implements ChannelReader {
  readonly outbox: Outbox
  readonly #host: ReaderHost
  readonly #owner: ReaderOwner
  readonly #isExtended: boolean
  /** Made with the first subscription: many connections read no market for long. */
  #byMarket: Map<string, ReaderSubscription> | undefined
  #active: ReaderSubscription[] = []
  #generation = 1
  /** Where catch-up goes on, and how many subscriptions it has not looked at since something became stale. */
  #cursor = 0
  #unseen = 0
  #ended = false

  constructor({ host, owner, outbox, isExtended }: ReaderOptions) {
    this.outbox = outbox
    this.#host = host
    this.#owner = owner
    this.#isExtended = isExtended
  }

  get generation(): number {
    return this.#generation
  }

  /**
   * Subscribes one channel of a market: it is owed its first message. Returns whether it goes on from the cursor that
   * was wished for. Nothing happens when it is subscribed already.
   */
  subscribe(channel: MarketChannel, bit: number, wishes: Wishes = {}): boolean {
    this.#byMarket ??= new Map()
    let subscription = this.#byMarket.get(channel.symbol)
    if (subscription === undefined) {
      subscription = {
        reader: this,
        channel,
        extended: this.#isExtended ? channel.extended.createState() : undefined,
        channels: 0,
        delivered: 0,
        generation: 0,
        bookVersion: 0,
        holdsBook: false,
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
    const resumed = extendedMarket(subscription)?.subscribe(subscription, bit, wishes) === true
    if (bit === BOOK) subscription.holdsBook = resumed
    this.makeStale(subscription)
    return resumed
  }

  /** Ends one channel of a market at once. False when it is not subscribed. */
  unsubscribe(market: string, bit: number): boolean {
    const subscription = this.#byMarket?.get(market)
    if (subscription === undefined || (subscription.channels & bit) === 0) return false
    subscription.channels &= ~bit
    subscription.delivered &= ~bit
    this.#demandLater(subscription, bit === BOOK ? subscription.bookVersion : subscription.channel.replica.version - 1)
    if (bit === BOOK) {
      subscription.bookVersion = 0
      subscription.holdsBook = false
    }
    extendedMarket(subscription)?.unsubscribe(subscription, bit)
    if (subscription.channels === 0) {
      this.#deactivate(subscription)
    }
    return true
  }

  /** Ends every channel of a market, and what is remembered of it: if it ever comes back, it begins anew. */
  forget(market: string): void {
    const subscription = this.#byMarket?.get(market)
    if (subscription === undefined) return
    this.#byMarket?.delete(market)
    if (subscription.channels !== 0) this.#deactivate(subscription)
  }

  /** With the extended protocol: what a heartbeat reports of the books that are current. */
  bookStatuses(): string[] {
    const texts: string[] = []
    for (const { extended, generation, delivered, bookVersion, channel } of this.#active) {
      if (generation !== this.#generation || (delivered & BOOK) === 0 || extended?.bookCursor === 0) continue
      const text = extended?.view?.statusText(bookVersion, extended.bookCursor, channel.stateSinceMilliseconds)
      if (text !== undefined) texts.push(text)
    }
    return texts
  }

  makeStale(subscription: MarketSubscription): void {
    if (this.#ended) return
    subscription.generation = 0
    this.#unseen = this.#active.length
    this.#owner.onStale()
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
      if (seen % CLOCK_STRIDE === 0 && this.#host.clock.monotonicMilliseconds() >= untilMilliseconds) break
    }
    return this.#unseen > 0 && !this.outbox.isBlocked && !this.#ended
  }

  end(): void {
    this.#ended = true
    for (const subscription of this.#active) subscription.channel.remove(subscription)
    this.#active = []
    this.#unseen = 0
  }

  #deactivate(subscription: ReaderSubscription): void {
    subscription.channel.remove(subscription)
    this.#active = this.#active.filter((other) => other !== subscription)
    this.#cursor = 0
    this.#unseen = this.#active.length
  }

  #demandLater(subscription: ReaderSubscription, version: number): void {
    subscription.laterThan = Math.max(subscription.laterThan, version)
  }

  #lead(subscription: ReaderSubscription): Led {
    const { channels } = subscription
    let delivered = channels & EXECUTIONS
    if (delivered !== 0 && this.#leadExecutions(subscription) === 'blocked') return 'blocked'
    const book = (channels & BOOK) === 0 ? 'led' : this.#leadBook(subscription)
    if (book === 'blocked') return 'blocked'
    if (book === 'led') delivered |= channels & BOOK
    const top = (channels & TOP) === 0 ? 'led' : this.#leadTop(subscription, book)
    if (top === 'blocked') return 'blocked'
    if (top === 'led') delivered |= channels & TOP
    if (book === 'waiting' || top === 'waiting') subscription.channel.wait(subscription)
    subscription.delivered = delivered
    subscription.generation = this.#generation
    return 'led'
  }

  #leadExecutions(subscription: ReaderSubscription): Led {
    const { executions } = subscription.channel.replica
    const extended = extendedMarket(subscription)
    while (subscription.executionNumber < executions.lastNumber) {
      if (this.outbox.isBlocked) return 'blocked'
      if (subscription.executionNumber + 1 < executions.firstNumber) {
        const isMissed = subscription.executionNumber < executions.holeNumber
        this.#owner.close(isMissed ? 'executionsMissed' : 'executionGap')
        return 'blocked'
      }
      const frames: Buffer[] = []
      let bytes = 0
      while (subscription.executionNumber < executions.lastNumber && bytes < EXECUTION_SLICE_BYTES) {
        const number = ++subscription.executionNumber
        const frame = extended?.executionFrame(subscription, number) ?? executions.frame(number)
        frames.push(frame)
        bytes += frame.length
      }
      this.outbox.sendChunk({ frames: Buffer.concat(frames), messageCount: frames.length })
    }
    return this.outbox.isBlocked ? 'blocked' : 'led'
  }

  /** `waiting`: the market is not live, or its snapshot is still being made. */
  #leadBook(subscription: ReaderSubscription): Led | 'waiting' {
    const extended = extendedMarket(subscription)
    const { replica } = subscription.channel
    if (!replica.isSound) return 'waiting'
    if (subscription.bookVersion !== 0) {
      if (!isDue(subscription, BOOK)) return 'led'
      const led = this.#leadByUpdate(subscription)
      if (led !== 'too-old') return led
      subscription.laterThan = subscription.bookVersion
      subscription.bookVersion = 0
    }
    // Without a trusted source there is no SNAPSHOT, but one: it takes away a book that no UPDATE can withdraw.
    if (!replica.live && !(replica.isWithdrawn && subscription.holdsBook)) return 'waiting'
    if (replica.version <= subscription.laterThan) {
      if (this.#host.requestCommit(replica.market.symbol)) return 'waiting'
      // Nobody can make a later commit: the same book again, under the time it has, is better than none.
      subscription.laterThan = replica.version - 1
    }
    const catchUp = extended?.catchUp(subscription) ?? subscription.channel.catchUp
    const snapshot = catchUp.snapshot(subscription.laterThan)
    if (snapshot === undefined) return 'waiting'
    subscription.bookVersion = snapshot.version
    subscription.holdsBook = true
    this.outbox.send(extended?.snapshot(subscription, snapshot) ?? snapshot.message)
    if (this.outbox.isBlocked) return 'blocked'
    const led = this.#leadByUpdate(subscription)
    return led === 'too-old' ? 'waiting' : led
  }

  #leadByUpdate(subscription: ReaderSubscription): Led | 'waiting' | 'too-old' {
    const extended = extendedMarket(subscription)
    const { replica, catchUp } = subscription.channel
    if (subscription.bookVersion === replica.version) {
      noLongerDue(subscription, BOOK)
      return 'led'
    }
    const merged = extended?.merged(subscription) ?? catchUp.merged(subscription.bookVersion)
    if (merged === 'too-old') return 'too-old'
    // Only who resumes can hold less than this connection was sent before; the UPDATE has to be later than that too.
    const mustBeLater = merged !== 'nothing' && replica.version <= subscription.laterThan
    if (mustBeLater && this.#host.requestCommit(replica.market.symbol)) return 'waiting'
    noLongerDue(subscription, BOOK)
    subscription.bookVersion = replica.version
    if (merged === 'nothing') return 'led'
    extended?.noteMerged(subscription)
    this.#host.countMerged()
    this.outbox.send(merged.message)
    return this.outbox.isBlocked ? 'blocked' : 'led'
  }

  /** `waiting`: the first one waits as a SNAPSHOT does; later ones wait for the book, unless it waits for a source. */
  #leadTop(subscription: ReaderSubscription, book: 'led' | 'waiting'): Led | 'waiting' {
    const { replica, catchUp } = subscription.channel
    if (!replica.isSound) return 'waiting'
    const isFirst = subscription.topNumber === -1
    if (isFirst && !replica.live) return 'waiting'
    if (book === 'waiting' && (isFirst || replica.live || subscription.bookVersion !== 0)) return 'waiting'
    if (!isDue(subscription, TOP) && !isFirst) return 'led'
    noLongerDue(subscription, TOP)
    if (subscription.topNumber === replica.topNumber) return 'led'
    const message = extendedMarket(subscription)?.top(subscription) ?? catchUp.top()
    subscription.topNumber = replica.topNumber
    this.outbox.send(message)
    return this.outbox.isBlocked ? 'blocked' : 'led'
  }
}

/** The market as its extended wire, for a subscription of that. */
function extendedMarket({ channel, extended }: ReaderSubscription): ExtendedMarket | undefined {
  return extended === undefined ? undefined : channel.extended
}

/** Whether a channel may be led now: always, unless it is paced and no tick has made it due. */
function isDue({ extended }: MarketSubscription, bit: number): boolean {
  return extended === undefined || (extended.paced & bit) === 0 || (extended.due & bit) !== 0
}

function noLongerDue({ extended }: MarketSubscription, bit: number): void {
  if (extended !== undefined) extended.due &= ~bit
}
