/**
 * The last executions of a market, numbered without gaps, each encoded once when somebody needs it. A reader that fell
 * behind takes them from here; what has fallen out is lost to it, and it is told so, never silently skipped. So is who
 * stands before a hole, which are executions that nobody could have: a hole takes a number, and whatever is older than
 * the newest hole counts as fallen out.
 */
import type { Execution, MarketDefinition } from '../market/event.ts'
import type { Commit } from './bus.ts'
import { Cursors } from './cursor.ts'
import { executionText, extendedText, textFrame } from './frame.ts'

interface Entry {
  readonly execution: Execution
  readonly commitMilliseconds: number
  frame: Buffer | undefined
  extendedFrame: Buffer | undefined
}

export class ExecutionLog {
  readonly #market: MarketDefinition
  readonly #kept: number
  /** A ring: number n stands at (n - 1) modulo the size; a hole stands there as undefined. */
  readonly #entries: (Entry | undefined)[] = []
  readonly #cursors: Cursors
  #epoch = ''
  #lastNumber = 0
  #holeNumber = 0

  constructor(market: MarketDefinition, kept: number) {
    this.#market = market
    this.#kept = kept
    this.#cursors = new Cursors(market.symbol, 'execution_data', 0)
  }

  /** Number of the newest execution or hole; 0 before the first. */
  get lastNumber(): number {
    return this.#lastNumber
  }

  /** Number of the oldest execution that is still here; `lastNumber + 1` when none is. */
  get firstNumber(): number {
    return Math.max(this.#lastNumber - this.#kept, this.#holeNumber) + 1
  }

  /** Number that the newest hole took; 0 when there never was one. */
  get holeNumber(): number {
    return this.#holeNumber
  }

  append(commit: Commit): void {
    this.#epoch = commit.epoch
    const { executions, milliseconds, missedAt } = commit
    for (const [place, execution] of executions.entries()) {
      if (place === missedAt) this.#appendHole()
      this.#append({ execution, commitMilliseconds: milliseconds, frame: undefined, extendedFrame: undefined })
    }
    if (missedAt === executions.length) this.#appendHole()
  }

  /** The finished frame of an execution that is still here. */
  frame(number: number): Buffer {
    const entry = this.#entries[(number - 1) % this.#kept] as Entry
    entry.frame ??= unpooled(textFrame(this.#text(entry)))
    return entry.frame
  }

  /** The same on the extended wire; `isFirst`: for a subscription that has been sent none before. */
  extendedFrame(number: number, isFirst: boolean): Buffer {
    const entry = this.#entries[(number - 1) % this.#kept] as Entry
    if (isFirst) return this.#extended(entry, number, undefined)
    entry.extendedFrame ??= unpooled(this.#extended(entry, number, this.#cursors.token(this.#epoch, number - 1)))
    return entry.extendedFrame
  }

  /** The number that a cursor names when every execution after it is still here; undefined when that is not so. */
  resumable(cursor: string): number | undefined {
    const number = this.#cursors.position(this.#epoch, cursor)
    if (number === undefined || number > this.#lastNumber || number + 1 < this.firstNumber) return undefined
    return number
  }

  #append(entry: Entry | undefined): void {
    this.#entries[this.#lastNumber % this.#kept] = entry
    this.#lastNumber += 1
  }

  #appendHole(): void {
    this.#append(undefined)
    this.#holeNumber = this.#lastNumber
  }

  #extended(entry: Entry, number: number, prev: string | undefined): Buffer {
    const cursor = this.#cursors.token(this.#epoch, number)
    return textFrame(extendedText(this.#text(entry), { cursor, prev, covers: 1 }))
  }

  #text(entry: Entry): string {
    return executionText(this.#market, entry.execution, entry.commitMilliseconds)
  }
}

/**
 * A frame in memory of its own. Small buffers are cut from slabs of 8 KiB that are shared with frames of a moment: one
 * that is kept keeps its slab, 30 times its size (0.1 MB a second in a soak of four venues).
 */
function unpooled(frame: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(frame.length)
  frame.copy(copy)
  return copy
}
