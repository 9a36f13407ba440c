/**
 * The contract between a market's sequencer and its followers in any process: replicas and the recorder.
 *
 * A market has one sequencer at a time. An epoch is one run of the sequencer. Commits are numbered without gaps within
 * an epoch. A later run has a greater epoch, and all its times are later. The bus may lose commits between processes,
 * and then repairs itself: a listener gets, in this order, consecutive commits, or a state, which replaces everything
 * before it. A listener never gets a commit or a state from an earlier epoch than it already had, nor one with a time
 * no later than the last. Within one process nothing is lost and publishing is calling.
 *
 * Messages are immutable: all listeners in a process get the same object.
 */
import type { Attribution, Execution, Instrument, LevelChange } from '../market/event.ts'

/** Where a later epoch's executions follow an earlier epoch's, with none missing between them. */
export interface Continuation {
  /** The earlier epoch, and the number of its last execution or miss before the later epoch's executions. */
  readonly epoch: string
  readonly executionNumber: number
}

/** One market commit: a version, a time, the full book's changes, and the executions. */
export interface Commit {
  readonly type: 'commit'
  readonly market: string
  /**
   * One run of the market's sequencer. Versions and execution numbers start at 1 in each. Epochs are compared as text:
   * a later run has a greater one.
   */
  readonly epoch: string
  /** 1, 2, 3 … within the epoch. */
  readonly version: number
  /** Commit time, in whole milliseconds: strictly later than the previous commit's. */
  readonly milliseconds: number
  /** Nanoseconds within the millisecond, 0..999999. */
  readonly nanoseconds: number
  /** When this commit's first source message arrived: wall clock, milliseconds with fractions. */
  readonly receivedMilliseconds: number
  /** Full-book levels that differ from the previous version. One entry per price. */
  readonly changes: readonly LevelChange[]
  /** Changes to the venues' shares of levels. Absent when nothing changed. */
  readonly attribution?: Attribution | undefined
  readonly executions: readonly Execution[]
  /**
   * The source missed executions: before the one at this index in `executions`, or after the last one. A miss takes one
   * number, so that a subscriber at the number before it can be recognised. If the commit has several misses, this is
   * the last: no subscriber is between them.
   */
  readonly missedAt?: number | undefined
  /** Number of this commit's last execution or miss, counted within the epoch. */
  readonly executionNumber: number
  /** In an epoch's first commit, where its sequencer continues the previous epoch's executions. */
  readonly continues?: Continuation | undefined
  /** Every level in the full book, when replicas and subscribers have to start over because a wrong book was found. */
  readonly book?: readonly LevelChange[] | undefined
  /** The epoch's first commit with a book: its changes are all levels. */
  readonly beginsBook?: true | undefined
  /** The book is withdrawn, because the market has been stale for too long: it has no levels after this commit. */
  readonly withdraws?: true | undefined
  /**
   * Position of the last source message in the book, `EPOCH.SEQ`. Absent where the source is not a publication
   * (docs/how-to/feeding-your-own-book.md).
   */
  readonly origin?: string | undefined
  /** The instrument state, in commits that change it. Null = no longer known. */
  readonly instrument?: Instrument | null | undefined
}

/** Whether the market is live. A stale market has a reason, and keeps its book until a commit withdraws it. */
export interface MarketStatus {
  readonly type: 'status'
  readonly market: string
  /** The epoch, and the version after which the status was published. 0 before the first commit. */
  readonly epoch: string
  readonly version: number
  readonly live: boolean
  readonly reason: string
}

/** An execution in a state, for followers that missed its commit. */
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
  /** Every level in the full book. None where there is no book, or it is withdrawn. */
  readonly levels: readonly LevelChange[]
  /** The venues' shares of the levels: `only` or `all`. Absent while they are not known. */
  readonly attribution?: Attribution
  /** Whether the market has been live in this epoch, so that the levels are its book. */
  readonly hasBook: boolean
  readonly isWithdrawn: boolean
  readonly live: boolean
  readonly reason: string
  /** Number of the epoch's last execution or miss. */
  readonly executionNumber: number
  /** The last executions, up to `executionNumber`, without a gap. Earlier ones are not kept. */
  readonly executions: readonly KeptExecution[]
  /**
   * In a follower's first state: executions may be missing between the time it began to follow and `executions`. Set by
   * followers only.
   */
  readonly isIncomplete?: true
  /** As in the epoch's first commit. */
  readonly continues?: Continuation
  readonly origin?: string
  readonly instrument?: Instrument
}

/**
 * The sequencer has been silent for so long that its last book must no longer be shown. Created by a follower in this
 * process. The next message is a state.
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
  /** Calls `listener` with every later message for the market, until the returned function is called. */
  subscribe(market: string, listener: MarketListener): () => void
  /**
   * Requests an empty commit from the market's sequencer, so that an unchanged book has a later time: later than
   * `laterThanMilliseconds`, where given. False when no commit can be expected: the market has no sequencer, or none
   * within reach.
   */
  requestCommit(market: string, laterThanMilliseconds?: number): boolean
  /** Registers who answers `requestCommit` for a market, until the returned function is called. */
  serve(market: string, onRequestCommit: OnRequestCommit): () => void
}
