/**
 * One tick's frames in one market: joined into chunks, one for all subscriptions with the same channels, view and
 * encoding, and counted for metering. Each view and channel keeps running totals. An aligned subscription was sent
 * everything, so its usage is the totals' difference, and nothing is counted per delivery.
 */
import type { Encoding, FrameCount } from '../../sequencing/frame.ts'
import type { ViewFeed } from '../../sequencing/view-feed.ts'
import { Chunk } from '../outbox.ts'
import type { ChannelState, MarketChannel, MarketSubscription, TickFrame } from '../subscription.ts'

const NOTHING = new Chunk(Buffer.alloc(0), 0)

/** Stands for a tick's frames that are not fanned out. */
export const LEFT_TO_CATCH_UP = new Chunk(Buffer.alloc(0), 0)

export class TickFrames {
  readonly #channels: readonly MarketChannel[]
  frames: TickFrame[] = []
  /** By view and by channels and encoding. */
  readonly #chunks = new Map<ViewFeed, (Chunk | undefined)[]>()

  constructor(channels: readonly MarketChannel[]) {
    this.#channels = channels
  }

  /** The chunks made so far for a view. */
  chunksOf(view: ViewFeed): (Chunk | undefined)[] {
    let chunks = this.#chunks.get(view)
    if (chunks === undefined) {
      chunks = []
      this.#chunks.set(view, chunks)
    }
    return chunks
  }

  join(view: ViewFeed, encoding: Encoding, bits: number): Chunk {
    for (const channel of this.#channels) {
      if ((bits & channel.bit) !== 0 && channel.isLeftToCatchUp(view, encoding)) return LEFT_TO_CATCH_UP
    }
    const joined: Buffer[] = []
    for (const tickFrame of this.frames) {
      if ((tickFrame.bit & bits) === 0 || !isOf(tickFrame, view)) continue
      const frame = tickFrame.frames[encoding]
      if (frame !== undefined) joined.push(frame)
    }
    if (joined.length === 0) return NOTHING
    return new Chunk(joined.length === 1 ? joined[0] : Buffer.concat(joined), joined.length)
  }

  /** Counts the tick for a subscription that was handed it and is not aligned. */
  countFor({ view, encoding, states }: MarketSubscription, bits: number): void {
    for (const tickFrame of this.frames) {
      if ((tickFrame.bit & bits) === 0 || !isOf(tickFrame, view)) continue
      const frame = tickFrame.frames[encoding]
      const channel = this.#channels.find(({ bit }) => bit === tickFrame.bit) as MarketChannel
      if (frame !== undefined) (states[channel.place] as ChannelState).usage.count(1, frame.length)
    }
  }

  /** Ends the tick: adds it to the totals. */
  end(): void {
    for (const { frames, totals } of this.frames) {
      for (const encoding of [0, 1] as const) {
        const frame = frames[encoding]
        if (frame === undefined) continue
        totals[encoding].messages += 1
        totals[encoding].bytes += frame.length
      }
    }
    this.frames = []
    this.#chunks.clear()
  }
}

/** Notes the totals from which on an aligned subscription's usage is counted. */
export function noteTotals(state: ChannelState, { messages, bytes }: FrameCount): void {
  state.countedMessages = messages
  state.countedBytes = bytes
}

/** Counts everything fanned out since the totals were noted. */
export function countSince(state: ChannelState, totals: FrameCount): void {
  state.usage.count(totals.messages - state.countedMessages, totals.bytes - state.countedBytes)
  noteTotals(state, totals)
}

function isOf(tickFrame: TickFrame, view: ViewFeed): boolean {
  return tickFrame.view === undefined || tickFrame.view === view
}
