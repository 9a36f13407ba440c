/**
 * One market's arbitration: merges messages from the two lines that may publish it into one stream (a line is one
 * publisher connection). Per epoch and `seq`, the first arrival is passed on and the other one is compared with it. A
 * line whose next message follows a gap waits for the other line to fill it, and must not be read meanwhile. A gap that
 * neither line fills is passed on, and the stream's reader reports it. A line with another epoch than the current one
 * is ignored while a trusted line in the current epoch is connected.
 *
 * No message is passed on twice or out of order, with one exception: a line's SNAPSHOT is needed and older than the
 * last message. Its later messages are then passed on again, so that the reader can bring the book up to date. It holds
 * at most one message per line, and is independent of sockets and books. Time is passed in: milliseconds on one
 * monotonic clock. Pure.
 */
import { assert } from '../../platform/base/assert.ts'
import type { PublicationMessage, SnapshotMessage } from '../sources/publication/message.ts'
import { AppliedHashes, contentHash } from './content-hash.ts'

/** One market's lines: A and B. */
export const LINES_MAX = 2

/**
 * One message's outcome.
 * - `next`: passed on.
 * - `held`: it follows a gap that the other line may fill. Its line must not be read until `isHolding` is false again.
 * - `duplicate`: the other line, or this one before, brought it already.
 * - `outdated`: a SNAPSHOT older than the messages already passed on, and not needed.
 * - `other-epoch`: a trusted line publishes another epoch, which is current.
 * - `untrusted`: its line reported LOST, and the other line is trusted.
 */
export type Arrival = 'next' | 'held' | 'duplicate' | 'outdated' | 'other-epoch' | 'untrusted'

/**
 * A step in the merged stream, in order.
 * - `message`: the next message, for the reader.
 * - `resumed`: after `down`, a line continues after the last message without a gap.
 * - `down`: no trusted line in the current epoch is left.
 * - `conflict`: the lines differ at `seq`.
 */
export type LineStep<Line> =
  | { readonly kind: 'message'; readonly message: PublicationMessage; readonly line: Line }
  | { readonly kind: 'resumed' }
  | { readonly kind: 'down'; readonly reason: string }
  | { readonly kind: 'conflict'; readonly epoch: string; readonly seq: number }

interface LineState<Line> {
  readonly line: Line
  /** From its last message. `seq` is undefined before the first one in the epoch. */
  epoch: string
  seq: number | undefined
  /** It reported LOST, and has sent no SNAPSHOT since. */
  isLost: boolean
  /** Its messages up to the head are passed on, because its SNAPSHOT was older. */
  isCatchingUp: boolean
  held: { readonly message: PublicationMessage; readonly untilMilliseconds: number } | undefined
}

/** Counted since the market's start. */
export interface LineCounts {
  /** Messages missing on a line that brought later ones. */
  gaps: number
  duplicates: number
  conflicts: number
}

type NumberedMessage = Exclude<PublicationMessage, { readonly type: 'SNAPSHOT' | 'LOST' }>

/** Whether a message takes its own number. */
function isNumbered(message: PublicationMessage): message is NumberedMessage {
  return message.type !== 'SNAPSHOT' && message.type !== 'LOST'
}

export class Lines<Line> {
  readonly counts: LineCounts = { gaps: 0, duplicates: 0, conflicts: 0 }
  readonly #waitMilliseconds: () => number
  readonly #states = new Map<Line, LineState<Line>>()
  #head: { readonly epoch: string; readonly seq: number } | undefined
  #isDown = true
  #hashes = new AppliedHashes()
  /** The last SNAPSHOT passed on: the book at its `seq`. */
  #snapshot: { readonly seq: number; readonly hash: number } | undefined

  /** @param waitMilliseconds how long a line waits for the other one to fill a gap; 0 = not at all */
  constructor(waitMilliseconds: () => number) {
    this.#waitMilliseconds = waitMilliseconds
  }

