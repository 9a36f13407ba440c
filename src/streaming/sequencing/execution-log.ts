/**
 * A market's last executions, numbered from 1. Each execution's frame is made once per encoding, when it is first
 * needed. Only an extended subscription's first frame is its own. Lagging subscribers read the frames from here. An
 * execution is lost to them once the log has dropped it or the source has missed it: a miss takes a number, and
 * everything older than the newest miss counts as dropped. An earlier epoch's executions count as dropped too, unless
 * the later epoch continues exactly where this log ended: otherwise there could have been executions between them.
 * Nothing is skipped silently: the log reports its first number, and a subscriber before it has to be closed.
 */
import type { Execution, MarketDefinition } from '../market/event.ts'
import type { Commit, Continuation, KeptExecution, MarketState } from './bus.ts'
import { Cursors, type Epoch, NO_EPOCH } from './cursor.ts'
import { BASE, type Encoding, executionText, extendedExecutionText, extendedText, textFrame } from './frame.ts'

type BegunEpoch = Pick<Commit, 'epoch' | 'continues'> & Pick<MarketState, 'isIncomplete'>

/** `version` is the commit's version in this process. */
interface Entry extends KeptExecution {
  readonly frames: [base: Buffer | undefined, extended: Buffer | undefined]
}

export interface NumberedExecution extends Pick<KeptExecution, 'execution' | 'commitMilliseconds'> {
  readonly number: number
}

/** Earlier epochs with known cursors. Leaders are rarely replaced. */
const EARLIER_EPOCHS_MAX = 100

export class ExecutionLog {
  readonly #market: MarketDefinition
  readonly #kept: number
  /** A ring: number n is at (n - 1) modulo the size. Undefined = a miss. */
  readonly #entries: (Entry | undefined)[] = []
  readonly #cursors: Cursors
  #epoch = NO_EPOCH
  /** The epochs continued by the present one, oldest first. */
  #continued: Epoch[] = []
  /** Every epoch before the present one, oldest first. An epoch that was followed late has a base below them. */
  readonly #earlier: (Epoch & { readonly lastNumber: number })[] = []
  #lastNumber = 0
  #missNumber = 0
  /** Version of the newest dropped execution or miss. 0 = all are kept. */
  #droppedVersion = 0
  /** When it was committed, at the latest. */
  #droppedMilliseconds = 0

  constructor(market: MarketDefinition, kept: number) {
    this.#market = market
    this.#kept = kept
    this.#cursors = new Cursors(market.symbol, 'execution_data', 0)
  }

  /** Number of the newest execution or miss. 0 before the first. */
  get lastNumber(): number {
    return this.#lastNumber
  }

