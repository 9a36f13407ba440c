/** A book's status, and one change as a loop sees it. Types only. */
import type { Level } from './level.ts'

/**
 * `LIVE`: equal to the service's book. `STALE`: the service has no live source for the market at present. `RESYNCING`:
 * the connection is lost or the book is being repaired, and it shows old prices or nothing. `CLOSED`: it will not
 * change again. Trade only on a LIVE book.
 */
export type BookStatus = 'LIVE' | 'STALE' | 'RESYNCING' | 'CLOSED'

/** What changed since the loop last looked. A slow loop gets one change for everything it missed. */
export interface BookChange {
  /**
   * `SNAPSHOT`: `bids` and `asks` are the whole book. `UPDATE`: the levels that differ, where the amount `0` removes
   * one.
   */
  readonly type: 'SNAPSHOT' | 'UPDATE'
  readonly status: BookStatus
  /** The time of the last included message: RFC 3339 with milliseconds. */
  readonly time: string
  /** Highest price first. */
  readonly bids: readonly Level[]
  /** Lowest price first. */
  readonly asks: readonly Level[]
}
