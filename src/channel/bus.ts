/**
 * The contract between the sequencer of a market and the listeners to its messages, above all its replicas.
 *
 * A market has one sequencer. Its commits are numbered without gaps within an epoch, which is one run of the sequencer;
 * a replica that finds a gap crashes, because this bus loses nothing. Messages of a market are delivered in the order of
 * publishing. A listener never changes a message: all listeners of the process get the same object.
 */
import type { Execution, Instrument, LevelChange } from '../market/event.ts'

/** One commit of a market: a version, a time, the changes of the full book, and the executions. */
export interface Commit {
  readonly type: 'commit'
  readonly market: string
  /** One run of the market's sequencer; versions and execution numbers start at 1 in each. */
  readonly epoch: string
  /** 1, 2, 3 … within the epoch. */
  readonly version: number
  /** Commit time: strictly later, in whole milliseconds, than that of the commit before. */
  readonly milliseconds: number
  /** Nanoseconds inside that millisecond, 0..999999. */
  readonly nanoseconds: number
  /** When the first source message of this commit arrived: wall clock, milliseconds with fractions. */
  readonly receivedMilliseconds: number
  /** Levels of the full book that differ from the version before; one entry per price. */
  readonly changes: readonly LevelChange[]
  readonly executions: readonly Execution[]
  /**
   * The source missed executions: before the one at this index of `executions`, or after the last of them. A miss takes
   * one number, so that a subscriber at the number before it can be recognised. Of several misses in one commit this is
   * the last: no subscriber is between them.
   */
  readonly missedAt?: number
  /** Number of the last execution or miss of this commit, counted within the epoch. */
  readonly executionNumber: number
  /** Every level of the full book, when replicas and subscribers have to start over because a wrong book was found. */
  readonly book?: readonly LevelChange[]
  /** The book is withdrawn, because the market has been stale for too long: it has no levels after this commit. */
  readonly withdraws?: true
  /**
   * Position of the last message of the source that the book contains, `EPOCH.SEQ`; absent where the source is not a
   * publication (docs/feeding-your-own-book.md).
   */
  readonly origin?: string
  /** The state of the instrument, in the commits that change it; null = it is no longer known. */
  readonly instrument?: Instrument | null
}

/** Whether the market is live. Of a stale one it has the reason; its book stays until a commit withdraws it. */
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
  /** Calls `listener` with every later message of the market, until the returned function is called. */
  subscribe(market: string, listener: MarketListener): () => void
  /**
   * Requests an empty commit from the market's sequencer, so that an unchanged book has a later time. False when the
   * market has no sequencer.
   */
  requestCommit(market: string): boolean
  /** Registers the sequencer of a market, which answers `requestCommit`, until the returned function is called. */
  serve(market: string, onRequestCommit: () => void): () => void
}
