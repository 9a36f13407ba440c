/**
 * The store's contract: one SQL dialect (PostgreSQL 15), and two engines (`embedded`, and PostgreSQL through a pool).
 * Both return int8 and numeric as text, timestamptz as RFC 3339 text in UTC, and json as parsed values, so modules do
 * not depend on the engine. `column-types` has the full list, parameters included.
 *
 * Guarantees:
 * - A transaction is atomic and sees no partial transaction.
 * - Committed work survives the process's `kill -9`.
 * - A call returns or fails with `StoreUnavailable` within `STATEMENT_MILLISECONDS_MAX`, and a transaction not
 *   committed by then is rolled back.
 * - Notifications sent in a transaction arrive after its commit, in order, in this process and every other.
 */
import type { Kysely, Queries, Transaction } from './sql.ts'

export type { Kysely, Transaction }

/**
 * Longest wait for one statement or one whole transaction, including the wait for a connection. A slower store is
 * treated as unreachable.
 */
export const STATEMENT_MILLISECONDS_MAX = 2_000

/** The store is unavailable, or did not answer in time. It is not known whether the caller's work was stored. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

/** The store did not answer in time, or has too many callers already: it may be reachable. */
export class StoreTooSlow extends StoreUnavailable {
  override name = 'StoreTooSlow'
}

/**
 * The store found one of its own pages or indexes corrupt, and did not execute the statement. Others may succeed. The
 * operator restores or repairs the stored data.
 */
export class StoreCorrupt extends StoreUnavailable {
  override name = 'StoreCorrupt'
}

/** The store rejected a statement. The message may quote values: it may be logged, and must not be sent to a client. */
export class StatementFailed extends Error {
  override name = 'StatementFailed'
  /** SQLSTATE, as in appendix A of PostgreSQL's documentation: `23505` for a duplicate. */
  readonly sqlState: string
  /** The violated constraint, by its name in the migration. */
  readonly constraint: string | undefined

  constructor(message: string, sqlState: string, constraint?: string) {
    super(message)
    this.sqlState = sqlState
    this.constraint = constraint
  }
}

export interface NotificationListener {
  onNotify(payload: string): void
  /** The connection was lost and restored: notifications may have been lost, so the listener must reload its data. */
  onReconnect(): void
}

/**
 * `tables` is the query builder over the calling module's own tables. `transaction` runs `work` in one transaction. An
 * error rolls it back and is rethrown. A failed statement fails the transaction, even when `work` caught its error.
 * `work` must not wait for anything but the store: an idle transaction is rolled back.
 */
export interface Db extends Queries {
  readonly engine: 'embedded' | 'postgres'
  /** False while the store is known to be unreachable. */
  readonly available: boolean
  /**
   * Why it is not available, or undefined while it is. It names files and servers, so it is shown only to the operator.
   */
  readonly problem: string | undefined
  /** The first statement's report that the store is corrupt, or undefined without one. For the operator alone. */
  readonly corruption: string | undefined
  /** The engine's connections: how many are in use, and how many callers wait for one. */
  readonly connections: { readonly inUse: number; readonly waiting: number }
  /** Listens on a notification channel (sent with `pg_notify`). The returned function stops listening. */
  listen(channel: string, listener: NotificationListener): Promise<() => Promise<void>>
  close(): Promise<void>
}
