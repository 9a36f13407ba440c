/**
 * One market on the extended wire: the views that are read, the messages with their `stream` member, and the fan-out to
 * those who are current. It says of every message which one of the same subscription came before, so a subscription
 * that was not sent the message before gets one of its own by catch-up; all others share theirs.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { CatchUp, Merged, Snapshot } from '../channel/catch-up.ts'
import { Cursors } from '../channel/cursor.ts'
import { extendedText, type Message, textFrame, topOfBookText } from '../channel/frame.ts'
import type { Replica, ViewCommit } from '../channel/replica.ts'
import { ExtendedView } from './extended-view.ts'
import type { Chunk } from './outbox.ts'
import { Pace } from './pace.ts'
import {
  BOOK,
  type ChannelReader,
  EXECUTIONS,
  type ExtendedState,
  type ExtendedSubscription,
  type MarketSubscription,
  TOP,
  type Wishes,
} from './subscription.ts'

/** How long a view that nobody reads is kept up, so that who comes back may resume. */
const VIEW_LINGER_MILLISECONDS = 60_000

interface TurnFrame {
  readonly bit: number
  /** Of an UPDATE. */
  readonly view: ExtendedView | undefined
  readonly frame: Buffer
}

interface OpenView {
  readonly view: ExtendedView
  lingerTimer: Timer | undefined
}

export interface ExtendedMarketOptions {
  readonly replica: Replica
  readonly clock: Clock
  /** A subscription with an interval has come: ticks are wanted. */
  readonly onPaced: () => void
}

export class ExtendedMarket {
  readonly subscriptions: MarketSubscription[] = []
  readonly #replica: Replica
  readonly #options: ExtendedMarketOptions
  readonly #views = new Map<number, OpenView>()
  readonly #pace: Pace
  readonly #topCursors: Cursors
  #turnFrames: TurnFrame[] = []
  #topCursor: number
  #turnStartTopCursor: number
  #turnStartExecution: number
  #oversizedExecutions = false
  #top: { readonly key: string; readonly frame: Buffer } | undefined

  constructor(options: ExtendedMarketOptions) {
    this.#options = options
    this.#replica = options.replica
    this.#topCursors = new Cursors(options.replica.market.symbol, 'market_data.top_of_book', 0)
    this.#topCursor = options.replica.topVersion
    this.#turnStartTopCursor = this.#topCursor
    this.#turnStartExecution = options.replica.executions.lastNumber
    this.#pace = new Pace(options.replica, (cursor, covers) => this.#topFrame(cursor, covers))
  }

  /** What a new subscription begins with. */
  createState(): ExtendedState {
    return {
      view: undefined,
      bookInterval: 0,
      topInterval: 0,
      paced: 0,
      due: 0,
      bookCursor: 0,
      topCursor: 0,
      executionCursor: -1,
    }
  }

