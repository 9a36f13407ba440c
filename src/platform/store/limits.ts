/** The limits of both engines, with their reasons. Guarantees to callers are documented at `Db`. */
import type { Jitter } from '../base/backoff.ts'

/**
 * Longest that a transaction may hold its connection without a statement. A transaction waits only for the store, so a
 * longer one is a bug of ours; it must not block other callers.
 */
export const TRANSACTION_IDLE_MILLISECONDS_MAX = 5_000

/** Longest that closing waits for running statements, and again for the engine itself. */
export const CLOSE_MILLISECONDS_MAX = 5_000

/**
 * Embedded: longest that opening the folder may take, and one statement of a service's start. Recovery of 1 GB of
 * write-ahead log takes 5 s on an idle machine, the first statement of a new folder 0.3 s; a busy machine may need fifty
 * times as long, and no request waits for them.
 */
export const START_MILLISECONDS_MAX = 600_000

/**
 * Embedded: pause after a failed start, doubled each time. The longest leaves most of the five seconds in which the store
 * is back after a full disk has space again to the start itself; while there is no space, only the disk is asked.
 */
export const RESTART_MILLISECONDS = { first: 100, longest: 2_000 }

/**
 * Embedded: free disk space that a start needs after the disk was full: two segments of the write-ahead log, so that the
 * next statement does not fail again; and the size of the file that is written as a test.
 */
export const FREE_BYTES_MIN = 33_554_432
export const PROBE_BYTES = 65_536

/** Embedded: time between two checks for due maintenance; a busy store writes two or three log segments meanwhile. */
export const UPKEEP_MILLISECONDS = 10_000

/** Embedded: longest that a checkpoint or a vacuum may take; callers get an error after their own time. */
export const UPKEEP_STATEMENT_MILLISECONDS_MAX = 60_000

/** PostgreSQL: longest that opening a connection may take, so that waiting callers are answered in time. */
export const CONNECT_MILLISECONDS_MAX = 1_500

/**
 * PostgreSQL: `statement_timeout` ends this long before the caller's deadline, so that the server cancels the statement and
 * the connection stays usable.
 */
export const CANCEL_MARGIN_MILLISECONDS = 200

/**
 * PostgreSQL: time between two heartbeats on the listening connection, and the longest that an answer may take. Their sum
 * is the time until a silent server is detected, which is not longer than one statement may take.
 */
export const HEARTBEAT_MILLISECONDS = 500
export const HEARTBEAT_ANSWER_MILLISECONDS_MAX = 1_500

/** PostgreSQL: pause before reconnecting after a failure: doubled each time, less up to a half at random. */
export const RECONNECT_MILLISECONDS = { first: 100, longest: 2_000 }
export const RECONNECT_JITTER: Jitter = [0.5, 1]
