/**
 * One market with the sessions that read it: collects the frames of a turn and hands each current subscription its
 * chunk, joined once for all that take the same channels. A subscription that is not current is left to its session's
 * catch-up, which leads it to the version that stands here between two turns.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { CatchUp } from '../channel/catch-up.ts'
import { FRAGMENT_BYTES_MAX, textFrame, topOfBookText, updateText } from '../channel/frame.ts'
import type { Replica, ViewCommit } from '../channel/replica.ts'
import { ExtendedMarket } from './extended-market.ts'
import type { Chunk } from './outbox.ts'
import { BOOK, CHANNEL_SETS, type ChannelReader, EXECUTIONS, type MarketSubscription, TOP } from './subscription.ts'

interface TurnFrame {
  readonly bit: number
  readonly frame: Buffer
}

export interface MarketChannelOptions {
  readonly replica: Replica
  readonly clock: Clock
  /** Called when the channel has something for the next turn's end. */
  readonly onDirty: (channel: MarketChannel) => void
  /** Called when a subscription of the extended wire wants ticks. */
  readonly onPaced: () => void
  /** Seconds without a trusted source after which subscribers are closed; 0 = never. */
  readonly closeStaleSeconds: number
  /** Called with the subscriptions to close. */
  readonly onStale: (subscriptions: readonly MarketSubscription[]) => void
}

/** STARTING: no book yet; LIVE: a source is trusted; STALE: there was a book, no source is trusted now. */
export const MARKET_STATES = ['LIVE', 'STALE', 'STARTING'] as const

type MarketState = (typeof MARKET_STATES)[number]

const NOTHING: Chunk = { frames: Buffer.alloc(0), messageCount: 0 }

export class MarketChannel {
  readonly replica: Replica
  /** Of the plain wire. */
  readonly catchUp: CatchUp
  readonly #options: MarketChannelOptions
  readonly #subscriptions: MarketSubscription[] = []
  readonly #waiting = new Set<MarketSubscription>()
  #turnFrames: TurnFrame[] = []
  /** Channels whose messages of this turn are too much to be fanned out: their readers take them from catch-up. */
  #oversized = 0
  #isDirty = false
  #extended: ExtendedMarket | undefined
  #staleTimer: Timer | undefined
  #state: MarketState
  #stateSinceMilliseconds: number
  readonly #endListening: () => void