  /** True while something large is being made in slices. */
  get working(): boolean {
    for (const { view } of this.#views.values()) if (view.working) return true
    return false
  }

  work(untilMilliseconds: number): void {
    for (const { view } of this.#views.values()) {
      if (this.#options.clock.monotonicMilliseconds() >= untilMilliseconds) break
      if (view.working) view.work(untilMilliseconds)
    }
  }

  get isPaced(): boolean {
    return this.#pace.isWanted
  }

  /** Subscribes one channel as wished; returns whether it goes on from the cursor that was given. */
  subscribe(subscription: MarketSubscription, bit: number, wishes: Wishes): boolean {
    const state = subscription.extended as ExtendedState
    if (bit === EXECUTIONS) return this.#subscribeExecutions(subscription, state, wishes.resume)
    const interval = wishes.intervalMilliseconds ?? 0
    if (bit === BOOK) state.bookInterval = interval
    else state.topInterval = interval
    const resumed =
      bit === BOOK ? this.#subscribeBook(subscription, state, wishes) : this.#subscribeTop(subscription, state, wishes)
    if (interval > 0) {
      state.paced |= bit
      // What is owed from the start does not wait for a tick.
      state.due |= bit
      this.#pace.add(subscription as ExtendedSubscription, bit)
      this.#options.onPaced()
    }
    return resumed
  }

  /** Ends one channel of a subscription; nothing happens when it has it not. */
  unsubscribe(subscription: MarketSubscription, bit: number): void {
    const state = subscription.extended as ExtendedState
    if ((state.paced & bit) !== 0) this.#pace.remove(subscription as ExtendedSubscription, bit)
    state.paced &= ~bit
    state.due &= ~bit
    if (bit === BOOK && state.view !== undefined) {
      this.#leaveView(state.view)
      state.view = undefined
    }
  }

  /** Encodes the messages of one commit, in the order of the wire: executions, UPDATE, TOP_OF_BOOK. */
  onCommit(commit: ViewCommit): void {
    const { executions, market, topVersion } = this.#replica
    const wanted = this.subscriptions.length > 0
    const first = executions.lastNumber - commit.executionCount + 1
    if (first < executions.firstNumber) this.#oversizedExecutions = true
    for (let number = first; wanted && !this.#oversizedExecutions && number <= executions.lastNumber; number++) {
      this.#turnFrames.push({ bit: EXECUTIONS, view: undefined, frame: executions.extendedFrame(number, false) })
    }
    for (const { view } of this.#views.values()) {
      const { depth } = view.view
      const changes = depth === market.depth ? commit.changes : (commit.changesAt.get(depth) ?? [])
      const frame = view.follow(changes, commit.startsOver)
      if (frame !== undefined) this.#turnFrames.push({ bit: BOOK, view, frame })
    }
    if (!commit.topChanged) return
    if (wanted) this.#turnFrames.push({ bit: TOP, view: undefined, frame: this.#topFrame(this.#topCursor, 1) })
    this.#topCursor = topVersion
  }

  /** Hands the chunks of the turn to all current subscriptions; `onFirst` gets each reader to flush, once. */
  fanOut(onFirst: (reader: ChannelReader) => void): void {
    const { version, topNumber, executions } = this.#replica
    const chunks = new Map<ExtendedView | undefined, (Chunk | undefined)[]>()
    for (const subscription of this.subscriptions) {
      const { reader, delivered } = subscription
      const state = subscription.extended as ExtendedState
      if (reader.outbox.isBlocked || subscription.generation !== reader.generation) continue
      const bits = delivered & ~state.paced
      if (!this.#leadsOn(state, bits)) {
        reader.makeStale(subscription)
        continue
      }
      if ((bits & BOOK) !== 0) {
        subscription.bookVersion = version
        if (state.view?.hasMoved) state.bookCursor = state.view.view.changeVersion
      }
      if ((bits & TOP) !== 0) {
        subscription.topNumber = topNumber
        state.topCursor = this.#topCursor
      }
      if ((bits & EXECUTIONS) !== 0 && this.#hasExecutions) {
        subscription.executionNumber = executions.lastNumber
        state.executionCursor = executions.lastNumber
      }
      const chunk = this.#chunk(chunks, bits, (bits & BOOK) === 0 ? undefined : state.view)
      if (chunk !== undefined && reader.outbox.add(chunk)) onFirst(reader)
    }
    this.#endTurn()
  }

  /** Hands what changed since the last tick to the subscriptions with one of these intervals (milliseconds). */
  tick(intervals: ReadonlySet<number>, onFirst: (reader: ChannelReader) => void): void {
    this.#pace.tick(intervals, onFirst)
  }

  /** Where the SNAPSHOT and the UPDATE of a subscription to market_data come from. */
  catchUp(subscription: MarketSubscription): CatchUp {
    return this.#viewOf(subscription).catchUp
  }

  snapshot(subscription: MarketSubscription, snapshot: Snapshot): Message {
    const state = subscription.extended as ExtendedState
    const message = this.#viewOf(subscription).catchUp.snapshotAfter(snapshot, state.bookCursor)
    state.bookCursor = snapshot.changeVersion
    return message
  }

  merged(subscription: MarketSubscription): Merged {
    const state = subscription.extended as ExtendedState
    return this.#viewOf(subscription).catchUp.merged(subscription.bookVersion, state.bookCursor)
  }

  /** To be called when the message of `merged` is sent. */
  noteMerged(subscription: MarketSubscription): void {
    ;(subscription.extended as ExtendedState).bookCursor = this.#viewOf(subscription).view.changeVersion
  }

  /** The current top for a subscription that holds the top of number `topNumber` (-1 = none). */
  top(subscription: MarketSubscription): Message {
    const state = subscription.extended as ExtendedState
    const { topNumber } = subscription
    const frame = this.#topFrame(state.topCursor, topNumber === -1 ? 0 : this.#replica.topNumber - topNumber)
    state.topCursor = this.#replica.topVersion
    return [frame]
  }

  executionFrame(subscription: MarketSubscription, number: number): Buffer {
    const state = subscription.extended as ExtendedState
    const frame = this.#replica.executions.extendedFrame(number, state.executionCursor === -1)
    state.executionCursor = number
    return frame
  }

  stop(): void {
    for (const { lingerTimer } of this.#views.values()) lingerTimer?.cancel()
    this.#views.clear()
  }

  #subscribeBook(subscription: MarketSubscription, state: ExtendedState, { depth, resume }: Wishes): boolean {
    const view = this.#openView(depth ?? this.#replica.market.depth)
    state.view = view
    const version = resume === undefined ? undefined : view.resumable(resume)
    subscription.bookVersion = version ?? 0
    state.bookCursor = version ?? 0
    return version !== undefined
  }

  #subscribeTop(subscription: MarketSubscription, state: ExtendedState, { resume }: Wishes): boolean {
    const { epoch, version, topNumber } = this.#replica
    const cursor = resume === undefined ? undefined : this.#topCursors.position(epoch, resume)
    const moves =
      cursor === undefined || cursor === 0 || cursor > version ? 'too-old' : this.#replica.topChangesSince(cursor)
    const resumed = cursor !== undefined && moves !== 'too-old'
    subscription.topNumber = resumed ? topNumber - moves : -1
    state.topCursor = resumed ? cursor : 0
    return resumed
  }

  #subscribeExecutions(subscription: MarketSubscription, state: ExtendedState, resume: string | undefined): boolean {
    const { executions } = this.#replica
    const number = resume === undefined ? undefined : executions.resumable(resume)
    subscription.executionNumber = number ?? executions.lastNumber
    state.executionCursor = number ?? -1
    return number !== undefined
  }

