/**
 * The last executions of a market, numbered without gaps, each encoded once when somebody needs it. A reader that fell
 * behind takes them from here; what has fallen out is lost to it, and it is told so, never silently skipped.
 */
import type { Execution, MarketDefinition } from '../market/event.ts'
import type { Commit } from './bus.ts'
import { executionText, textFrame } from './frame.ts'

interface Entry {
  readonly execution: Execution
  readonly commitMilliseconds: number
  frame: Buffer | undefined
}

export class ExecutionLog {
  readonly #market: MarketDefinition
  readonly #kept: number
  readonly #entries: Entry[] = []
  #lastNumber = 0

  constructor(market: MarketDefinition, kept: number) {
    this.#market = market
    this.#kept = kept
  }

  /** Number of the newest execution; 0 before the first. */
  get lastNumber(): number {
    return this.#lastNumber
  }

  /** Number of the oldest execution that is still here; `lastNumber + 1` when none is. */
  get firstNumber(): number {
    return this.#lastNumber - this.#entries.length + 1
  }

  append(commit: Commit): void {
    for (const execution of commit.executions) {
      const entry = { execution, commitMilliseconds: commit.milliseconds, frame: undefined }
      // A ring: entry of number n stands at (n - 1) modulo the size once the size is reached.
      this.#entries[this.#lastNumber % this.#kept] = entry
      this.#lastNumber += 1
    }
  }

  /** The finished frame of an execution that is still here. */
  frame(number: number): Buffer {
    const entry = this.#entries[(number - 1) % this.#kept] as Entry
    entry.frame ??= textFrame(executionText(this.#market, entry.execution, entry.commitMilliseconds))
    return entry.frame
  }
}
