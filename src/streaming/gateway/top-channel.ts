/**
 * One market's market_data.top_of_book: each side's best level, sent whenever it changes. A lagging or throttled
 * subscriber gets the current top, if it differs from its last one. A top is never sent before its book.
 */
import { Cursors } from '../sequencing/cursor.ts'
import {
  BASE,
  type Encoding,
  EXTENDED,
  extendedText,
  type FrameCount,
  newFrameCounts,
  textFrame,
  topOfBookText,
} from '../sequencing/frame.ts'
import type { Replica, ViewCommit } from '../sequencing/replica.ts'
import { NONE } from '../sequencing/view-feed.ts'
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

export class TopChannel implements MarketChannel {
  readonly type = 'market_data.top_of_book'
  readonly bit: number
  readonly place: number
  readonly #replica: Replica
  readonly #fannedOut = newFrameCounts()
  readonly #cursors: Cursors
  /** Version that made the current top, and the one at the last fan-out; the top's number at the last fan-out. */
  #cursor: number
  #fannedOutCursor: number
  #fannedOutNumber: number
  /** Each encoding's last frame. */
  readonly #cached: [base: CachedFrame | undefined, extended: CachedFrame | undefined] = [undefined, undefined]

  constructor(replica: Replica, place: number) {
    this.place = place
    this.bit = 1 << place
    this.#replica = replica
    this.#cursors = new Cursors(replica.market.symbol, this.type, 0)
    this.#cursor = replica.topChanges.version
    this.#fannedOutCursor = this.#cursor
    this.#fannedOutNumber = replica.topChanges.number
  }

  subscribe(_subscription: MarketSubscription, state: ChannelState, { resume }: ChannelParams): boolean {
    const { epoch, topChanges } = this.#replica
    const cursor = resume === undefined ? undefined : this.#cursors.position(epoch, resume)
    const isKnown = cursor !== undefined && cursor > 0 && this.#replica.hadBook(cursor)
    const changes = isKnown ? this.#replica.topChanges.since(cursor) : 'too-old'
    state.position = changes === 'too-old' ? NONE : topChanges.number - changes
    state.cursor = changes === 'too-old' ? NONE : (cursor as number)
    return changes !== 'too-old'
  }

  unsubscribe(subscription: MarketSubscription): void {
    subscription.laterThan = Math.max(subscription.laterThan, this.#replica.version - 1)
  }

  fannedOut({ encoding }: MarketSubscription): FrameCount {
    return this.#fannedOut[encoding]
  }

  encodeCommit(
    { topChanged }: ViewCommit,
    hasSubscribers: readonly [base: boolean, extended: boolean],
    frames: TickFrame[],
  ): void {
    if (!topChanged) return
    const base = hasSubscribers[BASE] ? this.#frame(BASE, NONE, 0) : undefined
    const extended = hasSubscribers[EXTENDED] ? this.#frame(EXTENDED, this.#cursor, 1) : undefined
    frames.push({ bit: this.bit, view: undefined, frames: [base, extended], totals: this.#fannedOut })
    this.#cursor = this.#replica.topChanges.version
  }

  isLeftToCatchUp(): boolean {
    return false
  }

  continues({ encoding }: MarketSubscription, state: ChannelState): boolean {
    return encoding === BASE || !this.#hasMoved || state.cursor === this.#fannedOutCursor
  }

  advance(_subscription: MarketSubscription, state: ChannelState): void {
    if (!this.#hasMoved) return
    state.position = this.#replica.topChanges.number
    state.cursor = this.#cursor
  }

  isAligned({ encoding }: MarketSubscription, state: ChannelState): boolean {
    return encoding === BASE || state.cursor === this.#cursor
  }

  settle(_subscription: MarketSubscription, state: ChannelState): void {
    state.position = this.#fannedOutNumber
    state.cursor = this.#fannedOutCursor
  }

  endTick(): void {
    this.#cursor = this.#replica.topChanges.version
    this.#fannedOutCursor = this.#cursor
    this.#fannedOutNumber = this.#replica.topChanges.number
  }

  /** The first top waits as a SNAPSHOT does. Later ones wait for the book, unless the book waits for a source. */
  catchUp(subscription: MarketSubscription, state: ChannelState, waitingBook: ChannelState | undefined): CaughtUp {
    const { live, isCrossed } = this.#replica
    const { number: topNumber, version: topVersion } = this.#replica.topChanges
    const { encoding, outbox } = subscription
    const isFirst = state.position === NONE
    if (isCrossed || (isFirst && !live)) return 'waiting'
    const bookWaitsForSource = !live && waitingBook?.position === NONE
    if (waitingBook !== undefined && (isFirst || !bookWaitsForSource)) return 'waiting'
    if (!isFirst && !isDue(subscription, this.bit, state)) return 'done'
    state.isDue = false
    if (state.position === topNumber) return 'done'
    const frame = this.#frame(encoding, state.cursor, isFirst ? 0 : topNumber - state.position)
    state.position = topNumber
    state.cursor = topVersion
    outbox.sendChunk(new Chunk(frame, 1), state.usage)
    return outbox.isBlocked ? 'blocked' : 'done'
  }

  groupView(): undefined {
    return undefined
  }

  conflate(group: ThrottleGroup): Chunk | 'unchanged' {
    const { number: topNumber, version: topVersion } = this.#replica.topChanges
    const { position, cursor } = group
    group.position = topNumber
    group.cursor = topVersion
    if (topNumber === position || group.subscriptions.size === 0) return 'unchanged'
    return new Chunk(this.#frame(group.encoding, cursor, topNumber - position), 1)
  }

  get #hasMoved(): boolean {
    return this.#cursor !== this.#fannedOutCursor
  }

  /** The current top, for a subscriber whose previous message named `prevCursor`. */
  #frame(encoding: Encoding, prevCursor: number, covers: number): Buffer {
    const { market, instant, top, topChanges, version, epoch, previous } = this.#replica
    const key = encoding === BASE ? String(version) : `${version} ${prevCursor} ${covers}`
    const cached = this.#cached[encoding]
    if (cached?.key === key) return cached.frame
    let text = topOfBookText(market, instant, top)
    if (encoding === EXTENDED) {
      const prevEpoch = prevCursor === NONE ? undefined : previous.epochOf(prevCursor)
      const prev = prevEpoch && this.#cursors.token(prevEpoch, prevCursor)
      const cursor = this.#cursors.token(epoch, topChanges.version)
      text = extendedText(text, { cursor, prev, covers: prev === undefined ? 0 : covers })
    }
    const frame = textFrame(text)
    this.#cached[encoding] = { key, frame }
    return frame
  }
}

interface CachedFrame {
  readonly key: string
  readonly frame: Buffer
}
