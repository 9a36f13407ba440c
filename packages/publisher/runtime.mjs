/**
 * What every adapter needs from the process: a clock, waits that grow after failures, and log lines. Tests pass a clock
 * of their own. A log line never contains a secret: callers pass the members that they want to have in it.
 */

/**
 * @typedef {{ cancel(): void }} Timer
 * @typedef {object} Clock
 * @property {() => number} now Milliseconds since 1970, UTC.
 * @property {() => number} monotonic Milliseconds for durations: setting the system's time does not change them.
 * @property {(milliseconds: number, callback: () => void) => Timer} schedule Runs the callback once, after this time.
 * @typedef {'info' | 'warn' | 'error'} Level
 * @typedef {(level: Level, message: string, members?: Readonly<Record<string, unknown>>) => void} Log
 */

/** Longer texts of a peer are cut before they are logged. */
const TEXT_CHARACTERS_MAX = 200

/** @type {Clock} */
export const systemClock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds)
    return { cancel: () => clearTimeout(timer) }
  },
}

/**
 * Writes log lines as JSON to standard error.
 * @type {Log}
 */
export function logToStandardError(level, message, members = {}) {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...members })}\n`)
}

/**
 * The wait before the next attempt: random, so that clients do not reconnect at the same moment, and up to twice as long
 * after each failure.
 * @param {number} failures Failed attempts since the last success.
 * @param {number} millisecondsMax
 * @returns {number} Milliseconds.
 */
export function backoffMilliseconds(failures, millisecondsMax) {
  return Math.random() * Math.min(millisecondsMax, 500 * 2 ** Math.min(failures, 20))
}

/**
 * A peer's text as it may be logged or sent to people: printable ASCII, of limited length.
 * @param {unknown} text
 * @returns {string}
 */
export function printable(text) {
  return String(text)
    .slice(0, TEXT_CHARACTERS_MAX)
    .replaceAll(/[^ -~]/g, '?')
}
