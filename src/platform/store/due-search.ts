/**
 * Bounded searches for due work in a table whose column `next_attempt_at` says when work is due. While an old
 * transaction is open, PostgreSQL cannot remove the rows for finished work, nor earlier row versions, and a search for
 * all due work reads every one. So a claim searches from a little before the last claim's earliest work. Every ten
 * seconds a claim searches all due work: it finds work that is due earlier because its claim ended or because clocks
 * differ.
 */
import type { Clock } from '../base/clock.ts'
import { unlessLocked } from './lock-order.ts'
import { type RawBuilder, sql } from './sql.ts'

/** The time between two searches for all due work. */
const FULL_SEARCH_MILLISECONDS = 10_000

/**
 * Longer than a transaction that makes work due: its work becomes visible when it commits, possibly after work with a
 * later time.
 */
const OVERLAP_SECONDS = 5

/** The condition when searching all due work. */
const ALL_DUE: RawBuilder<boolean> = sql<boolean>`true`

interface Due {
  /** When it was due, by the store's clock. */
  readonly dueAt: string
}

/** One worker's claims. */
export class DueSearch {
  readonly #clock: Clock
  #dueSince: string | undefined
  #fullSearchMilliseconds = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param search claims due work that meets the condition, and returns when it has committed */
  async claim<Found extends Due>(
    search: (isRecent: RawBuilder<boolean>) => Promise<readonly Found[]>,
  ): Promise<readonly Found[]> {
    const now = this.#clock.monotonicMilliseconds()
    const isFull = now - this.#fullSearchMilliseconds >= FULL_SEARCH_MILLISECONDS
    // Set before the search, so one that fails because it takes too long is not repeated at once.
    if (isFull) this.#fullSearchMilliseconds = now
    const dueSince = isFull ? undefined : this.#dueSince
    const found = await search(dueSince === undefined ? ALL_DUE : isDueSince(dueSince))
    const [first, ...others] = found.map(({ dueAt }) => dueAt)
    const isEarlier = (left: string, right: string) => Date.parse(left) < Date.parse(right)
    if (first !== undefined) this.#dueSince = others.reduce((least, at) => (isEarlier(at, least) ? at : least), first)
    return found
  }
}

export interface DueRows {
  /** A table with the columns `id`, `next_attempt_at` and `attempt`. */
  readonly table: string
  readonly limit: number
  readonly isRecent: RawBuilder<boolean>
  /** Longer than an attempt takes. A row without a recorded outcome by then is claimed again. */
  readonly leaseSeconds: number
  /** More assignments to the row `claimed`. */
  readonly changes?: RawBuilder<unknown>
}

/** A statement's first part: `claimed` has the due rows, each with a new attempt, and their `due_at`. */
export function claimedRows({ table, limit, isRecent, leaseSeconds, changes = sql`` }: DueRows): RawBuilder<unknown> {
  return sql`
    with due as materialized (
      select id, next_attempt_at as due_at from ${sql.table(table)}
      where next_attempt_at <= statement_timestamp() and ${isRecent}
      order by next_attempt_at, id limit ${limit} ${unlessLocked}
    ), claimed as (
      update ${sql.table(table)} as claimed set attempt = attempt + 1, ${changes}
        next_attempt_at = clock_timestamp() + ${leaseSeconds} * interval '1 second'
      from due where claimed.id = due.id
      returning claimed.*, due.due_at
    )`
}

function isDueSince(time: string): RawBuilder<boolean> {
  return sql<boolean>`next_attempt_at >= ${time}::timestamptz - ${OVERLAP_SECONDS} * interval '1 second'`
}
