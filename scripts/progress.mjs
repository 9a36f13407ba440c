/**
 * Progress output while the scripts install, build and test. On a terminal it is one line, rewritten each second.
 * Elsewhere it is a line at the beginning and one every ten seconds or more. Uses no package, because it runs before
 * any is installed.
 */

const TERMINAL_MILLISECONDS = 1_000
const LINE_SECONDS = 10
const CLEAR_LINE = '\r\u001b[2K'

/**
 * Shows `text(seconds)` until `end` is called.
 * @param {(seconds: number) => string} text
 * @param {{
 *   output?: { isTTY?: boolean, write(part: string): unknown },
 *   every?: (milliseconds: number, call: () => void) => () => void,
 *   lineSeconds?: number,
 * }} options `output` is the destination, a stream of the process; `every` calls a function periodically and returns a
 * function that stops it; `lineSeconds` are between two lines without a terminal
 */
export function showProgress(text, { output = process.stderr, every = systemTimer, lineSeconds = LINE_SECONDS } = {}) {
  const isTerminal = output.isTTY === true
  const period = isTerminal ? TERMINAL_MILLISECONDS : lineSeconds * 1_000
  let ticks = 0
  const show = () => {
    const line = `tidegate: ${text((ticks++ * period) / 1_000)}`
    output.write(isTerminal ? `${CLEAR_LINE}${line}` : `${line}\n`)
  }
  show()
  const cancel = every(period, show)
  return {
    /** Prints a line of the running program, above the progress line. */
    note(line) {
      output.write(`${isTerminal ? CLEAR_LINE : ''}${line}\n`)
    },
    end() {
      cancel()
      if (isTerminal) output.write(CLEAR_LINE)
    },
  }
}

function systemTimer(milliseconds, call) {
  const timer = setInterval(call, milliseconds)
  return () => clearInterval(timer)
}

/** npm's log line for a fetched package, at the log level `http`. */
const FETCHED = /^npm http fetch GET 200 \S+\.tgz(?:[ ?]|$)/
/** npm's log line for an unreachable registry; npm retries after ten seconds, then after a minute. */
const FAILED = /^npm http fetch GET (https?:\/\/[^/\s]+)\S* attempt \d+ failed with (\S+)/
/** Lines at that log level that are not shown. */
const ROUTINE = /^npm (?:http|warn|notice|info|timing)\b/

/**
 * Reads an installation log line by line.
 * @param count how many packages the lockfile has
 * @param note receives each line that must be shown to the user at once
 */
export function createInstallReport(count, note) {
  let fetched = 0
  const unreachable = new Map()
  return {
    read(line) {
      if (FETCHED.test(line)) fetched++
      const [, registry, code] = FAILED.exec(line) ?? []
      if (registry !== undefined && !unreachable.has(registry)) {
        unreachable.set(registry, code)
        note(`tidegate: npm cannot reach ${registry} (${code}) and tries again for about a minute; Ctrl-C ends`)
      }
      if (line.trim() !== '' && !ROUTINE.test(line)) note(line)
    },
    text(seconds) {
      const waiting = fetched === 0 && seconds >= 10 && unreachable.size === 0 ? ', the registry has sent none yet' : ''
      return `installing ${count} packages with npm ci: ${fetched} fetched, ${seconds} s${waiting}`
    },
    /** The reason for a failed installation, and the remedy. */
    failure() {
      const reasons = [...unreachable].map(([registry, code]) => `${registry} cannot be reached (${code})`)
      if (reasons.length === 0) return 'installation failed (npm ci); the lines above say why'
      return (
        `installation failed: ${reasons.join(', ')}. The first installation needs a network; ` +
        'behind a proxy or with a registry of your own: npm config set proxy URL, npm config set registry URL'
      )
    },
  }
}
