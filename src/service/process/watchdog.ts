/**
 * Ends a process whose event loop hangs for `process.hang_seconds`, so a supervisor can restart it: a hanging process
 * accepts connections and answers none. The event loop increments a counter, and `watchdog-thread` measures the time
 * without an increment. The watchdog never keeps a process from exiting.
 */
import { type Log, logDescriptor } from '../../platform/base/log.ts'
import { startThread } from '../../platform/base/thread.ts'
import type { WatchdogStart } from './watchdog-thread.ts'

/** Wake-ups within `process.hang_seconds`, at least: a single late increment never counts as a hang. */
const WAKEUPS = 10
const PERIOD_MILLISECONDS_MAX = 1_000
/** The thread only counts, and Node's default limits would allow it hundreds of megabytes. */
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 }

export function startWatchdog(log: Log, hangSeconds: number): void {
  const periodMilliseconds = Math.min(PERIOD_MILLISECONDS_MAX, (hangSeconds * 1000) / WAKEUPS)
  const answers = new SharedArrayBuffer(4)
  const counter = new Int32Array(answers)
  setInterval(() => Atomics.add(counter, 0, 1), periodMilliseconds).unref()
  const start: WatchdogStart = {
    answers,
    periodMilliseconds,
    hangMilliseconds: hangSeconds * 1000,
    descriptor: logDescriptor(),
  }
  const thread = startThread('./watchdog-thread', import.meta.url, {
    name: 'watchdog',
    workerData: start,
    resourceLimits: LIMITS,
  })
  thread.unref()
  thread.on('error', (error) => log.error({ err: error }, 'the watchdog failed: a hanging event loop goes unnoticed'))
}
