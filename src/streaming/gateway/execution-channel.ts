/**
 * One market's execution_data: every execution, in order. A lagging subscriber gets its missed executions from the log,
 * in slices. None is skipped: when an owed execution is no longer in the log, or the source missed some, the connection
 * has to be closed.
 */
import { BASE, EXTENDED, type FrameCount, newFrameCounts } from '../sequencing/frame.ts'
import type { Replica, ViewCommit } from '../sequencing/replica.ts'
import { NONE } from '../sequencing/view-feed.ts'
import { Chunk } from './outbox.ts'
import type {
  CaughtUp,
  ChannelParams,
  ChannelState,
  MarketChannel,
  MarketSubscription,
  TickFrame,
} from './subscription.ts'

/** Missed executions' bytes per write. The outbox is checked between two writes. */
const SLICE_BYTES = 32_768

export class ExecutionChannel implements MarketChannel {
  readonly type = 'execution_data'
  readonly bit: number
  readonly place: number
  readonly #replica: Replica
  readonly #fannedOut = newFrameCounts()
  /** The last execution's number at the last fan-out. */
  #fannedOutNumber: number
  /** Whether the tick had executions missing from the log. They are left to catch-up, which closes the connections. */
  #isIncomplete = false

  constructor(replica: Replica, place: number) {
    this.place = place
    this.bit = 1 << place
    this.#replica = replica
    this.#fannedOutNumber = replica.executions.lastNumber
  }

  subscribe(_subscription: MarketSubscription, state: ChannelState, { resume }: ChannelParams): boolean {
    const { executions } = this.#replica
    const number = resume === undefined ? undefined : executions.resumable(resume)
    state.position = number ?? executions.lastNumber
    state.cursor = number ?? NONE
    return number !== undefined
  }

  unsubscribe(subscription: MarketSubscription): void {
    subscription.laterThan = Math.max(subscription.laterThan, this.#replica.version - 1)
  }

  fannedOut({ encoding }: MarketSubscription): FrameCount {
    return this.#fannedOut[encoding]
  }

  encodeCommit(
    { executionCount }: ViewCommit,
    hasSubscribers: readonly [base: boolean, extended: boolean],
    frames: TickFrame[],
  ): void {
    const { executions } = this.#replica
    const first = executions.lastNumber - executionCount + 1
    if (first < executions.firstNumber) this.#isIncomplete = true
    if (this.#isIncomplete) return
    for (let number = first; number <= executions.lastNumber; number++) {
      const base = hasSubscribers[BASE] ? executions.frame(number, BASE, false) : undefined
      const extended = hasSubscribers[EXTENDED] ? executions.frame(number, EXTENDED, false) : undefined
      frames.push({ bit: this.bit, view: undefined, frames: [base, extended], totals: this.#fannedOut })
    }
  }

  isLeftToCatchUp(): boolean {
    return this.#isIncomplete
  }

  continues({ encoding }: MarketSubscription, state: ChannelState): boolean {
    return encoding === BASE || !this.#hasMoved || state.cursor === this.#fannedOutNumber
  }

  advance(_subscription: MarketSubscription, state: ChannelState): void {
    if (!this.#hasMoved) return
    const { lastNumber } = this.#replica.executions
    state.position = lastNumber
    state.cursor = lastNumber
  }

  isAligned({ encoding }: MarketSubscription, state: ChannelState): boolean {
    return encoding === BASE || state.cursor === this.#replica.executions.lastNumber
  }

  settle(_subscription: MarketSubscription, state: ChannelState): void {
    state.position = this.#fannedOutNumber
    state.cursor = this.#fannedOutNumber
  }

  endTick(): void {
    this.#fannedOutNumber = this.#replica.executions.lastNumber
    this.#isIncomplete = false
  }

  catchUp({ encoding, outbox }: MarketSubscription, state: ChannelState): CaughtUp {
    const { executions } = this.#replica
    while (state.position < executions.lastNumber) {
      if (outbox.isBlocked) return 'blocked'
      if (state.position + 1 < executions.firstNumber) {
        return state.position < executions.missNumber ? 'executionsMissed' : 'executionGap'
      }
      const frames: Buffer[] = []
      let bytes = 0
      while (state.position < executions.lastNumber && bytes < SLICE_BYTES) {
        state.position += 1
        const frame = executions.frame(state.position, encoding, state.cursor === NONE)
        state.cursor = state.position
        frames.push(frame)
        bytes += frame.length
      }
      outbox.sendChunk(new Chunk(Buffer.concat(frames), frames.length), state.usage)
    }
    return outbox.isBlocked ? 'blocked' : 'done'
  }

  get #hasMoved(): boolean {
    return this.#fannedOutNumber !== this.#replica.executions.lastNumber
  }
}
