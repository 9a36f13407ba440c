/**
 * The life cycle of the process. Started parts are stopped once, in reverse order, and a part that fails to stop does
 * not prevent the others from stopping. Workers are stopped together, because each may wait for an outside service.
 * SIGINT and SIGTERM end the process after everything has stopped, with exit code 0, or 1 when a part failed to stop. A
 * second signal, at least a second later, ends it at once. An uncaught error ends it with 1 after one log line. SIGHUP
 * reloads the configuration, but ends the process when the terminal from which it was started has hung up. systemd is
 * notified about each state.
 */
import { closeSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { createServiceManager } from './service-manager.ts'

/** One Ctrl-C can arrive twice: from the terminal, and forwarded by the parent process. */
const SECOND_SIGNAL_MILLISECONDS_MIN = 1_000

interface Part {
  readonly name: string
  readonly stop: () => Promise<void> | void
}

/** The started parts, in starting order, and the workers. */
export class Lifecycle {
  readonly #log: Log
  readonly #parts: Part[] = []
  readonly #workers: Part[] = []
  /** How many of the first parts the workers use. */
  #keptCount = 0
  #stopping: Promise<boolean> | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /** Registers a newly started part's stop. */
  started(name: string, stop: () => Promise<void> | void): void {
    this.#parts.push({ name, stop })
  }

  /**
   * Registers the stop of a newly started worker, which may wait for an outside service. All workers' stops begin first,
   * and run beside those of the parts.
   */
  startedWorker(name: string, stop: () => Promise<void> | void): void {
    this.#workers.push({ name, stop })
  }

  /** The parts started until now are stopped after the workers, which use them. */
  keepForWorkers(): void {
    this.#keptCount = this.#parts.length
  }

  /** Stops the workers, and every part, the last first. Resolves to whether all stopped without an error. */
  stop(): Promise<boolean> {
    this.#stopping ??= this.#stopAll()
    return this.#stopping
  }

  async #stopAll(): Promise<boolean> {
    const workers = Promise.all(this.#workers.map((worker) => this.#stopOne(worker)))
    const outcomes = await this.#stopInOrder(this.#parts.slice(this.#keptCount))
    outcomes.push(...(await workers), ...(await this.#stopInOrder(this.#parts.slice(0, this.#keptCount))))
    return !outcomes.includes(false)
  }

  async #stopInOrder(parts: readonly Part[]): Promise<boolean[]> {
    const outcomes: boolean[] = []
    for (const part of parts.toReversed()) outcomes.push(await this.#stopOne(part))
    return outcomes
  }

  async #stopOne({ name, stop }: Part): Promise<boolean> {
    try {
      await stop()
      return true
    } catch (error) {
      this.#log.error({ part: name, err: error }, 'stopping failed')
      return false
    }
  }
}

export interface Stoppable {
  /** Resolves to whether everything stopped without an error. */
  stop(): Promise<boolean>
  /** Milliseconds after which stopping counts as stuck and the process ends without it. */
  readonly stopMillisecondsMax: number
}

export interface Running extends Stoppable {
  /** Reloads the configuration, synchronously, so two reloads never overlap. */
  reload(): void
}

/** Time for an aborted start to stop the parts it had started. */
const GIVE_UP_MILLISECONDS_MAX = 30_000

/**
 * Runs a service until a signal ends the process. An error in `start` is thrown to the caller, who reports it. SIGINT
 * or SIGTERM during the start aborts the signal given to `start`. When the start then rejects with the signal's reason,
 * the process ends with 0. When it completes nevertheless, the service is stopped. A SIGHUP during the start takes
 * effect after it.
 */
export async function runUntilSignal(
  log: Log,
  clock: Clock,
  start: (signal: AbortSignal) => Promise<Running>,
): Promise<void> {
  crashOnUncaught(log)
  const manager = createServiceManager(process.env, log, clock)
  const isInTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor)) && canReachTerminal()
  const starting = new AbortController()
  let running: Running | undefined
  let reloadsAtStart = false
  let firstSignal: { readonly name: string; readonly atMilliseconds: number } | undefined
  const onSignal = (name: string): void => {
    const now = clock.monotonicMilliseconds()
    if (firstSignal === undefined) {
      firstSignal = { name, atMilliseconds: now }
      log.info({ signal: name }, 'stopping')
      manager.stopping()
      if (running !== undefined) {
        void stopAndExit(log, clock, running)
      } else {
        exitWhenStuck(log, clock, GIVE_UP_MILLISECONDS_MAX)
        starting.abort()
      }
    } else if (now - firstSignal.atMilliseconds >= SECOND_SIGNAL_MILLISECONDS_MIN) {
      log.warn({ signal: name }, 'second signal: ending at once')
      process.exit(1)
    }
  }
  const onHangup = (name: string): void => {
    if (isInTerminal && !canReachTerminal()) onSignal(name)
    else if (firstSignal === undefined && running === undefined) reloadsAtStart = true
    else if (firstSignal === undefined) running?.reload()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('SIGHUP', onHangup)
  try {
    running = await start(starting.signal)
  } catch (error) {
    if (starting.signal.aborted && error === starting.signal.reason) {
      log.info({}, 'stopped')
      process.exit(0)
    }
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
    process.off('SIGHUP', onHangup)
    throw error
  }
  if (firstSignal !== undefined) {
    await stopAndExit(log, clock, running)
    return
  }
  manager.ready()
  if (reloadsAtStart) running.reload()
}

async function stopAndExit(log: Log, clock: Clock, running: Stoppable): Promise<void> {
  exitWhenStuck(log, clock, running.stopMillisecondsMax)
  const clean = await running.stop()
  log.info({}, 'stopped')
  process.exit(clean ? 0 : 1)
}

/** Whether the process has a controlling terminal that has not hung up. */
function canReachTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).code === 'string') return false
    throw error
  }
}

function exitWhenStuck(log: Log, clock: Clock, milliseconds: number): void {
  clock.schedule(milliseconds, () => {
    log.error({}, 'stopping is stuck: ending anyway')
    process.exit(1)
  })
}

/** Ends the process with 1, after one log line, when an error is caught nowhere. */
export function crashOnUncaught(log: Log): void {
  const crash = (error: unknown): void => {
    log.error({ err: error }, 'crashed')
    process.exit(1)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
}
