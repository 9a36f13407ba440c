/**
 * The contract between the writer of a market (`sequencer`) and everyone who reads it (`replica`).
 *
 * A market has one writer. What it commits travels as `Commit`s, numbered without gaps within an epoch (one life of
 * the writer); a reader that sees a hole knows that it lost something and asks for the whole book. Delivery order per
 * market is the order of publishing. A reader never changes what it receives: in one process the bus is a function
 * call, and every reader sees the same object.
 */
import type { Execution, LevelChange } from '../market/event.ts'

/** One commit of a market: a version, an instant, what really changed in the full book, and what was executed. */
export interface Commit {
  readonly type: 'commit'
  readonly market: string
  /** One life of the market's writer; versions and execution numbers start anew in each. */
  readonly epoch: string
  /** 1, 2, 3 … within the epoch. */
  readonly version: number
  /** Commit instant: strictly later, in whole milliseconds, than the commit before. */
  readonly milliseconds: number
  /** Nanoseconds inside that millisecond, 0..999999. */
  readonly nanoseconds: number
  /** When the first source message of this commit arrived: wall clock, milliseconds with fractions. */
  readonly receivedMilliseconds: number
  /** Levels of the full book that differ from the version before; one entry a price. */
  readonly changes: readonly LevelChange[]
  readonly executions: readonly Execution[]
  /**
   * Executions took place that cannot be had any more: before the one at this place of `executions`, or behind the last
   * of them. The hole takes one number, so who holds the number before it can tell that something is missing. Of
   * several holes in one commit this is the last: nobody can read in between.
   */
  readonly missedAt?: number
  /** Number of the last execution, or hole, after this commit, counted within the epoch. */
  readonly executionNumber: number
  /** Every level of the full book, when readers have to start over: what they hold was found to be wrong. */
  readonly book?: readonly LevelChange[]
  /** The book is withdrawn, because no source has been trusted for too long: nothing is left of it after this commit. */
  readonly withdraws?: true
}

/**
 * Whether a source of the market is trusted. `live: false` gives the reason; the book stays until a commit withdraws it.
 */
export interface MarketStatus {
  readonly type: 'status'
  readonly market: string
  readonly live: boolean
  readonly reason: string
}

export type MarketMessage = Commit | MarketStatus

export type MarketListener = (message: MarketMessage) => void

export interface Bus {
  publish(message: MarketMessage): void
  /** Calls `listener` for every later message of the market; the returned function ends that. */
  subscribe(market: string, listener: MarketListener): () => void
  /**
   * Asks the market's writer for an empty commit, so that a later instant exists for a book that did not change.
   * False when no writer is there to ask.
   */
  requestCommit(market: string): boolean
  /** Registers the writer of a market: what answers `requestCommit`. The returned function takes it away. */
  serve(market: string, onRequestCommit: () => void): () => void
}
