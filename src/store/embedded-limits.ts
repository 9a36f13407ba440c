/** The limits of the embedded store, each with its reason. What callers may rely on is at `Db`. */

/**
 * Callers that may wait for their turn. The session answers some thousand statements a second, so whoever came after
 * these would not be served within the time a caller waits; refusing at once keeps memory bounded and says so sooner.
 */
export const WAITERS_MAX = 4_000

/**
 * Longest a transaction may hold the only session without a statement. Work in a transaction waits for nothing but the
 * store, so this is a bug of ours or a promise that never settles; it must not take the store from everyone else.
 */
export const TRANSACTION_IDLE_MILLISECONDS_MAX = 5_000

/** Longest a start may take: a new folder takes 3 to 6 s on an idle machine, recovery after a crash is shorter. */
export const START_MILLISECONDS_MAX = 120_000

/** Longest that running work, and then the folder's closing, may hold up the end; the next start recovers then. */
export const CLOSE_MILLISECONDS_MAX = 5_000

/** Pause before a start that follows a failed one: doubled each time, so a full disk is not hammered. */
export const RESTART_PAUSE_MILLISECONDS_MIN = 100
export const RESTART_PAUSE_MILLISECONDS_MAX = 5_000