  /** Number of the oldest kept execution. `lastNumber + 1` when none is kept. */
  get firstNumber(): number {
    return Math.max(this.#lastNumber - this.#kept, this.#missNumber) + 1
  }

  /** Number of the newest miss. 0 when there was none. */
  get missNumber(): number {
    return this.#missNumber
  }

  /** Every execution committed after this time is kept. 0 = all are kept. */
  get droppedMilliseconds(): number {
    return this.#droppedMilliseconds
  }

  /** Number of the newest execution or miss within the epoch. */
  get epochNumber(): number {
    return this.#lastNumber - this.#epoch.base
  }

  /** Returns how many numbers were added. `version`: the commit's version in this process. */
  append(commit: Commit, version: number): number {
    const before = this.#lastNumber
    const { executions, milliseconds, missedAt } = commit
    if (commit.epoch !== this.#epoch.id) this.#beginEpoch(commit, 0, version, milliseconds)
    for (const [place, execution] of executions.entries()) {
      if (place === missedAt) this.#appendMiss(version, milliseconds)
      this.#append({ execution, version, commitMilliseconds: milliseconds, frames: [undefined, undefined] })
    }
    if (missedAt === executions.length) this.#appendMiss(version, milliseconds)
    return this.#lastNumber - before
  }

  /**
   * Continues with a state's executions, and returns how many numbers were added. Executions between the last one and
   * the state's first are missing, which is a miss. `version`: the state's version in this process.
   */
  continueFrom(state: MarketState, version: number): number {
    const { executions, executionNumber } = state
    const before = this.#lastNumber
    const first = executionNumber - executions.length
    const milliseconds = executions[0]?.commitMilliseconds ?? state.milliseconds
    if (state.epoch !== this.#epoch.id) this.#beginEpoch(state, first, version, milliseconds)
    const known = this.epochNumber - first
    if (known < 0) {
      this.#lastNumber = this.#epoch.base + first - 1
      this.#appendMiss(version - state.version + (executions[0]?.version ?? state.version), milliseconds)
    }
    const versionBase = version - state.version
    for (const kept of executions.slice(Math.max(0, known))) {
      this.#append({ ...kept, version: versionBase + kept.version, frames: [undefined, undefined] })
    }
    return this.#lastNumber - before
  }

  /** The kept executions after a number within the epoch. */
  since(epochNumber: number): Pick<Entry, 'execution' | 'version' | 'commitMilliseconds'>[] {
    const kept: Entry[] = []
    const first = Math.max(this.#epoch.base + epochNumber + 1, this.firstNumber)
    for (let number = first; number <= this.#lastNumber; number++) kept.push(this.at(number) as Entry)
    return kept
  }

  /** The last `count` executions before the epoch. None unless all of them are kept. */
  beforeEpoch(count: number): Pick<Entry, 'execution' | 'version' | 'commitMilliseconds'>[] {
    const first = this.#epoch.base - count + 1
    if (first < this.firstNumber) return []
    return Array.from({ length: count }, (_, place) => this.at(first + place))
  }

  /** A venue's last executions after the newest miss, oldest first, at most `countMax`. */
  lastOf(venue: string, countMax: number): Execution[] {
    const found: Execution[] = []
    for (let number = this.#lastNumber; number >= this.firstNumber && found.length < countMax; number--) {
      const { execution } = this.at(number)
      if (execution.venue === venue) found.push(execution)
    }
    return found.reverse()
  }

  /** When each venue last executed after the newest miss, without these venues. */
  lastTimes(without: readonly string[]): Map<string, number> {
    const times = new Map<string, number>()
    for (let number = this.#lastNumber; number >= this.firstNumber; number--) {
      const { execution, commitMilliseconds } = this.at(number)
      const { venue = '', executedAtMilliseconds = commitMilliseconds } = execution
      if (!times.has(venue) && !without.includes(venue)) times.set(venue, executedAtMilliseconds)
    }
    return times
  }

  /** Identifies an execution whose source gives it no identifier. */
  idOf(number: number): string {
    return this.#cursors.token(this.#epochOf(number), number)
  }

  /** A kept execution, with its commit's version and time. */
  at(number: number): Pick<Entry, 'execution' | 'version' | 'commitMilliseconds'> {
    return this.#entries[(number - 1) % this.#kept] as Entry
  }

  /**
   * Number of the last execution up to and including a book version. Undefined when an execution after that version was
   * dropped or missed.
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

  /** A kept execution's frame. `isFirst`: for a subscription without an execution so far. */
  frame(number: number, encoding: Encoding, isFirst: boolean): Buffer {
    const entry = this.#entries[(number - 1) % this.#kept] as Entry
    if (encoding !== BASE && isFirst) return this.#encode(entry, number, encoding, undefined)
    const { frames } = entry
    frames[encoding] ??= unpooled(this.#encode(entry, number, encoding, this.idOf(number - 1)))
    return frames[encoding]
  }

  /** The kept execution named by a cursor. */
  numberOf(cursor: string): number | undefined {
    const number = this.resumable(cursor)
    return number === undefined || number < this.firstNumber ? undefined : number
  }

  /** The number named by a cursor, if every execution after it is kept. */
  resumable(cursor: string): number | undefined {
    return this.#resumable((epoch) => this.#cursors.position(epoch, cursor))
  }

  /** The number for a position in an epoch, if every execution after it is kept. */
  resumableAt({ epoch, executionNumber }: Continuation): number | undefined {
    return this.#resumable(({ id, base }) => (id === epoch ? base + executionNumber : undefined))
  }

  #resumable(numberIn: (epoch: Epoch) => number | undefined): number | undefined {
    let last = this.#lastNumber
    for (const epoch of [this.#epoch, ...this.#continued.toReversed()]) {
      const number = numberIn(epoch)
      // What an earlier epoch had after its continuation is not known here.
      if (number !== undefined) return number > last || number + 1 < this.firstNumber ? undefined : number
      last = epoch.base
    }
    return undefined
  }

  /**
   * Calls `each` with every execution after a number, with undefined and its number for a miss, and with undefined and 0
   * for dropped ones.
   */
  readAfter(number: number, each: (kept: NumberedExecution | undefined, number: number) => void): void {
    const first = Math.max(number + 1, this.#lastNumber - this.#kept + 1)
    if (first > number + 1) each(undefined, 0)
    for (let next = first; next <= this.#lastNumber; next++) {
      const entry = this.#entries[(next - 1) % this.#kept]
      each(entry && { number: next, execution: entry.execution, commitMilliseconds: entry.commitMilliseconds }, next)
    }
  }

  /** `epochNumber`: number of the last execution before the following ones. `milliseconds`: no earlier one is later. */
  #beginEpoch(begun: BegunEpoch, epochNumber: number, version: number, milliseconds: number): void {
    const { epoch: id, continues, isIncomplete } = begun
    const ended = { ...this.#epoch, lastNumber: this.#lastNumber }
    // An empty log's subscribers are owed what comes after it. Its numbers begin at 1, whatever the epoch's are.
    if (this.#epoch === NO_EPOCH) {
      if (isIncomplete) this.#appendMiss(version, milliseconds)
    } else if (epochNumber === 0 && this.#isContinuedBy(continues)) {
      this.#continued.push(this.#epoch)
      if (this.#continued.length > EARLIER_EPOCHS_MAX) this.#continued.shift()
    } else {
      this.#appendMiss(version, milliseconds)
    }
    if (this.#epoch !== NO_EPOCH) this.#earlier.push(ended)
    if (this.#earlier.length > EARLIER_EPOCHS_MAX) this.#earlier.shift()
    this.#epoch = { id, base: this.#lastNumber - epochNumber }
  }

  #isContinuedBy(continues: Continuation | undefined): boolean {
    return continues?.epoch === this.#epoch.id && continues.executionNumber === this.epochNumber
  }

  /** The epoch for a number. A position before an epoch's first number is the end of the continued epoch. */
  #epochOf(number: number): Epoch {
    if (number < this.#missNumber) return this.#earlier.find(({ lastNumber }) => number <= lastNumber) ?? this.#epoch
    if (number > this.#epoch.base || this.#continued.length === 0) return this.#epoch
    return this.#continued.findLast(({ base }) => number > base) ?? (this.#continued[0] as Epoch)
  }

  #append(entry: Entry | undefined): void {
    const place = this.#lastNumber % this.#kept
    // The ring still holds entries from before a miss, whose version is later than theirs.
    const dropped = this.#entries[place]
    this.#droppedVersion = Math.max(this.#droppedVersion, dropped?.version ?? 0)
    this.#droppedMilliseconds = Math.max(this.#droppedMilliseconds, dropped?.commitMilliseconds ?? 0)
    this.#entries[place] = entry
    this.#lastNumber += 1
  }

  #appendMiss(version: number, milliseconds: number): void {
    this.#append(undefined)
    this.#continued = []
    this.#missNumber = this.#lastNumber
    this.#droppedVersion = version
    this.#droppedMilliseconds = Math.max(this.#droppedMilliseconds, milliseconds)
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
 * A copy in its own memory. Small buffers are cut from shared slabs of 8 KiB: a kept frame would keep its slab, 30
 * times its size (0.1 MB per second in a soak with four venues).
 */
function unpooled(frame: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(frame.length)
  frame.copy(copy)
  return copy
}