  constructor(options: MarketChannelOptions) {
    this.#options = options
    this.replica = options.replica
    this.catchUp = new CatchUp(options.replica, options.clock)
    this.#state = stateOf(options.replica)
    this.#stateSinceMilliseconds = options.clock.wallInstant().milliseconds
    this.#endListening = options.replica.listen({
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

  /** Those of both wires. */
  get subscriptions(): readonly MarketSubscription[] {
    if (this.#extended === undefined) return this.#subscriptions
    return [...this.#subscriptions, ...this.#extended.subscriptions]
  }

  /** The market on the extended wire; made when it is first wanted. */
  get extended(): ExtendedMarket {
    const { clock, onPaced } = this.#options
    this.#extended ??= new ExtendedMarket({ replica: this.replica, clock, onPaced })
    return this.#extended
  }

  get isPaced(): boolean {
    return this.#extended?.isPaced === true
  }

  /** True while something large is being made in slices: `work` wants to be called, once a turn. */
  get working(): boolean {
    return this.catchUp.encoding || this.#extended?.working === true
  }

  /** Goes on with what is being made, until `untilMilliseconds` of the monotonic clock. */
  work(untilMilliseconds: number): void {
    this.catchUp.encode(untilMilliseconds)
    this.#extended?.work(untilMilliseconds)
  }

  add(subscription: MarketSubscription): void {
    if (subscription.position !== -1) return
    subscription.position = this.#listOf(subscription).push(subscription) - 1
  }

  remove(subscription: MarketSubscription): void {
    this.#waiting.delete(subscription)
    if (subscription.position === -1) return
    const list = this.#listOf(subscription)
    const last = list.pop() as MarketSubscription
    if (last !== subscription) {
      list[subscription.position] = last
      last.position = subscription.position
    }
    subscription.position = -1
    if (subscription.extended === undefined) return
    for (const bit of [BOOK, TOP]) this.extended.unsubscribe(subscription, bit)
  }

  #listOf(subscription: MarketSubscription): MarketSubscription[] {
    return subscription.extended === undefined ? this.#subscriptions : this.extended.subscriptions
  }

  /** Wakes the subscription with the market's next commit, status change or finished snapshot. */
  wait(subscription: MarketSubscription): void {
    this.#waiting.add(subscription)
  }

  wakeWaiting(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const subscription of waiting) subscription.reader.makeStale(subscription)
  }

  /** Hands the chunks of the turn to all current subscriptions; `onFirst` gets each reader to flush, once. */
  fanOut(onFirst: (reader: ChannelReader) => void): void {
    const { version, topNumber, executions } = this.replica
    const chunks = new Array<Chunk | undefined>(CHANNEL_SETS)
    for (const subscription of this.#subscriptions) {
      const { reader, delivered } = subscription
      if (reader.outbox.isBlocked || subscription.generation !== reader.generation) continue
      if ((this.#oversized & delivered) !== 0) {
        reader.makeStale(subscription)
        continue
      }
      if ((delivered & BOOK) !== 0) subscription.bookVersion = version
      if ((delivered & TOP) !== 0) subscription.topNumber = topNumber
      if ((delivered & EXECUTIONS) !== 0) subscription.executionNumber = executions.lastNumber
      let chunk = chunks[delivered]
      if (chunk === undefined) {
        chunk = this.#join(delivered)
        chunks[delivered] = chunk
      }
      if (chunk.messageCount > 0 && reader.outbox.add(chunk)) onFirst(reader)
    }
    this.#turnFrames = []
    this.#oversized = 0
    this.#isDirty = false
    this.#extended?.fanOut(onFirst)
    this.wakeWaiting()
  }

  /** Hands what changed since the last tick to the subscriptions with one of these intervals (milliseconds). */
  tick(intervals: ReadonlySet<number>, onFirst: (reader: ChannelReader) => void): void {
    this.#extended?.tick(intervals, onFirst)
  }

  stop(): void {
    this.#endListening()
    this.#extended?.stop()
    this.#staleTimer?.cancel()
  }

  #join(channels: number): Chunk {
    const frames: Buffer[] = []
    for (const { bit, frame } of this.#turnFrames) if ((bit & channels) !== 0) frames.push(frame)
    if (frames.length === 0) return NOTHING
    return { frames: frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames), messageCount: frames.length }
  }

  #onCommit(commit: ViewCommit): void {
    if (this.#subscriptions.length > 0) this.#encode(commit)
    this.#extended?.onCommit(commit)
    this.#markDirty()
  }

  /** Encodes the messages of one commit, in the order of the wire: executions, UPDATE, TOP_OF_BOOK. */
  #encode(commit: ViewCommit): void {
    const { market, executions, instant, top } = this.replica
    const first = executions.lastNumber - commit.executionCount + 1
    // More executions than are kept, or a hole among them, is a gap, and catch-up is where a reader is told so.
    if (first < executions.firstNumber) this.#oversized |= EXECUTIONS
    for (let number = Math.max(first, executions.firstNumber); number <= executions.lastNumber; number++) {
      this.#turnFrames.push({ bit: EXECUTIONS, frame: executions.frame(number) })
    }
    if (commit.startsOver) this.#oversized |= BOOK
    if (commit.changes.length > 0) {
      const text = updateText(market, instant.milliseconds, commit.changes)
      if (text.length > FRAGMENT_BYTES_MAX) this.#oversized |= BOOK
      else this.#turnFrames.push({ bit: BOOK, frame: textFrame(text) })
    }
    if (commit.topChanged) {
      this.#turnFrames.push({ bit: TOP, frame: textFrame(topOfBookText(market, instant, top)) })
    }
  }

  #onStatus(live: boolean): void {
    const state = stateOf(this.replica)
    if (state !== this.#state) this.#stateSinceMilliseconds = this.#options.clock.wallInstant().milliseconds
    this.#state = state
    if (live) {
      this.#staleTimer?.cancel()
      this.#staleTimer = undefined
      this.#markDirty()
    } else if (this.#staleTimer === undefined && this.#options.closeStaleSeconds > 0 && this.replica.hasBook) {
      this.#closeStaleLater()
    }
  }

  /** Once: who comes back while no source is trusted holds no old data, and waits for the SNAPSHOT. */
  #closeStaleLater(): void {
    const { clock, closeStaleSeconds, onStale } = this.#options
    this.#staleTimer = clock.schedule(closeStaleSeconds * 1000, () => onStale([...this.subscriptions]))
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
