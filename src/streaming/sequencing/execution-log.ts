/**
 * The last executions of a market, numbered from 1. The frame of each is made once per encoding, when it is first
 * needed; only the first frame of an extended subscription is its own. Lagging subscribers read the frames from here.
 * An execution that the log has dropped is lost to them, and so is one that the source missed: a miss takes a number,
 * and everything older than the newest miss counts as dropped. So does everything of an earlier epoch, unless the later
 * one continues exactly where this log ended: otherwise nothing proves that no execution was between them. Nothing is
 * skipped silently: the log reports its first number, and a subscriber before it has to be closed.
 */
import type { Execution, MarketDefinition } from '../market/event.ts'
import type { Commit, Continuation, KeptExecution, MarketState } from './bus.ts'
import { Cursors, type Epoch, NO_EPOCH } from './cursor.ts'
import { BASE, type Encoding, executionText, extendedExecutionText, extendedText, textFrame } from './frame.ts'

type BegunEpoch = Pick<Commit, 'epoch' | 'continues'>

/** Its version is that in this process. */
interface Entry extends KeptExecution {
  readonly frames: [base: Buffer | undefined, extended: Buffer | undefined]
}

/** Earlier epochs whose cursors are known; leaders are replaced rarely. */
const CONTINUED_EPOCHS_MAX = 100

export class ExecutionLog {
  readonly #market: MarketDefinition
  readonly #kept: number
  /** A ring: number n is at (n - 1) modulo the size; undefined = a miss. */
  readonly #entries: (Entry | undefined)[] = []
  readonly #cursors: Cursors
  #epoch = NO_EPOCH
  /** The epochs that the present one continues, oldest first. */
  #continued: Epoch[] = []
  #lastNumber = 0
  #missNumber = 0
  /** Version of the newest execution or miss that is not kept; 0 = all are kept. */
  #droppedVersion = 0

  constructor(market: MarketDefinition, kept: number) {
    this.#market = market
    this.#kept = kept
    this.#cursors = new Cursors(market.symbol, 'execution_data', 0)
  }

  /** Number of the newest execution or miss; 0 before the first. */
  get lastNumber(): number {
    return this.#lastNumber
  }

