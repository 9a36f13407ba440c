/**
 * The last executions of a market, numbered from 1. The frame of each is made once per encoding, when it is first
 * needed; only the first frame of an extended subscription is its own. Lagging subscribers read the frames from here.
 * An execution that the log has dropped is lost to them, and so is one that the source missed: a miss takes a number,
 * and everything older than the newest miss counts as dropped. Nothing is skipped silently: the log reports its first
 * number, and a subscriber before it has to be closed.
 */
import type { Execution, MarketDefinition } from '../market/event.ts'
import type { Commit } from './bus.ts'
import { Cursors } from './cursor.ts'
import { BASE, type Encoding, executionText, extendedText, textFrame } from './frame.ts'

interface Entry {
  readonly execution: Execution
  readonly commitMilliseconds: number
  readonly frames: [base: Buffer | undefined, extended: Buffer | undefined]
}

export class ExecutionLog {
  readonly #market: MarketDefinition
  readonly #kept: number
  /** A ring: number n is at (n - 1) modulo the size; undefined = a miss. */
  readonly #entries: (Entry | undefined)[] = []
  readonly #cursors: Cursors
  #epoch = ''
  #lastNumber = 0
  #missNumber = 0

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

  append(commit: Commit): void {
    this.#epoch = commit.epoch
    const { executions, milliseconds, missedAt } = commit
    for (const [place, execution] of executions.entries()) {
      if (place === missedAt) this.#appendMiss()
      this.#append({ execution, commitMilliseconds: milliseconds, frames: [undefined, undefined] })
    }
    if (missedAt === executions.length) this.#appendMiss()
  }

  /** The frame of an execution that is kept. `isFirst`: for a subscription that was sent no execution before. */
  frame(number: number, encoding: Encoding, isFirst: boolean): Buffer {
    const entry = this.#entries[(number - 1) % this.#kept] as Entry
    if (encoding !== BASE && isFirst) return this.#encode(entry, number, encoding, undefined)
    const { frames } = entry
    frames[encoding] ??= unpooled(this.#encode(entry, number, encoding, this.#cursors.token(this.#epoch, number - 1)))
    return frames[encoding]
  }

  /** The number that a cursor names if every execution after it is kept. */
  resumable(cursor: string): number | undefined {
    const number = this.#cursors.position(this.#epoch, cursor)
    if (number === undefined || number > this.#lastNumber || number + 1 < this.firstNumber) return undefined
    return number
  }

  #append(entry: Entry | undefined): void {
    this.#entries[this.#lastNumber % this.#kept] = entry
    this.#lastNumber += 1
  }

  #appendMiss(): void {
    this.#append(undefined)
    this.#missNumber = this.#lastNumber
  }

  #encode(entry: Entry, number: number, encoding: Encoding, prev: string | undefined): Buffer {
    const text = executionText(this.#market, entry.execution, entry.commitMilliseconds)
    if (encoding === BASE) return textFrame(text)
    const cursor = this.#cursors.token(this.#epoch, number)
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