  #viewOf(subscription: MarketSubscription): ExtendedView {
    return subscription.extended?.view as ExtendedView
  }

  #openView(depth: number): ExtendedView {
    let open = this.#views.get(depth)
    if (open === undefined) {
      const view = depth === this.#replica.market.depth ? this.#replica.view : this.#replica.openView(depth)
      open = { view: new ExtendedView(this.#replica, view, this.#options.clock), lingerTimer: undefined }
      this.#views.set(depth, open)
    }
    open.lingerTimer?.cancel()
    open.lingerTimer = undefined
    open.view.readers += 1
    return open.view
  }

  #leaveView(view: ExtendedView): void {
    const { depth } = view.view
    const open = this.#views.get(depth)
    view.readers -= 1
    // The market may have been stopped with its views.
    if (view.readers > 0 || open === undefined) return
    open.lingerTimer = this.#options.clock.schedule(VIEW_LINGER_MILLISECONDS, () => {
      this.#views.delete(depth)
      this.#replica.closeView(depth)
    })
  }

  get #hasExecutions(): boolean {
    return this.#turnStartExecution !== this.#replica.executions.lastNumber
  }

  /** Whether the frames of the turn are what comes next for a subscription, as far as there are any. */
  #leadsOn(state: ExtendedState, bits: number): boolean {
    if ((bits & BOOK) !== 0 && state.view?.hasMoved && !state.view.leadsOn(state.bookCursor)) return false
    const topMoved = this.#topCursor !== this.#turnStartTopCursor
    if ((bits & TOP) !== 0 && topMoved && state.topCursor !== this.#turnStartTopCursor) return false
    if ((bits & EXECUTIONS) === 0 || !this.#hasExecutions) return true
    return !this.#oversizedExecutions && state.executionCursor === this.#turnStartExecution
  }

  #chunk(
    chunks: Map<ExtendedView | undefined, (Chunk | undefined)[]>,
    bits: number,
    view: ExtendedView | undefined,
  ): Chunk | undefined {
    let ofView = chunks.get(view)
    if (ofView === undefined) {
      ofView = []
      chunks.set(view, ofView)
    }
    if (!(bits in ofView)) ofView[bits] = this.#join(bits, view)
    return ofView[bits]
  }

  #join(bits: number, view: ExtendedView | undefined): Chunk | undefined {
    const frames: Buffer[] = []
    for (const turnFrame of this.#turnFrames) {
      if ((turnFrame.bit & bits) !== 0 && (turnFrame.bit !== BOOK || turnFrame.view === view)) {
        frames.push(turnFrame.frame)
      }
    }
    if (frames.length === 0) return undefined
    return { frames: frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames), messageCount: frames.length }
  }

  /** The current top behind the one that `prevCursor` names (0 = none); made once for all who get the same. */
  #topFrame(prevCursor: number, covers: number): Buffer {
    const { market, instant, top, topVersion, version, epoch } = this.#replica
    const key = `${version} ${prevCursor} ${covers}`
    if (this.#top?.key !== key) {
      const cursor = this.#topCursors.token(epoch, topVersion)
      const prev = prevCursor === 0 ? undefined : this.#topCursors.token(epoch, prevCursor)
      const text = extendedText(topOfBookText(market, instant, top), { cursor, prev, covers })
      this.#top = { key, frame: textFrame(text) }
    }
    return this.#top.frame
  }

  #endTurn(): void {
    this.#turnFrames = []
    this.#oversizedExecutions = false
    this.#turnStartTopCursor = this.#topCursor
    this.#turnStartExecution = this.#replica.executions.lastNumber
    for (const { view } of this.#views.values()) view.endTurn()
  }
}