  /** Number of the oldest execution that is kept; `lastNumber + 1` when none is. */
  get firstNumber(): number {
    return Math.max(this.#lastNumber - this.#kept, this.#missNumber) + 1
  }

  /** Number of the newest miss; 0 when there was none. */
  get missNumber(): number {
    return this.#missNumber
  }

  /** Number of the newest execution or miss within the epoch. */
  get epochNumber(): number {
    return this.#lastNumber - this.#epoch.base
  }

  /** `version`: that of the commit in this process. Returns how many numbers were added. */
  append(commit: Commit, version: number): number {
    const before = this.#lastNumber
    const { executions, milliseconds, missedAt } = commit
    if (commit.epoch !== this.#epoch.id) this.#beginEpoch(commit, 0, version)
    for (const [place, execution] of executions.entries()) {
      if (place === missedAt) this.#appendMiss(version)
      this.#append({ execution, version, commitMilliseconds: milliseconds, frames: [undefined, undefined] })
    }
    if (missedAt === executions.length) this.#appendMiss(version)
    return this.#lastNumber - before
  }

  /**
   * Continues with the executions of a state. `version`: that of the state in this process. Executions between the last
   * one and the first of the state are missing, which is a miss. Returns how many numbers were added.
   */
  continueFrom(state: MarketState, version: number): number {
    const { executions, executionNumber } = state
    const before = this.#lastNumber
    const first = executionNumber - executions.length
    if (state.epoch !== this.#epoch.id) this.#beginEpoch(state, first, version)
    const known = this.epochNumber - first
    if (known < 0) {
      this.#lastNumber = this.#epoch.base + first - 1
      this.#appendMiss(version - state.version + (executions[0]?.version ?? state.version))
    }
    const versionBase = version - state.version
    for (const kept of executions.slice(Math.max(0, known))) {
      this.#append({ ...kept, version: versionBase + kept.version, frames: [undefined, undefined] })
    }
    return this.#lastNumber - before
  }

  /** The executions that are kept after a number of the epoch. */
  since(epochNumber: number): Pick<Entry, 'execution' | 'version' | 'commitMilliseconds'>[] {
    const kept: Entry[] = []
    const first = Math.max(this.#epoch.base + epochNumber + 1, this.firstNumber)
    for (let number = first; number <= this.#lastNumber; number++) kept.push(this.at(number) as Entry)
    return kept
  }

  /** The last executions before the epoch, this many; none unless all of them are kept. */
  beforeEpoch(count: number): Pick<Entry, 'execution' | 'version' | 'commitMilliseconds'>[] {
    const first = this.#epoch.base - count + 1
    if (first < this.firstNumber) return []
    return Array.from({ length: count }, (_, place) => this.at(first + place))
  }

  /** The last executions of a venue, oldest first: those after the newest miss, `countMax` at most. */
  lastOf(venue: string, countMax: number): Execution[] {
    const found: Execution[] = []
    for (let number = this.#lastNumber; number >= this.firstNumber && found.length < countMax; number--) {
      const { execution } = this.at(number)
      if (execution.venue === venue) found.push(execution)
    }
    return found.reverse()
  }

  /** Identifies an execution whose source gives it no identifier. */
  idOf(number: number): string {
    return this.#cursors.token(this.#epochOf(number), number)
  }

  /** An execution that is kept, with the version and the time of its commit. */
  at(number: number): Pick<Entry, 'execution' | 'version' | 'commitMilliseconds'> {
    return this.#entries[(number - 1) % this.#kept] as Entry
  }

  /**
   * Number of the last execution up to a version of the book, itself included; undefined when an execution after that
   * version is not kept any more or was missed.
   */
  numberAt(version: number): number | undefined {
    if (version < this.#droppedVersion) return undefined
    let low = this.firstNumber - 1
    let high = this.#lastNumber
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (this.at(middle).version <= version) low = middle
      else high = middle - 1
    }
    return low
  }

  /** The frame of an execution that is kept. `isFirst`: for a subscription that was sent no execution before. */
  frame(number: number, encoding: Encoding, isFirst: boolean): Buffer {
    const entry = this.#entries[(number - 1) % this.#kept] as Entry
    if (encoding !== BASE && isFirst) return this.#encode(entry, number, encoding, undefined)
    const { frames } = entry
    frames[encoding] ??= unpooled(this.#encode(entry, number, encoding, this.idOf(number - 1)))
    return frames[encoding]
  }

  /** The number that a cursor names if every execution after it is kept. */
  resumable(cursor: string): number | undefined {
    let last = this.#lastNumber
    for (const epoch of [this.#epoch, ...this.#continued.toReversed()]) {
      const number = this.#cursors.position(epoch, cursor)
      // What an earlier epoch had after the one that continues it is not known here.
      if (number !== undefined) return number > last || number + 1 < this.firstNumber ? undefined : number
      last = epoch.base
    }
    return undefined
  }

  /** `epochNumber`: that of the last execution before those that follow. */
  #beginEpoch({ epoch: id, continues }: BegunEpoch, epochNumber: number, version: number): void {
    // Without anything before there is no subscriber that could have missed something.
    if (this.#epoch === NO_EPOCH) {
      this.#lastNumber = epochNumber
      this.#missNumber = epochNumber
    } else if (epochNumber === 0 && this.#isContinuedBy(continues)) {
      this.#continued.push(this.#epoch)
      if (this.#continued.length > CONTINUED_EPOCHS_MAX) this.#continued.shift()
    } else {
      this.#appendMiss(version)
    }
    this.#epoch = { id, base: this.#lastNumber - epochNumber }
  }

  #isContinuedBy(continues: Continuation | undefined): boolean {
    return continues?.epoch === this.#epoch.id && continues.executionNumber === this.epochNumber
  }

  /** The epoch of a number; a position before the first of an epoch is the end of the one that it continues. */
  #epochOf(number: number): Epoch {
    if (number > this.#epoch.base || this.#continued.length === 0) return this.#epoch
    return this.#continued.findLast(({ base }) => number > base) ?? (this.#continued[0] as Epoch)
  }

  #append(entry: Entry | undefined): void {
    const place = this.#lastNumber % this.#kept
    // The ring still holds entries from before a miss, whose version is later than theirs.
    this.#droppedVersion = Math.max(this.#droppedVersion, this.#entries[place]?.version ?? 0)
    this.#entries[place] = entry
    this.#lastNumber += 1
  }

  #appendMiss(version: number): void {
    this.#append(undefined)
    this.#continued = []
    this.#missNumber = this.#lastNumber
    this.#droppedVersion = version
  }

  #encode(entry: Entry, number: number, encoding: Encoding, prev: string | undefined): Buffer {
    const { execution, commitMilliseconds } = entry
    if (encoding === BASE) return textFrame(executionText(this.#market, execution, commitMilliseconds))
    const cursor = this.idOf(number)
    const text = extendedExecutionText(this.#market, { ...execution, id: execution.id ?? cursor }, commitMilliseconds)
    return textFrame(extendedText(text, { cursor, prev, covers: 1 }))
  }
}

/**
 * A copy in its own memory. Small buffers are cut from shared slabs of 8 KiB: a frame that is kept would keep its slab,
 * 30 times its size (0.1 MB per second in a soak of four venues).
 */
function unpooled(frame: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(frame.length)
  frame.copy(copy)
  return copy
}
