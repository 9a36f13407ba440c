/**
 * The contract of the store: one SQL dialect (PostgreSQL 15), two engines behind it (`embedded`, and PostgreSQL
 * through a pool). Both give int8 and numeric as text, timestamptz as RFC 3339 text in UTC, and json as parsed values,
 * so no module can tell which engine it uses; `column-types` is the whole list, parameters included.
 *
 * Promises: a transaction is all or nothing and sees no half of another; what was committed survives `kill -9` of the
 * process; a call answers or fails with `StoreUnavailable` within `STATEMENT_MILLISECONDS_MAX`, it never hangs, and a
 * transaction that has not been committed by then is rolled back;
 * notifications sent in a transaction arrive after its commit, in order, in this process and every other.
 */
import type { Kysely, Queries, Transaction } from './sql.ts'

export type { Kysely, Transaction }

/**
 * Longest a caller waits for one statement or one whole transaction, its wait for a session included; a store that needs
 * longer counts as unreachable.
 */
export const STATEMENT_MILLISECONDS_MAX = 2_000

/** The store cannot be reached or did not answer in time. The caller's work is not done, or not known to be done. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

/** The store refused a statement. The message may quote values, so it belongs into the log, never into an answer. */
export class StatementFailed extends Error {
  override name = 'StatementFailed'
  /** The five characters of PostgreSQL's appendix A, such as `23505` for a duplicate. */
  readonly sqlState: string
  /** The constraint that was violated, by its name in the migration. */
  readonly constraint: string | undefined

  constructor(message: string, sqlState: string, constraint?: string) {
    super(message)
    this.sqlState = sqlState
    this.constraint = constraint
  }
}

export interface NotificationListener {
  onNotify(payload: string): void
  /** The connection was lost and is back: notifications in between are lost, so read everything again. */
  onReconnect(): void
}

/**
 * `tables` is the query builder over the tables that the calling module owns. `transaction` runs `work` in one
 * transaction; a throw rolls it back and is passed on. A statement that failed inside fails the whole, even when the
 * work caught its error. Work waits for nothing but the store: a transaction left idle is taken back.
 */
export interface Db extends Queries {
  readonly engine: 'embedded' | 'postgres'
  /** False while the store is known to be unreachable. */
  readonly available: boolean
  /** Why it is not available; undefined while it is. It names files and servers, so it is for the operator alone. */
  readonly problem: string | undefined
  /** Turns at the engine's sessions: how many are taken now, and how many callers wait for one. */
  readonly turns: { readonly taken: number; readonly waiting: number }
  /** Listens on a notification channel (sent with `pg_notify`); the returned function ends that. */
  listen(channel: string, listener: NotificationListener): Promise<() => Promise<void>>
  close(): Promise<void>
}
