/**
 * One market's market_data: its views, by subscribed depth and attribution, and their delivery. A new subscriber gets a
 * SNAPSHOT, and a current one each commit's UPDATE. A lagging or throttled one gets a single conflated UPDATE, or a
 * SNAPSHOT where the view's journal no longer reaches back. Each book is later than anything the connection was sent
 * before, unless the market has no sequencer that could commit again.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { LevelChange } from '../market/event.ts'
import { BASE, type Encoding, type FrameCount } from '../sequencing/frame.ts'
import type { ReceiptSigner } from '../sequencing/receipt-signer.ts'
import type { Replica, ViewCommit } from '../sequencing/replica.ts'
import { NONE, ViewFeed } from '../sequencing/view-feed.ts'
import { Chunk } from './outbox.ts'
import {
  type CaughtUp,
  type ChannelParams,
  type ChannelState,
  isDue,
  type MarketChannel,
  type MarketSubscription,
  type ThrottleGroup,
  type TickFrame,
} from './subscription.ts'

/** How long a view without subscribers is kept, so that a client that reconnects can resume. */
const VIEW_LINGER_MILLISECONDS = 60_000

/** A view with subscribers, now or a short time ago. */
interface OpenFeed {
  readonly feed: ViewFeed
  /** Levels per side; 0 = all. */
  readonly depth: number
  /** Whether its levels name their venues. */
  readonly isAttributed: boolean
  lingerTimer?: Timer | undefined
}

export interface BookChannelOptions {
  readonly replica: Replica
  readonly clock: Clock
  readonly place: number
  /**
   * Requests an empty commit, so that a SNAPSHOT can be later than earlier messages. Returns false when there is no
   * sequencer.
   */
  readonly requestCommit: () => boolean
  /** Signs receipts for the extended protocol's heartbeats. Undefined: there are none. */
  readonly receipts: ReceiptSigner | undefined
}

export class BookChannel implements MarketChannel {
  readonly type = 'market_data'
  readonly bit: number
  readonly place: number
  /** The published depth's view. */
  readonly published: ViewFeed
  readonly #options: BookChannelOptions
  readonly #replica: Replica
  /** By depth. */
  readonly #views: Map<number, OpenFeed>
  /** Those whose levels name their venues, by depth. */
  readonly #attributed = new Map<number, OpenFeed>()
  /** All views. */
  #all: readonly OpenFeed[]
  /** The replica's version at the last fan-out. */
  #fannedOutVersion: number

  constructor(options: BookChannelOptions) {
    const { replica, clock, place, receipts } = options
    this.#options = options
    this.#replica = replica
    this.place = place
    this.bit = 1 << place
    this.#fannedOutVersion = replica.version
    this.published = new ViewFeed({ replica, view: replica.view, clock, signer: receipts })
    const published: OpenFeed = { feed: this.published, depth: replica.market.depth, isAttributed: false }
    this.#views = new Map([[published.depth, published]])
    this.#all = [published]
  }

  subscribe(
    subscription: MarketSubscription,
    state: ChannelState,
    { depth, attribution, resume }: ChannelParams,
  ): boolean {
    // Tops and executions were sent up to the current version: an earlier SNAPSHOT would go back in time.
    if (subscription.delivered !== 0) this.#demandLater(subscription, this.#replica.version - 1)
    const view = this.#open(depth ?? this.#replica.market.depth, attribution === true).feed
    const version = resume === undefined ? undefined : view.resumable(resume)
    view.join(subscription.encoding)
    subscription.view = view
    state.position = version ?? NONE
    state.cursor = version ?? NONE
    subscription.receiptsFrom = version
    subscription.resumedFrom = version ?? 0
    subscription.holdsBook = version !== undefined
    return version !== undefined
  }

  unsubscribe(subscription: MarketSubscription, state: ChannelState): void {
    this.#demandLater(subscription, state.position)
    subscription.holdsBook = false
    subscription.heldView = undefined
    subscription.sentDigest = undefined
    subscription.view.leave(subscription.encoding)
    const left = this.#all.find(({ feed }) => feed === subscription.view)
    if (left !== undefined) this.#lingerIfUnused(left)
    subscription.view = this.published
  }

  /** The view with this depth, for a reader without a subscription. It follows the book for a minute from now on. */
  viewFor(depth: number): ViewFeed {
    const open = this.#open(depth, false)
    this.#lingerIfUnused(open)
    return open.feed
  }

  changeDepth(subscription: MarketSubscription, state: ChannelState, depth: number): void {
    const { view: before, heldView = before, encoding } = subscription
    const left = this.#all.find(({ feed }) => feed === before) as OpenFeed
    if (left.depth === depth) return
    const { feed: view } = this.#open(depth, left.isAttributed)
    view.join(encoding)
    before.leave(encoding)
    this.#lingerIfUnused(left)
    subscription.view = view
    subscription.sentDigest = undefined
    const isHeld = state.position !== NONE && heldView !== view
    subscription.heldView = isHeld ? heldView : undefined
    // The client may be given its old depth again before it holds another book.
    if (state.position === NONE) {
      subscription.receiptsFrom = undefined
      // A book that is too old has a cursor of the view before.
      state.cursor = NONE
    }
    if (isHeld) this.#demandLater(subscription, state.position)
  }

