/**
 * The contract between the sequencer of a market and those who follow the market in any process: its replicas and the
 * recorder.
 *
 * A market has one sequencer at a time. Its commits are numbered without gaps within an epoch, which is one run of the
 * sequencer; a later run has a greater epoch, and all its times are later. The bus may lose commits on the way between
 * processes, and then repairs itself: a listener gets, in this order, commits of which each follows the one before, or
 * a state, which replaces everything before it. A listener never gets a commit or a state of an epoch below one that it
 * had, nor one that is not later than the last. In one process nothing is lost and publishing is calling.
 *
 * A message is never changed: all listeners of a process get the same object.
 */
import type { Attribution, Execution, Instrument, LevelChange } from '../market/event.ts'

/** Where the executions of a later epoch follow those of an earlier one, without one missing between them. */
export interface Continuation {
  /** The earlier epoch, and the number of its last execution or miss before those of the later one. */
  readonly epoch: string
  readonly executionNumber: number
}

/** One commit of a market: a version, a time, the changes of the full book, and the executions. */
export interface Commit {
  readonly type: 'commit'
  readonly market: string
  /**
   * One run of the market's sequencer; versions and execution numbers start at 1 in each. Epochs are compared as text:
   * a later run has a greater one.
   */
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
  /** What changed of which venue has how much of each level; absent when nothing did. */
  readonly attribution?: Attribution
  readonly executions: readonly Execution[]
  /**
   * The source missed executions: before the one at this index of `executions`, or after the last of them. A miss takes
   * one number, so that a subscriber at the number before it can be recognised. Of several misses in one commit this is
   * the last: no subscriber is between them.
   */
  readonly missedAt?: number
  /** Number of the last execution or miss of this commit, counted within the epoch. */
  readonly executionNumber: number
  /** In the first commit of an epoch whose sequencer continues the executions of the one before. */
  readonly continues?: Continuation
  /** Every level of the full book, when replicas and subscribers have to start over because a wrong book was found. */
  readonly book?: readonly LevelChange[]
  /** The first commit of the epoch that has a book: its changes are all levels. */
  readonly beginsBook?: true
  /** The book is withdrawn, because the market has been stale for too long: it has no levels after this commit. */
  readonly withdraws?: true
  /**
   * Position of the last message of the source that the book contains, `EPOCH.SEQ`; absent where the source is not a
   * publication (docs/how-to/feeding-your-own-book.md).
   */
  readonly origin?: string
  /** The state of the instrument, in the commits that change it; null = it is no longer known. */
  readonly instrument?: Instrument | null
}

/** Whether the market is live. Of a stale one it has the reason; its book stays until a commit withdraws it. */
export interface MarketStatus {
  readonly type: 'status'
  readonly market: string
  /** The epoch, and the version after which it was published; 0 before the first commit. */
  readonly epoch: string
  readonly version: number
  readonly live: boolean
  readonly reason: string
}

/** An execution that a state carries for those who missed its commit. */
export interface KeptExecution {
  readonly execution: Execution
  /** Version and time of its commit. */
  readonly version: number
  readonly commitMilliseconds: number
}

/** Everything about a market at one version: it replaces what a follower had. */
export interface MarketState {
  readonly type: 'state'
  readonly market: string
  readonly epoch: string
  readonly version: number
  readonly milliseconds: number
  readonly nanoseconds: number
  readonly receivedMilliseconds: number
  /** Every level of the full book; none where there is no book, or it is withdrawn. */
  readonly levels: readonly LevelChange[]
  /** Which venue has how much of them: `only` or `all`; absent while that is not known. */
  readonly attribution?: Attribution
  /** Whether the market has been live in this epoch, so that the levels are its book. */
  readonly hasBook: boolean
  readonly isWithdrawn: boolean
  readonly live: boolean
  readonly reason: string
  /** Number of the last execution or miss of the epoch. */
  readonly executionNumber: number
  /** The last executions, up to that number, without a gap. Those before the first of them are not kept. */
  readonly executions: readonly KeptExecution[]
  /** As in the first commit of the epoch. */
  readonly continues?: Continuation
  readonly origin?: string
  readonly instrument?: Instrument
}

/**
 * The sequencer has not been heard of for so long that its last book must not be shown any longer. It is made by a
 * follower in this process; the next message is a state.
 */
export interface MarketWithdrawal {
  readonly type: 'withdrawal'
  readonly market: string
  /** Later than the last commit. */
  readonly milliseconds: number
  readonly nanoseconds: number
}

export type MarketMessage = Commit | MarketStatus | MarketState | MarketWithdrawal

export type MarketListener = (message: MarketMessage) => void

export type OnRequestCommit = (laterThanMilliseconds: number | undefined) => void

export interface Bus {
  publish(message: MarketMessage): void
  /** Calls `listener` with every later message of the market, until the returned function is called. */
  subscribe(market: string, listener: MarketListener): () => void
  /**
   * Requests an empty commit from the market's sequencer, so that an unchanged book has a later time: later than
   * `laterThanMilliseconds`, where that is given. False when no commit can be expected: the market has no sequencer, or
   * none that can be reached.
   */
  requestCommit(market: string, laterThanMilliseconds?: number): boolean
  /** Registers who answers `requestCommit` for a market, until the returned function is called. */
  serve(market: string, onRequestCommit: OnRequestCommit): () => void
}
