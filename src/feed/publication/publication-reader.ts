/**
 * What the reader of a publication returns for each message of one market, and its position. Pure.
 */
import type { Instrument, MarketEvent } from '../../market/event.ts'
import type { HeartbeatBook, PublicationMessage, PublicationProblem } from './message.ts'

/** The last message of a publication that was applied. */
export interface PublicationPosition {
  readonly epoch: string
  readonly seq: number
}

/**
 * What became of one message.
 * - `applied`: it is the last message applied now.
 * - `repeated`: its `seq` was applied before; it is ignored.
 * - `waiting`: it was ignored because a SNAPSHOT is needed first.
 * - `refused`: it breaks a rule, or the market does not accept it; `problem` names the reason.
 */
export interface PublicationStep {
  readonly outcome: 'applied' | 'repeated' | 'waiting' | 'refused'
  /** For the listener of the market, in order. */
  readonly events: readonly MarketEvent[]
  /**
   * Why a SNAPSHOT has to be requested; absent when none is needed, or when it was requested by an earlier step and
   * has not arrived.
   */
  readonly request?: string
  /** Only with `refused`: member and rule, for the log. */
  readonly problem?: string
}

/**
 * The rules of docs/feeding-your-own-book.md for the messages of one market. The implementation is the class
 * `PublicationReader` of this file, created with the market and `{ allowsSimulated: boolean }`.
 */
export interface PublicationReading {
  /** Takes the next message of the market, from whichever line it came. */
  take(message: PublicationMessage): PublicationStep
  /** Takes a message of the market that breaks a rule: the market is lost, and a SNAPSHOT needed. */
  refuse(problem: PublicationProblem): PublicationStep
  /** Compares the digest of a heartbeat. */
  compare(book: HeartbeatBook): PublicationStep
  /**
   * The book is not trusted any more because its connection ended (no SNAPSHOT is requested: the next connection
   * resumes at `position`, or sends one).
   */
  disconnect(reason: string): readonly MarketEvent[]
  /** The connection continues after `position`: the book as it was at `disconnect` is trusted again. */
  resume(): readonly MarketEvent[]
  /** Makes the market lost until a SNAPSHOT, for a reason of the caller: lines that differ, or a crossed book. */
  rebuild(reason: string): PublicationStep
  /** The last message applied; undefined before the first SNAPSHOT. A gap does not change it, the message after it does. */
  readonly position: PublicationPosition | undefined
  readonly instrument: Instrument | undefined
  /** Whether the book is trusted. */
  readonly isLive: boolean
  /** Whether a SNAPSHOT is needed before the book can be trusted. */
  readonly needsSnapshot: boolean
}
