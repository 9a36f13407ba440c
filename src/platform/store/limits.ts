/** Both engines' limits, with their reasons. Guarantees to callers are documented at `Db`. */
import type { Jitter } from '../base/backoff.ts'

/**
 * Longest that a transaction may hold its connection without a statement. A transaction waits only for the store, so a
 * longer one is our bug. It must not block other callers.
 */
export const TRANSACTION_IDLE_MILLISECONDS_MAX = 5_000

/** Longest wait for running statements when closing, and again for the engine itself. */
export const CLOSE_MILLISECONDS_MAX = 5_000

/**
 * Embedded: longest time for opening the folder, and for one statement during a service's start. Recovery from 1 GB of
 * write-ahead log takes 5 s on an idle machine, a new folder's first statement 0.3 s. A busy machine may need fifty
 * times as long, and no request waits for them.
 */
export const START_MILLISECONDS_MAX = 600_000

/**
 * Embedded: pause after a failed start, doubled each time. Once a full disk has space again, the store is back within
 * five seconds, and the longest pause leaves most of that time to the start itself. While there is no space, only the
 * disk is asked.
 */
export const RESTART_MILLISECONDS = { first: 100, longest: 2_000 }

/**
 * Embedded: free disk space needed for a start after the disk was full: two write-ahead log segments, so the next
 * statement does not fail again. Also the size of the file written as a test.
 */
export const FREE_BYTES_MIN = 33_554_432
export const PROBE_BYTES = 65_536

/** Embedded: time between two checks for due maintenance. A busy store writes two or three log segments meanwhile. */
export const UPKEEP_MILLISECONDS = 10_000

/** Embedded: longest that a checkpoint or a vacuum may take. Callers get an error after their own time. */
export const UPKEEP_STATEMENT_MILLISECONDS_MAX = 60_000

/** PostgreSQL: longest time for opening a connection, so waiting callers are answered in time. */
export const CONNECT_MILLISECONDS_MAX = 1_500

/**
 * PostgreSQL: `statement_timeout` ends this long before the caller's deadline, so the server cancels the statement and
 * the connection stays usable.
 */
export const CANCEL_MARGIN_MILLISECONDS = 200

/**
 * PostgreSQL: time between two heartbeats on the listening connection, and the longest wait for an answer. Their sum is
 * the detection time for a silent server, which is not longer than one statement may take.
 */
export const HEARTBEAT_MILLISECONDS = 500
export const HEARTBEAT_ANSWER_MILLISECONDS_MAX = 1_500

/** PostgreSQL: pause before reconnecting after a failure: doubled each time, less up to a half at random. */
export const RECONNECT_MILLISECONDS = { first: 100, longest: 2_000 }
export const RECONNECT_JITTER: Jitter = [0.5, 1]

/**
 * Embedded: prepared statements kept. `npm run bench -- orchestration` uses 153, which take 6.5 MB in WebAssembly's
 * memory.
 */
export const PREPARED_STATEMENTS_MAX = 300
