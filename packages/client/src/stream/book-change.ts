/** The status of a book, and one change as a loop sees it. Types alone. */
import type { Level } from './level.ts'

/**
 * `LIVE`: equal to the book of the service. `STALE`: the service has no live source for the market now. `RESYNCING`: the
 * connection is lost, or the book is being repaired: what it shows is old, or nothing. `CLOSED`: it will not change again.
 * Only a LIVE book is a market to trade on.
 */
export type BookStatus = 'LIVE' | 'STALE' | 'RESYNCING' | 'CLOSED'

/** What changed since the loop looked last. A slow loop gets one change for all that it missed. */
export interface BookChange {
  /** `SNAPSHOT`: `bids` and `asks` are the whole book. `UPDATE`: the levels that differ; the amount `0` removes one. */
  readonly type: 'SNAPSHOT' | 'UPDATE'
  readonly status: BookStatus
  /** Of the last message that is included: RFC 3339 with milliseconds. */
  readonly time: string
  /** The highest first. */
  readonly bids: readonly Level[]
  /** The lowest first. */
  readonly asks: readonly Level[]
}
