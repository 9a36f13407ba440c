/**
 * The channels of one market that are read at intervals. At a tick all who were sent the message of the last one share
 * the next; who was not is made due and led by catch-up, once a tick. Between ticks nothing is done or kept but the
 * version and the cursor of the last one: the journal of the view tells the rest.
 */
import type { Replica } from '../channel/replica.ts'
import type { ExtendedView } from './extended-view.ts'
import type { Chunk } from './outbox.ts'
import { BOOK, type ChannelReader, type ExtendedSubscription, TOP } from './subscription.ts'

/** Everyone who reads one channel of a market in one view at one interval. */
interface Shared {
  readonly bit: number
  readonly intervalMilliseconds: number
  /** Of market_data. */
  readonly view: ExtendedView | undefined
  readonly subscriptions: Set<ExtendedSubscription>
  /** Version of the book, or number of the top, at the last tick. */
  position: number
  /** Cursor of the last message; 0 = none yet. */
  cursor: number
}

/** What a tick sends to those who were sent `prevCursor`; no chunk: everyone takes it from catch-up. */
interface Step {
  readonly cursor: number
  readonly chunk: Chunk | undefined
}

export class Pace {
  readonly #replica: Replica
  readonly #topFrame: (prevCursor: number, covers: number) => Buffer
  #shared: Shared[] = []

  constructor(replica: Replica, topFrame: (prevCursor: number, covers: number) => Buffer) {
    this.#replica = replica
    this.#topFrame = topFrame
  }

  get isWanted(): boolean {
    return this.#shared.length > 0
  }

  add(subscription: ExtendedSubscription, bit: number): void {
    const { view, bookInterval, topInterval } = subscription.extended
    const wanted = { bit, view: bit === BOOK ? view : undefined, interval: bit === BOOK ? bookInterval : topInterval }
    let shared = this.#shared.find(
      (other) => other.bit === bit && other.view === wanted.view && other.intervalMilliseconds === wanted.interval,
    )
    if (shared === undefined) {
      shared = {
        bit,
        intervalMilliseconds: wanted.interval,
        view: wanted.view,
        subscriptions: new Set(),
        position: bit === BOOK ? this.#replica.version : this.#replica.topNumber,
        cursor: wanted.view === undefined ? this.#replica.topVersion : wanted.view.view.changeVersion,
      }
      this.#shared.push(shared)
    }
    shared.subscriptions.add(subscription)
  }

  remove(subscription: ExtendedSubscription, bit: number): void {
    for (const shared of this.#shared) if (shared.bit === bit) shared.subscriptions.delete(subscription)
    this.#shared = this.#shared.filter(({ subscriptions }) => subscriptions.size > 0)
  }

  /** UPDATE before TOP_OF_BOOK, like in every batch. */
  tick(intervals: ReadonlySet<number>, onFirst: (reader: ChannelReader) => void): void {
    for (const bit of [BOOK, TOP]) {
      for (const shared of this.#shared) {
        if (shared.bit === bit && intervals.has(shared.intervalMilliseconds)) this.#tickShared(shared, onFirst)
      }
    }
  }

  #tickShared(shared: Shared, onFirst: (reader: ChannelReader) => void): void {
    const prevCursor = shared.cursor
    const step = shared.view === undefined ? this.#stepTop(shared) : this.#stepBook(shared, shared.view)
    if (step === undefined) return
    for (const subscription of shared.subscriptions) {
      const { reader, extended } = subscription
      const held = shared.bit === BOOK ? extended.bookCursor : extended.topCursor
      if (held === step.cursor) continue
      const isCurrent = !reader.outbox.isBlocked && subscription.generation === reader.generation
      if (
        !isCurrent ||
        step.chunk === undefined ||
        held !== prevCursor ||
        (subscription.delivered & shared.bit) === 0
      ) {
        extended.due |= shared.bit
        if (!reader.outbox.isBlocked) reader.makeStale(subscription)
        continue
      }
      if (shared.bit === BOOK) {
        subscription.bookVersion = shared.position
        extended.bookCursor = step.cursor
      } else {
        subscription.topNumber = shared.position
        extended.topCursor = step.cursor
      }
      if (reader.outbox.add(step.chunk)) onFirst(reader)
    }
  }

  /** Undefined when the top did not move since the last tick. */
  #stepTop(shared: Shared): Step | undefined {
    const { topNumber, topVersion } = this.#replica
    if (topNumber === shared.position) return undefined
    const frames = this.#topFrame(shared.cursor, topNumber - shared.position)
    shared.position = topNumber
    shared.cursor = topVersion
    return { cursor: topVersion, chunk: { frames, messageCount: 1 } }
  }

  /** Undefined when nothing differs from the last tick. */
  #stepBook(shared: Shared, { view, catchUp }: ExtendedView): Step | undefined {
    const { position, cursor } = shared
    shared.position = view.version
    if (view.changeVersion === cursor) return undefined
    const merged = catchUp.merged(position, cursor)
    shared.cursor = view.changeVersion
    const message = typeof merged === 'string' ? [] : merged.message
    const chunk = message.length === 1 ? { frames: message[0] as Buffer, messageCount: 1 } : undefined
    return { cursor: shared.cursor, chunk }
  }
}