  fannedOut({ view, encoding }: MarketSubscription): FrameCount {
    return view.fannedOut[encoding]
  }

  encodeCommit(commit: ViewCommit, _hasSubscribers: readonly [boolean, boolean], frames: TickFrame[]): void {
    for (const open of this.#all) {
      const encoded = open.feed.encodeCommit(this.#changesOf(open, commit), commit.startsOver)
      if (encoded !== undefined)
        frames.push({ bit: this.bit, view: open.feed, frames: encoded, totals: open.feed.fannedOut })
    }
  }

  isLeftToCatchUp(view: ViewFeed, encoding: Encoding): boolean {
    return view.isOversized(encoding)
  }

  continues({ view, heldView, encoding }: MarketSubscription, state: ChannelState): boolean {
    if (heldView !== undefined) return false
    return encoding === BASE || !view.hasMoved || state.cursor === view.fannedOutCursor
  }

  advance({ view }: MarketSubscription, state: ChannelState): void {
    state.position = this.#replica.version
    if (view.hasMoved) state.cursor = view.view.changeVersion
  }

  isAligned({ view, encoding }: MarketSubscription, state: ChannelState): boolean {
    return encoding === BASE || state.cursor === view.view.changeVersion
  }

  settle({ view }: MarketSubscription, state: ChannelState): void {
    state.position = this.#fannedOutVersion
    state.cursor = view.fannedOutCursor
  }

  endTick(): void {
    this.#fannedOutVersion = this.#replica.version
    for (const { feed } of this.#all) feed.endTick()
  }

  catchUp(subscription: MarketSubscription, state: ChannelState): CaughtUp {
    const { live, isCrossed, isWithdrawn, version } = this.#replica
    if (isCrossed) return 'waiting'
    if (state.position !== NONE) {
      if (!isDue(subscription, this.bit, state)) return 'done'
      const outcome = this.#sendUpdate(subscription, state)
      if (outcome !== 'too-old') return outcome
      this.#demandLater(subscription, state.position)
      state.position = NONE
      // Its cursor is not one of this view.
      if (subscription.heldView !== undefined) state.cursor = NONE
      this.#endHeldView(subscription)
    }
    // A stale market sends one SNAPSHOT only: the empty one that removes a withdrawn book, which no UPDATE can.
    if (!live && !(isWithdrawn && subscription.holdsBook)) return 'waiting'
    if (version <= subscription.laterThan) {
      if (this.#options.requestCommit()) return 'waiting'
      // No later commit can be made: the same book with the same time is better than none.
      subscription.laterThan = version - 1
    }
    return this.#sendSnapshot(subscription, state)
  }

  groupView({ view }: MarketSubscription): ViewFeed {
    return view
  }

  conflate(group: ThrottleGroup): Chunk | 'unchanged' | 'by-catch-up' {
    const { position, cursor } = group
    const feed = group.view as ViewFeed
    const { version, changeVersion } = feed.view
    group.position = version
    group.cursor = changeVersion
    if (changeVersion === cursor || group.subscriptions.size === 0) return 'unchanged'
    const conflated = feed.conflated(group.encoding, position, cursor)
    if (typeof conflated === 'string' || conflated.message.length > 1) return 'by-catch-up'
    return new Chunk(conflated.message[0], 1)
  }

  /** A current subscription's book status in this heartbeat. Undefined while its digest is not known. */
  statusText(
    subscription: MarketSubscription,
    state: ChannelState,
    sinceMilliseconds: number,
    sentMilliseconds: number,
  ): string | undefined {
    const { view, heldView, resumedFrom } = subscription
    if (state.cursor === NONE || heldView !== undefined) return undefined
    // Without a resumption, receipts of earlier books are of no use.
    subscription.receiptsFrom ??= state.cursor
    const receipts = view.receipts?.since(subscription.receiptsFrom, [resumedFrom, state.cursor]) ?? []
    const texts = receipts.map(({ text }) => text)
    const status = view.status(state.position, state.cursor, sinceMilliseconds, texts)
    const last = receipts.at(-1)
    if (status !== undefined && last !== undefined) subscription.receiptsFrom = last.version + 1
    if (status?.digest !== undefined) {
      const { digest, cursor } = status
      subscription.sentDigest = { digest, cursor, sentMilliseconds }
    }
    return status?.text
  }

  get isWorking(): boolean {
    for (const { feed } of this.#all) if (feed.isWorking) return true
    return false
  }

  /** Continues sliced work until `untilMilliseconds` on the monotonic clock. */
  work(untilMilliseconds: number): void {
    for (const { feed } of this.#all) {
      if (this.#options.clock.monotonicMilliseconds() >= untilMilliseconds) break
      if (feed.isWorking) feed.work(untilMilliseconds)
    }
  }

  /** Whether a view makes receipts. */
  get makesReceipts(): boolean {
    for (const { feed } of this.#all) if (feed.receipts?.isActive === true) return true
    return false
  }

  /** Begins the views' receipts for a full second, after its messages were fanned out. */
  endSecond(): void {
    const second = Math.floor(this.#options.clock.monotonicMilliseconds() / 1_000)
    for (const { feed } of this.#all) feed.endSecond(second)
  }

  stop(): void {
    for (const { lingerTimer } of this.#all) lingerTimer?.cancel()
    this.#views.clear()
    this.#attributed.clear()
    this.#all = []
  }

  /** Sends one UPDATE to the current version; nothing when no level differs. */
  #sendUpdate(subscription: MarketSubscription, state: ChannelState): CaughtUp | 'too-old' {
    const { version } = this.#replica
    const { view, heldView, encoding, outbox } = subscription
    if (state.position === version && heldView === undefined) {
      state.isDue = false
      return 'done'
    }
    const conflated =
      heldView === undefined
        ? view.conflated(encoding, state.position, state.cursor, subscription.laterThan)
        : view.conflatedFrom(heldView, encoding, state.position, state.cursor)
    if (conflated === 'too-old') return 'too-old'
    // A resumed subscription may hold an older position than this connection was sent. Its UPDATE has to be later.
    const mustBeLater = conflated !== 'nothing' && version <= subscription.laterThan
    if (mustBeLater && this.#options.requestCommit()) return 'waiting'
    state.isDue = false
    // Without a message, the next one names the cursor of the held view.
    if (conflated === 'nothing' && heldView !== undefined && encoding !== BASE) return 'done'
    this.#endHeldView(subscription)
    state.position = version
    if (conflated === 'nothing') return 'done'
    state.cursor = view.view.changeVersion
    outbox.countConflated()
    outbox.send(conflated.message, state.usage)
    return outbox.isBlocked ? 'blocked' : 'done'
  }

  #sendSnapshot(subscription: MarketSubscription, state: ChannelState): CaughtUp {
    const { view, encoding, outbox, laterThan } = subscription
    const snapshot = view.snapshot(encoding, laterThan)
    if (snapshot === undefined) return 'waiting'
    const message = view.snapshotMessage(encoding, snapshot, state.cursor)
    state.position = snapshot.version
    state.cursor = snapshot.changeVersion
    subscription.holdsBook = true
    outbox.send(message, state.usage)
    if (outbox.isBlocked) return 'blocked'
    const outcome = this.#sendUpdate(subscription, state)
    return outcome === 'too-old' ? 'waiting' : outcome
  }

  /** The client holds the book in `view` from now on, or none. Receipts of the other one are of no use. */
  #endHeldView(subscription: MarketSubscription): void {
    if (subscription.heldView !== undefined) {
      subscription.receiptsFrom = undefined
      subscription.resumedFrom = 0
    }
    subscription.heldView = undefined
  }

  #demandLater(subscription: MarketSubscription, version: number): void {
    subscription.laterThan = Math.max(subscription.laterThan, version)
  }

  #changesOf({ depth, isAttributed }: OpenFeed, commit: ViewCommit): readonly LevelChange[] {
    if (isAttributed) return commit.attributedChangesAt.get(depth) ?? []
    return depth === this.#replica.market.depth ? commit.changes : (commit.changesAt.get(depth) ?? [])
  }

  #open(depth: number, isAttributed: boolean): OpenFeed {
    const feeds = isAttributed ? this.#attributed : this.#views
    let open = feeds.get(depth)
    open?.lingerTimer?.cancel()
    if (open === undefined) {
      open = { feed: this.#createFeed(depth, isAttributed), depth, isAttributed }
      feeds.set(depth, open)
      this.#listAll()
    }
    open.lingerTimer = undefined
    return open
  }

  #createFeed(depth: number, isAttributed: boolean): ViewFeed {
    const { clock, receipts: signer } = this.#options
    const replica = this.#replica
    if (!isAttributed) return new ViewFeed({ replica, view: replica.openView(depth), clock, signer })
    const plain = this.#open(depth, false).feed
    const view = replica.attributed.open(depth, replica.version, replica.bookVersion)
    return new ViewFeed({ replica, view, clock, signer, plain })
  }

  #lingerIfUnused(open: OpenFeed): void {
    const { feed, depth, isAttributed } = open
    const isNeeded =
      feed === this.published || feed.subscriberCount > 0 || (!isAttributed && this.#attributed.has(depth))
    if (isNeeded) return
    open.lingerTimer = this.#options.clock.schedule(VIEW_LINGER_MILLISECONDS, () => this.#close(open))
  }

  #close({ depth, isAttributed }: OpenFeed): void {
    if (!isAttributed) {
      this.#views.delete(depth)
      this.#replica.closeView(depth)
    } else {
      this.#attributed.delete(depth)
      this.#replica.attributed.close(depth)
      const plain = this.#views.get(depth)
      if (plain !== undefined) this.#lingerIfUnused(plain)
    }
    this.#listAll()
  }

  #listAll(): void {
    this.#all = [...this.#views.values(), ...this.#attributed.values()]
  }
}