  /** The last message passed on. LOST and SNAPSHOT have the preceding message's number. */
  get head(): { readonly epoch: string; readonly seq: number } | undefined {
    return this.#head
  }

  get size(): number {
    return this.#states.size
  }

  has(line: Line): boolean {
    return this.#states.has(line)
  }

  get lines(): readonly Line[] {
    return [...this.#states.keys()]
  }

  /** Whether the line belongs to the market, or may join it. */
  accepts(line: Line): boolean {
    return this.#states.has(line) || this.#states.size < LINES_MAX
  }

  /** The lines that publish the current epoch and have not lost their book. */
  get trusted(): readonly Line[] {
    return [...this.#states.values()].filter((state) => this.#isTrusted(state)).map(({ line }) => line)
  }

  /** Whether the line must not be read. */
  isHolding(line: Line): boolean {
    return this.#states.get(line)?.held !== undefined
  }

  /** Begins after a message that another process has passed on. */
  takeOver({ epoch, seq }: { readonly epoch: string; readonly seq: number }): void {
    this.#head = { epoch, seq }
  }

  /** When `expire` has to be called. Undefined while no line waits. */
  get dueMilliseconds(): number | undefined {
    let due: number | undefined
    for (const { held } of this.#states.values()) {
      if (held !== undefined) due = Math.min(held.untilMilliseconds, due ?? held.untilMilliseconds)
    }
    return due
  }

  /**
   * Takes a line's next message. `accepts` must allow the line, and it must not hold a message.
   * @param needsSnapshot whether the stream's reader needs a SNAPSHOT
   */
  arrive(
    line: Line,
    message: PublicationMessage,
    nowMilliseconds: number,
    needsSnapshot: boolean,
  ): { readonly arrival: Arrival; readonly steps: readonly LineStep<Line>[] } {
    const state = this.#stateOf(line, message.epoch)
    assert(state.held === undefined, 'a line with a held message is not read')
    const steps: LineStep<Line>[] = []
    const arrival = this.#place(state, message, nowMilliseconds, needsSnapshot, steps)
    if (arrival === 'duplicate') this.counts.duplicates++
    this.#settle(nowMilliseconds, steps)
    return { arrival: arrival === 'held' && !this.isHolding(line) ? 'next' : arrival, steps }
  }

  /**
   * Takes a line's report, without a message, about its last `seq`. The line joins the market. It resumes the market if
   * this is also the last message passed on.
   */
  confirm(line: Line, epoch: string, seq: number): readonly LineStep<Line>[] {
    const head = this.#head
    if (head === undefined || head.epoch !== epoch || head.seq !== seq || !this.accepts(line)) return []
    const state = this.#stateOf(line, epoch)
    if (state.held !== undefined || state.isLost) return []
    state.seq = seq
    const steps: LineStep<Line>[] = []
    this.#resume(steps)
    return steps
  }

  /** The line is gone, with any held message. */
  leave(line: Line, reason: string, nowMilliseconds: number): readonly LineStep<Line>[] {
    const steps: LineStep<Line>[] = []
    if (!this.#states.delete(line)) return steps
    this.#settle(nowMilliseconds, steps)
    if (!this.#isDown && !this.#hasTrusted(undefined)) {
      this.#isDown = true
      steps.push({ kind: 'down', reason })
    }
    return steps
  }

  /** Passes on what has waited long enough. */
  expire(nowMilliseconds: number): readonly LineStep<Line>[] {
    const steps: LineStep<Line>[] = []
    this.#settle(nowMilliseconds, steps)
    return steps
  }

  #stateOf(line: Line, epoch: string): LineState<Line> {
    let state = this.#states.get(line)
    if (state === undefined) {
      assert(this.#states.size < LINES_MAX, 'a third line is rejected before')
      state = { line, epoch, seq: undefined, isLost: false, isCatchingUp: false, held: undefined }
      this.#states.set(line, state)
    } else if (state.epoch !== epoch)
      Object.assign(state, { epoch, seq: undefined, isLost: false, isCatchingUp: false })
    return state
  }

  #place(
    state: LineState<Line>,
    message: PublicationMessage,
    nowMilliseconds: number,
    needsSnapshot: boolean,
    steps: LineStep<Line>[],
  ): Arrival {
    if (this.#head !== undefined && this.#head.epoch !== message.epoch) {
      if (this.#hasTrusted(undefined)) return 'other-epoch'
      this.#leaveEpoch()
    }
    const { seq: before } = state
    if (isNumbered(message) && before !== undefined && message.prev > before) this.counts.gaps += message.prev - before
    state.seq = message.seq
    if (this.#head === undefined) return this.#pass(state, message, steps)
    switch (message.type) {
      case 'SNAPSHOT':
        state.isLost = false
        return this.#placeSnapshot(state, message, before, nowMilliseconds, needsSnapshot, steps)
      case 'LOST':
        state.isLost = true
        return this.#hasTrusted(state) ? 'untrusted' : this.#pass(state, message, steps)
      default:
        if (message.seq <= this.#head.seq) return this.#repeat(state, message, this.#head.seq, steps)
        if (state.isLost && this.#hasTrusted(state)) return 'untrusted'
        if (message.prev > this.#head.seq) return this.#passOrHold(state, message, nowMilliseconds, steps)
        if (message.prev === this.#head.seq) this.#resume(steps)
        return this.#pass(state, message, steps)
    }
  }

  #placeSnapshot(
    state: LineState<Line>,
    message: SnapshotMessage,
    before: number | undefined,
    nowMilliseconds: number,
    needsSnapshot: boolean,
    steps: LineStep<Line>[],
  ): Arrival {
    const { seq } = this.#head as { seq: number }
    // With two lines, the other one has later messages: its SNAPSHOT follows, or this line's when it is up to date.
    if (message.seq < seq && needsSnapshot && !this.#hasTrusted(state)) {
      state.isCatchingUp = true
      this.#isDown = false
      steps.push({ kind: 'message', message, line: state.line })
      return 'next'
    }
    if (message.seq < seq) return 'outdated'
    if (message.prev === seq) return this.#pass(state, message, steps)
    if (message.seq > seq) return this.#passOrHold(state, message, nowMilliseconds, steps)
    if (!needsSnapshot && !this.#isDown) {
      if (this.#snapshot?.seq === seq) return this.#compareSnapshot(message, steps)
      // A joining line is compared by its next messages and its heartbeats' digests.
      if (before !== seq && this.#hasTrusted(state)) return 'duplicate'
    }
    return this.#pass(state, message, steps)
  }

  /**
   * Takes a message up to the head. It is compared with the copy already passed on, and passed on again to a book
   * catching up.
   */
  #repeat(
    state: LineState<Line>,
    message: NumberedMessage,
    headSeq: number,
    steps: LineStep<Line>[],
  ): 'next' | 'duplicate' {
    this.#compare(message, steps)
    if (!state.isCatchingUp) return 'duplicate'
    state.isCatchingUp = message.seq < headSeq
    steps.push({ kind: 'message', message, line: state.line })
    return 'next'
  }

  /** What was passed on has another epoch than the next message. */
  #leaveEpoch(): void {
    this.#head = undefined
    this.#hashes = new AppliedHashes()
    this.#snapshot = undefined
  }

  #passOrHold(
    state: LineState<Line>,
    message: PublicationMessage,
    nowMilliseconds: number,
    steps: LineStep<Line>[],
  ): Arrival {
    const waitMilliseconds = this.#waitMilliseconds()
    if (waitMilliseconds === 0 || !this.#mayBeFilled(state)) return this.#pass(state, message, steps)
    state.held = { message, untilMilliseconds: nowMilliseconds + waitMilliseconds }
    return 'held'
  }

  /** Whether another line can still bring the messages after the head. */
  #mayBeFilled(waiting: LineState<Line>): boolean {
    return [...this.#states.values()].some(
      (state) => state !== waiting && this.#isTrusted(state) && state.held === undefined,
    )
  }

  #isTrusted({ epoch, isLost }: LineState<Line>): boolean {
    return epoch === this.#head?.epoch && !isLost
  }

  /** Whether a trusted line in the current epoch is connected, besides this one. */
  #hasTrusted(besides: LineState<Line> | undefined): boolean {
    return [...this.#states.values()].some((state) => state !== besides && this.#isTrusted(state))
  }

  #resume(steps: LineStep<Line>[]): void {
    if (this.#isDown) steps.push({ kind: 'resumed' })
    this.#isDown = false
  }

  #pass({ line }: LineState<Line>, message: PublicationMessage, steps: LineStep<Line>[]): 'next' {
    const { epoch, seq } = message
    if (message.type === 'SNAPSHOT') {
      this.#snapshot = { seq, hash: contentHash(message) }
      for (const state of this.#states.values()) state.isCatchingUp = false
    } else if (isNumbered(message) && message.prev === seq - 1) this.#hashes.record(seq, contentHash(message))
    this.#head = { epoch, seq: Math.max(seq, this.#head?.seq ?? 0) }
    if (message.type !== 'LOST') this.#isDown = false
    steps.push({ kind: 'message', message, line })
    return 'next'
  }

  /** Compares a message with the copy already passed on. A relay may cover several numbers: such messages differ. */
  #compare(message: PublicationMessage, steps: LineStep<Line>[]): 'duplicate' {
    const { epoch, seq } = message
    const known = isNumbered(message) && message.prev === seq - 1 ? this.#hashes.get(seq) : undefined
    if (known !== undefined && known !== contentHash(message)) this.#conflict(epoch, seq, steps)
    else if (seq === this.#head?.seq) this.#resume(steps)
    return 'duplicate'
  }

  #compareSnapshot(message: SnapshotMessage, steps: LineStep<Line>[]): 'duplicate' {
    if (this.#snapshot?.hash !== contentHash(message)) this.#conflict(message.epoch, message.seq, steps)
    return 'duplicate'
  }

  /** Messages up to now are not compared again: each difference is reported once. */
  #conflict(epoch: string, seq: number, steps: LineStep<Line>[]): void {
    this.counts.conflicts++
    this.#hashes.clear()
    this.#snapshot = undefined
    steps.push({ kind: 'conflict', epoch, seq })
  }

  /** Passes on held messages whose gap is filled, cannot be filled any more, or has waited long enough. */
  #settle(nowMilliseconds: number, steps: LineStep<Line>[]): void {
    for (let state = this.#firstHolding(); state !== undefined; state = this.#firstHolding()) {
      const { message, untilMilliseconds } = state.held as NonNullable<typeof state.held>
      const headSeq = this.#head?.seq ?? 0
      const isPassed = message.epoch !== this.#head?.epoch || message.seq <= headSeq
      const isNext = isNumbered(message) && message.prev <= headSeq
      if (!isPassed && !isNext && nowMilliseconds < untilMilliseconds && this.#mayBeFilled(state)) return
      state.held = undefined
      if (!isPassed) this.#pass(state, message, steps)
      else {
        this.counts.duplicates++
        if (isNumbered(message) && message.epoch === this.#head?.epoch) this.#compare(message, steps)
      }
    }
  }

  /** Among the lines holding a message, the one with the lowest number. */
  #firstHolding(): LineState<Line> | undefined {
    let first: LineState<Line> | undefined
    for (const state of this.#states.values()) {
      if (state.held === undefined) continue
      if (first?.held === undefined || state.held.message.seq < first.held.message.seq) first = state
    }
    return first
  }
}
