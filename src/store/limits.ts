/** The limits of both engines, each with its reason. What callers may rely on is at `Db`. */
import type { Jitter } from '../base/backoff.ts'

/**
 * Callers that may wait for their turn. The embedded session answers some thousand statements a second, a pool some ten
 * thousand, so later callers would not be served within the time a caller waits; refusing at once keeps
 * memory bounded and reports it sooner.
 */
export const WAITERS_MAX = 4_000

/**
 * Longest a transaction may hold its session without a statement. Work in a transaction waits for nothing but the
 * store, so this is a bug of ours or a promise that never settles; it must not take the store from all other callers.
 */
export const TRANSACTION_IDLE_MILLISECONDS_MAX = 5_000

/** Longest that running work, and then the engine's own closing, may hold up the end. */
export const CLOSE_MILLISECONDS_MAX = 5_000

/** Embedded: longest a start may take; recovery of 1 GB of log takes 5 s on an idle machine. */
export const START_MILLISECONDS_MAX = 120_000

/** Embedded: pause before a start that follows a failed one, doubled each time, so a full disk is not hammered. */
export const RESTART_MILLISECONDS = { first: 100, longest: 5_000 }

/**
 * Embedded: after a lack of resources, what must be free for a start: two segments of the log, so that the store does
 * not stop again with the next statement. And what is written to see that it can be.
 */
export const FREE_BYTES_MIN = 33_554_432
export const PROBE_BYTES = 65_536

/** Embedded: time between two looks at what upkeep is due; a busy store writes two or three segments of its log in it. */
export const UPKEEP_MILLISECONDS = 10_000

/** Embedded: longest that a checkpoint or a vacuum may take; callers get an error after their own time. */
export const UPKEEP_STATEMENT_MILLISECONDS_MAX = 60_000

/** PostgreSQL: longest that opening a connection may take, so that callers that wait for it are answered in time. */
export const CONNECT_MILLISECONDS_MAX = 1_500

/**
 * PostgreSQL: so much earlier than the caller gives up, the server cancels a statement by itself (`statement_timeout`),
 * and the connection stays usable.
 */
export const CANCEL_LEAD_MILLISECONDS = 200

/**
 * PostgreSQL: time between two questions on the connection that listens, and the longest an answer may take. Together
 * the time after which a server that is silent is known to be: no request meets that silence twice.
 */
export const HEARTBEAT_MILLISECONDS = 500
export const HEARTBEAT_ANSWER_MILLISECONDS_MAX = 1_500

/** PostgreSQL: pause before reconnecting after a failure: doubled each time, less up to a half at random. */
export const RECONNECT_MILLISECONDS = { first: 100, longest: 2_000 }
export const RECONNECT_JITTER: Jitter = [0.5, 1]
