/**
 * The life of the process: what was started is stopped in reverse, once, and a part that fails to stop does not keep
 * the others from it. A signal ends the process with 0 after everything has stopped; a second one, at least a second
 * later, ends it at once; an error that nobody caught ends it with 1 after one log line.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'

/** One Ctrl-C can arrive twice: from the terminal, and passed on by the program that started us. */
const SECOND_SIGNAL_MILLISECONDS_MIN = 1_000

/** Parts in the order they were started. */
export class Lifecycle {
  readonly #log: Log
  readonly #parts: { readonly name: string; readonly stop: () => Promise<void> | void }[] = []
  #stopping: Promise<boolean> | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /** Notes how to stop what has just been started. */
  started(name: string, stop: () => Promise<void> | void): void {
    this.#parts.push({ name, stop })
  }

  /** Stops every part, the last first; resolves to whether all stopped without an error. */
  stop(): Promise<boolean> {
    this.#stopping ??= this.#stopAll()
    return this.#stopping
  }

  async #stopAll(): Promise<boolean> {
    let clean = true
    for (const { name, stop } of this.#parts.toReversed()) {
      try {
        await stop()
      } catch (error) {
        clean = false
        this.#log.error({ part: name, err: error }, 'stopping failed')
      }
    }
    return clean
  }
}

export interface Stoppable {
  /** Resolves to whether everything stopped without an error. */
  stop(): Promise<boolean>
  /** After so long, stopping counts as stuck and the process ends anyway. */
  readonly stopMillisecondsMax: number
}

/**
 * Runs a service for as long as the process lives: `start` may fail, and then the process goes on to say why. A signal
 * during the start takes effect when the start is over.
 */
export async function runUntilSignal(log: Log, clock: Clock, start: () => Promise<Stoppable>): Promise<void> {
  crashOnUncaught(log)
  let running: Stoppable | undefined
  let firstSignal: { readonly name: string; readonly atMilliseconds: number } | undefined
  const onSignal = (name: string): void => {
    const now = clock.monotonicMilliseconds()
    if (firstSignal === undefined) {
      firstSignal = { name, atMilliseconds: now }
      log.info({ signal: name }, 'stopping')
      if (running !== undefined) void stopAndExit(log, clock, running)
    } else if (now - firstSignal.atMilliseconds >= SECOND_SIGNAL_MILLISECONDS_MIN) {
      log.warn({ signal: name }, 'second signal: ending at once')
      process.exit(1)
    }
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    running = await start()
  } finally {
    if (running === undefined) {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    }
  }
  if (firstSignal !== undefined) await stopAndExit(log, clock, running)
}

async function stopAndExit(log: Log, clock: Clock, running: Stoppable): Promise<void> {
  clock.schedule(running.stopMillisecondsMax, () => {
    log.error({}, 'stopping is stuck: ending anyway')
    process.exit(1)
  })
  const clean = await running.stop()
  log.info({}, 'stopped')
  process.exit(clean ? 0 : 1)
}

function crashOnUncaught(log: Log): void {
  const crash = (error: unknown): void => {
    log.error({ err: error }, 'crashed')
    process.exit(1)
  }
  process.on('uncaughtException', crash)
  process.on('unhandledRejection', crash)
}
